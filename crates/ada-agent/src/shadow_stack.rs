//! A thread's shadow stack, as it is when nothing is odd about it.

use ada_ring::state::HANDLER_FRAMES;
use ada_ring::{ShadowFrame, ThreadState};

use crate::config::{Item, get};
use crate::memory::shadow_end;
use crate::takeover;

/// The newest frame, or the sentinel.
///
/// # Safety
/// `state` is a thread state in use.
pub(crate) unsafe fn top(state: *mut ThreadState) -> *mut ShadowFrame {
    // SAFETY: the caller's promise.
    unsafe { (*state).shadow_top as *mut ShadowFrame }
}

/// The newest frame, if there is one.
///
/// # Safety
/// `state` is a thread state in use.
pub(crate) unsafe fn newest(state: *mut ThreadState) -> Option<*mut ShadowFrame> {
    // SAFETY: the caller's promise.
    unsafe {
        takeover::put_right(state);
        ((*state).shadow_top > (*state).shadow_base).then(|| top(state))
    }
}

/// Bytes below the end of the stack that a sentinel has for a slot. Slots are at multiples of 8: no exit takes it for its own.
const BELOW_END: u64 = 4;

/// The frame below the first one. It has the end of the stack, as far as is known, so that an entry there or above is looked at.
pub(crate) fn sentinel(end: u64) -> ShadowFrame {
    ShadowFrame { slot_complement: !(end & !7).wrapping_sub(BELOW_END), ..ShadowFrame::default() }
}

/// Where the stack ends, as far as is known.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn ceiling(state: *mut ThreadState) -> u64 {
    // SAFETY: the caller's promise; the sentinel is initialised.
    unsafe { (!(*((*state).shadow_base as *const ShadowFrame)).slot_complement).saturating_add(BELOW_END) }
}

/// # Safety
/// As [`ceiling`].
pub(crate) unsafe fn set_ceiling(state: *mut ThreadState, end: u64) {
    // SAFETY: the caller's promise.
    unsafe { ((*state).shadow_base as *mut ShadowFrame).write(sentinel(end)) };
}

/// Says how many frames fit on the shadow stack that a thread has.
///
/// # Safety
/// The caller owns the state.
pub(crate) unsafe fn set_limits(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    unsafe {
        let (base, end) = ((*state).shadow_base, shadow_end((*state).stack_number as usize));
        (*state).record_limit = match get(Item::MaxDepth) {
            0 => u64::MAX,
            frames => base.saturating_add(frames.saturating_mul(ShadowFrame::SIZE as u64)),
        };
        let limit = end - ((2 + HANDLER_FRAMES) * ShadowFrame::SIZE) as u64;
        (*state).shadow_limit = limit.min((*state).record_limit);
        (*state).may_grow = u64::from(takeover::is_possible(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentinel_is_nobodys_frame_and_what_happens_at_the_end_is_above_it() {
        const END: u64 = 0x7fff_1000;
        let frame = sentinel(END);
        for slot in [END - 8, END, END + 8] {
            for end in END..END + 8 {
                assert_ne!(sentinel(end).slot_complement, !slot);
                assert_ne!(sentinel(end).slot_complement, slot.wrapping_neg(), "nor a probed call's");
            }
        }
        assert!(frame.slot_complement < !(END - 8) && frame.slot_complement >= !END);
    }
}
