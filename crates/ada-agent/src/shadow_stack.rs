//! A thread's shadow stack, as it is when nothing is odd about it.

use ada_ring::state::HANDLER_FRAMES;
use ada_ring::{ShadowFrame, ThreadState};

use crate::config::{Item, get};
use crate::memory::shadow_end;

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
    unsafe { ((*state).shadow_top > (*state).shadow_base).then(|| top(state)) }
}

/// Where the stack ends, as far as is known: the sentinel has it, so that an entry above is looked at.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn ceiling(state: *mut ThreadState) -> u64 {
    // SAFETY: the caller's promise; the sentinel is initialised.
    unsafe { !(*((*state).shadow_base as *const ShadowFrame)).slot_complement }
}

/// # Safety
/// As [`ceiling`].
pub(crate) unsafe fn set_ceiling(state: *mut ThreadState, address: u64) {
    // SAFETY: the caller's promise.
    unsafe { (*((*state).shadow_base as *mut ShadowFrame)).slot_complement = !address };
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
    }
}
