//! Where the indirect jumps of a function may lead within it.
//!
//! Without a closer look, all that is known of such a jump is that it leads to places of its own stack height. A closer look
//! finds the tables that it can go by: distances from an address that the function names, or addresses that the image's data
//! holds.

use ada_event::ImageOffset;
use ada_image::Cfa;

use super::extent::{Extent, Follower};
use crate::image_code::ImageCode;
use crate::leave::{Leave, Listing, Through};

/// No table of cases is longer.
const MOST_CASES: usize = 65_536;

/// What is known of where a function's own jumps lead.
#[derive(Default)]
pub(crate) struct Body {
    /// Stack heights at which jumps are made that may lead anywhere within the function.
    heights: Vec<Cfa>,
    /// Such a jump has no height that is known.
    jumps_at_any_height: bool,
    /// Where the other indirect jumps may lead, sorted.
    labels: Vec<u64>,
}

impl Body {
    /// By the stack heights of the jumps among a function's leaving instructions alone.
    pub(crate) fn by_heights(code: &ImageCode<'_>, leaves: &[Leave]) -> Self {
        let mut body = Self::default();
        leaves.iter().filter(|leave| leave.may_stay()).for_each(|leave| body.note_jump(code, leave.at));
        body
    }

    /// By the tables that the jumps can go by. `pointers` are all addresses of code in the image's data.
    pub(crate) fn by_tables(
        follower: &Follower<'_>,
        extent: &Extent,
        leaves: &[Leave],
        listing: &Listing,
        pointers: Option<&[ImageOffset]>,
    ) -> Self {
        let mut body = Self::default();
        let cases = Cases::of(follower, extent, listing);
        for leave in leaves.iter().filter(|leave| leave.may_stay()) {
            let through = listing.jumps.iter().find(|(at, _)| *at == leave.at).map(|(_, through)| *through);
            let is_known = match through {
                Some(Through::Pointer) => pointers.is_some(),
                Some(Through::Sum) => cases.are_complete && !cases.labels.is_empty(),
                Some(Through::Unknown) | None => false,
            };
            if !is_known {
                body.note_jump(&follower.code, leave.at);
            }
        }
        body.labels = cases.labels;
        for own in &extent.pieces {
            let pointers = pointers.unwrap_or_default();
            let from = pointers.partition_point(|pointer| pointer.0 < own.piece.start);
            body.labels.extend(pointers[from..].iter().map(|it| it.0).take_while(|&it| it < own.piece.end));
        }
        body.labels.sort_unstable();
        body
    }

    fn note_jump(&mut self, code: &ImageCode<'_>, at: u64) {
        match height(code, at) {
            Some(height) => self.heights.push(height),
            None => self.jumps_at_any_height = true,
        }
    }

    /// Whether an instruction behind another of its block may be overwritten.
    pub(crate) fn may_be_inner(&self, code: &ImageCode<'_>, at: u64) -> bool {
        if code.scan.landing(ImageOffset(at)).any() || self.labels.binary_search(&at).is_ok() {
            return false;
        }
        let heights = &self.heights;
        !self.jumps_at_any_height
            && (heights.is_empty() || height(code, at).is_some_and(|height| !heights.contains(&height)))
    }

    /// Whether an indirect jump may lead to an address.
    pub(crate) fn is_label(&self, at: u64) -> bool {
        self.labels.binary_search(&at).is_ok()
    }
}

/// The stack's height at an instruction.
pub(crate) fn height(code: &ImageCode<'_>, at: u64) -> Option<Cfa> {
    code.unwind.row_at(ImageOffset(at)).map(|row| row.cfa).filter(|cfa| *cfa != Cfa::Other)
}

/// Where a function's tables of distances lead, and what other places of its own it names.
struct Cases {
    labels: Vec<u64>,
    /// Whether all of the tables stay within the function.
    are_complete: bool,
}

impl Cases {
    fn of(follower: &Follower<'_>, extent: &Extent, listing: &Listing) -> Self {
        let is_own = |at: u64| extent.pieces.iter().any(|own| (own.piece.start..own.piece.end).contains(&at));
        let mut cases = Self { labels: Vec::new(), are_complete: true };
        for &address in &listing.addresses {
            if is_own(address) {
                // A label, from which others may be computed.
                cases.labels.push(address);
                cases.are_complete = false;
                continue;
            }
            let Some(bytes) = follower.code.image.bytes_from(ImageOffset(address)) else { continue };
            for (number, distance) in bytes.as_chunks().0.iter().take(MOST_CASES).enumerate() {
                let target = address.wrapping_add_signed(i32::from_le_bytes(*distance).into());
                if !is_own(target) {
                    // The table has ended, unless it goes on with a part of the function that nothing else leads to.
                    let is_part =
                        follower.code.scan.piece_at(target).is_some_and(|piece| !follower.is_entry(piece.start));
                    cases.are_complete &= number == 0 || !is_part;
                    break;
                }
                cases.labels.push(target);
            }
        }
        cases
    }
}
