//! A thread's shadow stack, as it is when nothing is odd about it.

use ada_ring::{ShadowFrame, ThreadState};

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
