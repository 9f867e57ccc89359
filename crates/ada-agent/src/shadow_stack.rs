//! A thread's shadow stack, as it is when nothing is odd about it.

use ada_ring::shadow_frame::FRAME_RESTORED;
use ada_ring::{ShadowFrame, ThreadState};

/// The newest frame, or the sentinel.
///
/// # Safety
/// `state` is a thread state in use.
pub(crate) unsafe fn top(state: *mut ThreadState) -> *mut ShadowFrame {
    // SAFETY: the caller's promise.
    unsafe { (*state).shadow_top as *mut ShadowFrame }
}

/// Whether a frame's slot holds its trampoline's address, as far as we know.
///
/// # Safety
/// `frame` is an initialised frame.
pub(crate) unsafe fn is_caught(frame: *const ShadowFrame) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*frame).slot_complement != 0 && !(*frame).has(FRAME_RESTORED) }
}

/// Whether a frame is caught, and its return slot is this one.
///
/// # Safety
/// As [`is_caught`].
pub(crate) unsafe fn is_caught_at(frame: *const ShadowFrame, slot: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { is_caught(frame) && (*frame).slot() == slot }
}
