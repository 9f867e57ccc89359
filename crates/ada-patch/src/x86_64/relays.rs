//! Relays: where a function has room for a short jump only, padding nearby takes the long one.
//!
//! glibc's memcpy begins with one instruction of three bytes, and mempcpy jumps right behind it. Two bytes are enough for
//! a short jump; compilers leave such bytes as a long one needs between functions, so that these begin at an even
//! address. Padding serves if nothing can run it:
//!
//! - it lies between two unwind entries, in no function and no frame, and is padding from end to end;
//! - the entry before it ends by leaving, so that nothing falls into it;
//! - no branch leads into it, and no unwinder;
//! - no other patch is there: that of a short function before it may reach into it.

use std::collections::BTreeSet;

use ada_event::ImageOffset;
use ada_image::Fde;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};

use super::jump::{JUMP_BYTES, SHORT_JUMP_BYTES, short_jump};
use super::known_code::MARKER_BYTES;
use crate::code_scan::PieceEnd;
use crate::image_code::ImageCode;

/// How far a short jump reaches, its own bytes included.
const REACH: u64 = 130;
/// Longer stretches are no alignment.
const LONGEST_PADDING: u64 = 64;
/// A function's own patch ends here at the latest, from its start: an `endbr64`, and then a jump.
const OWN_PATCH: u64 = (MARKER_BYTES + JUMP_BYTES) as u64;

/// The padding of one image that is in use.
#[derive(Clone, Debug, Default)]
pub struct Relays {
    taken: BTreeSet<u64>,
}

impl Relays {
    /// Takes padding that a short jump at `at` reaches.
    pub(crate) fn take(&mut self, at: ImageOffset, code: &ImageCode<'_>) -> Option<ImageOffset> {
        let fdes = code.unwind.fdes();
        let first = fdes.partition_point(|fde| fde.end.0.saturating_add(LONGEST_PADDING + REACH) < at.0);
        let in_reach = fdes.get(first..)?.iter().take_while(|fde| fde.start.0 <= at.0.saturating_add(REACH));
        for (number, fde) in in_reach.enumerate() {
            let next = fdes.get(first + number + 1).map(|next| next.start.0);
            let Some((start, end)) = padding_behind(fde, next, code) else { continue };
            let relay = (start..end.saturating_sub(JUMP_BYTES as u64 - 1))
                .find(|&relay| short_jump(relay.wrapping_sub(at.0)).is_some() && self.is_free(relay));
            if let Some(relay) = relay {
                self.taken.insert(relay);
                return Some(ImageOffset(relay));
            }
        }
        None
    }

    fn is_free(&self, relay: u64) -> bool {
        let jump = JUMP_BYTES as u64;
        self.taken.range(relay.saturating_sub(jump - 1)..relay.saturating_add(jump)).next().is_none()
    }
}

/// The part of the padding behind an unwind entry that may be written to.
fn padding_behind(fde: &Fde, next_fde: Option<u64>, code: &ImageCode<'_>) -> Option<(u64, u64)> {
    let (functions, scan) = (code.functions.functions(), code.scan);
    let start = fde.end.0;
    let next_function = functions.partition_point(|function| function.start.0 < start);
    let end = match functions.get(next_function) {
        Some(function) => function.start.0.min(next_fde?),
        None => next_fde?,
    };
    let length = end.checked_sub(start).filter(|length| (JUMP_BYTES as u64..=LONGEST_PADDING).contains(length))?;
    if scan.use_of(code.unwind, fde).end != PieceEnd::Leaves {
        return None;
    }
    let bytes = code.bytes_from(fde.end)?.get(..length as usize)?;
    let is_padding = Decoder::new(64, bytes, DecoderOptions::NONE)
        .iter()
        .all(|instruction| matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3));
    if !is_padding || scan.is_read(start..end) || (start..end).any(|byte| scan.landing(ImageOffset(byte)).any()) {
        return None;
    }
    let before = functions[..next_function].last().map_or(0, |function| function.start.0.saturating_add(OWN_PATCH));
    Some((start.max(before), end))
}

const _: () = assert!(REACH == 128 + SHORT_JUMP_BYTES as u64);
