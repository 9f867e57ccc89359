//! The probed calls of a thread that have not returned.

use ada_ring::shadow_frame::FRAME_KEEPS_RESULT;
use ada_ring::state::{PROBE_CALLS, ProbeCall};
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

/// The probed call of a frame with this return slot.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn of(state: *const ThreadState, frame: u64, slot: u64) -> Option<usize> {
    // SAFETY: the caller's promise.
    let calls = unsafe { &(*state).open_probes };
    calls.iter().position(|call| call.frame == frame && call.slot == slot)
}

/// The same, which is no longer open.
///
/// # Safety
/// As [`of`].
pub(crate) unsafe fn take(state: *mut ThreadState, frame: u64, slot: u64) -> Option<ProbeCall> {
    // SAFETY: the caller's promise.
    unsafe { Some(core::mem::take(&mut (*state).open_probes[of(state, frame, slot)?])) }
}

/// Forgets the probed call of a frame that is taken out. A call need not return: a child of vfork leaves its parent's
/// thread with its `execve` open. The frame's memory is used again, and what is there next may be no probed call.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn close(state: *mut ThreadState, frame: *const ShadowFrame) {
    // SAFETY: the caller's promise. A handler's frame may be where that of a call was whose exit is not done with it.
    let _ = unsafe { take(state, frame as u64, (*frame).slot()) };
}

/// Whether a frame is that of a probed call, of whose return something is kept.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn is_open(state: *mut ThreadState, frame: *const ShadowFrame) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*frame).has(FRAME_KEEPS_RESULT) || of(state, frame as u64, (*frame).slot()).is_some() }
}
