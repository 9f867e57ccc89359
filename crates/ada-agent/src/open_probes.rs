//! The probed calls of a thread that have not returned.

use ada_ring::shadow_frame::FRAME_KEEPS_RESULT;
use ada_ring::state::PROBE_CALLS;
use ada_ring::{ShadowFrame, ThreadState};

/// Where the next call goes: to a free entry, or to that of the oldest there may be.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn free(state: *mut ThreadState) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        let next = (*state).probe_calls as usize % PROBE_CALLS;
        (0..PROBE_CALLS)
            .map(|step| (next + step) % PROBE_CALLS)
            .find(|&at| (*state).open_probes[at].frame == 0)
            .unwrap_or(next)
    }
}

/// Forgets the probed call of a frame that is taken out. A call need not return: a child of vfork leaves its parent's
/// thread with its `execve` open. The frame's memory is used again, and what is there next may be no probed call.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn close(state: *mut ThreadState, frame: *const ShadowFrame) {
    for number in 0..PROBE_CALLS {
        // SAFETY: the caller's promise.
        unsafe {
            if (*state).open_probes[number].frame == frame as u64 {
                (*state).open_probes[number].frame = 0;
            }
        }
    }
}

/// Whether a frame is that of a probed call, of whose return something is kept.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn is_open(state: *mut ThreadState, frame: *const ShadowFrame) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*frame).has(FRAME_KEEPS_RESULT) || (*state).open_probes.iter().any(|call| call.frame == frame as u64) }
}
