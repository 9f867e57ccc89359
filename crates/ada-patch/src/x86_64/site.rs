//! Where in a function the patch goes.

use ada_event::ImageOffset;
use ada_image::Sources;

use super::displaced::Displaced;
use super::jump::{JUMP_BYTES, SHORT_JUMP_BYTES};
use super::known_code::marker_bytes;
use super::relays::Relays;
use super::stack_check::stack_check_bytes;
use crate::SkipReason;
use crate::image_code::ImageCode;

/// Where a function is patched.
pub(crate) struct Site {
    pub(crate) at: ImageOffset,
    pub(crate) displaced: Displaced,
    /// Padding that takes the jump to the stub, where only a short jump has room.
    pub(crate) relay: Option<ImageOffset>,
}

impl Site {
    /// Where to patch function `index` with these bytes: behind an `endbr64`, so that indirect branches still find it,
    /// or over it where there is no room behind; in Go behind the check of the stack.
    pub(crate) fn find(
        code: &ImageCode<'_>,
        relays: &mut Relays,
        index: usize,
        bytes: &[u8],
    ) -> Result<Self, SkipReason> {
        let start = code.functions.functions()[index].start;
        let check = stack_check(code, start, bytes);
        if check > 0 {
            let behind = ImageOffset(start.0 + check as u64);
            // A loop there would be many calls. No table leads there: the frame is yet to be made.
            if code.scan.landing(behind).is_branched_to() {
                return Err(SkipReason::OwnEntryLoop);
            }
            return Self::find_at(code, relays, index, behind, &bytes[check..]);
        }
        let marker = marker_bytes(bytes);
        if marker > 0 {
            let behind = ImageOffset(start.0 + marker as u64);
            if !code.scan.landing(behind).any()
                && let Ok(site) = Self::find_at(code, relays, index, behind, &bytes[marker..])
            {
                return Ok(site);
            }
        }
        Self::find_at(code, relays, index, start, bytes)
    }

    /// Where a short jump fits, if there were a relay for it: over the start of a function that has no room for more.
    pub(crate) fn short(code: &ImageCode<'_>, index: usize, bytes: &[u8]) -> Option<Self> {
        let start = code.functions.functions()[index].start;
        let check = stack_check(code, start, bytes);
        let at = ImageOffset(start.0 + check as u64);
        if check > 0 && code.scan.landing(at).is_branched_to() {
            return None;
        }
        let displaced = displace(code, index, at, &bytes[check..], SHORT_JUMP_BYTES).ok()?;
        Some(Self { at, displaced, relay: None })
    }

    /// A jump right here, or a short one to a relay where there is no room for more.
    fn find_at(
        code: &ImageCode<'_>,
        relays: &mut Relays,
        index: usize,
        at: ImageOffset,
        bytes: &[u8],
    ) -> Result<Self, SkipReason> {
        let reason = match displace(code, index, at, bytes, JUMP_BYTES) {
            Ok(displaced) => return Ok(Self { at, displaced, relay: None }),
            Err(reason) => reason,
        };
        let displaced = displace(code, index, at, bytes, SHORT_JUMP_BYTES).map_err(|_| reason)?;
        let relay = relays.take(at, code).ok_or(reason)?;
        Ok(Self { at, displaced, relay: Some(relay) })
    }
}

/// How many bytes at the start of a function check the stack, and may run more than once; `bytes` are its code.
pub(crate) fn stack_check(code: &ImageCode<'_>, start: ImageOffset, bytes: &[u8]) -> usize {
    // Other compilers make no such check; what looks like one is something else.
    let of_go = |index: usize| code.functions.functions()[index].sources.contains(Sources::GO);
    if code.functions.index_at(start).is_some_and(of_go) { stack_check_bytes(bytes) } else { 0 }
}

fn displace(
    code: &ImageCode<'_>,
    index: usize,
    at: ImageOffset,
    bytes: &[u8],
    jump: usize,
) -> Result<Displaced, SkipReason> {
    let mut patched = (1..jump as u64).map(|byte| ImageOffset(at.0 + byte));
    if patched.any(|byte| code.scan.landing(byte).any()) {
        return Err(SkipReason::BranchIntoPatch);
    }
    let next = code.functions.functions().get(index + 1).map_or(u64::MAX, |next| next.start.0);
    if next < at.0 + jump as u64 {
        return Err(SkipReason::TooShort);
    }
    Displaced::decode(bytes, jump)
}
