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
