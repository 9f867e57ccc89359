//! Exits that are not plain: of a frame that is not the newest, of a probed call, by other means than a `ret`.
//!
//! Nothing here writes to the program's stack, and whatever is found, the program goes on as it would have: the worst that a
//! wrong guess can cost is a record.

use ada_ring::detail::RETURN;
use ada_ring::record::{HAS_DETAIL, IS_TAIL, RecordKind};
use ada_ring::shadow_frame::FRAME_GOES_ON;
use ada_ring::{ShadowFrame, ThreadState};

use crate::dead_frames::{LivenessCheck, end_unwound, take_out};
use crate::shadow_stack::newest;
use crate::syscall::SignalsBlocked;
use crate::{chunks, details, handlers, open_probes, probes, stack_records};

/// Records the return of the frame with this slot, if there is one, and of probed calls that went on in it.
///
/// # Safety
/// `state` is the calling thread's own, and `slot` what the exit's code passed, with the registers below it.
pub(crate) unsafe fn returned(state: *mut ThreadState, slot: *mut u64) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the thread's own shadow stack.
    unsafe {
        let mut is_known = false;
        while let Some(frame) = uncover(state, slot as u64) {
            is_known = true;
            handlers::leaves(state, frame);
            if probes::finish(state, slot, frame) {
                continue;
            }
            match details::capture(state, RETURN, probes::return_detail(slot, frame)) {
                Some(time) => {
                    let kind = RecordKind::Return as u32 | HAS_DETAIL;
                    chunks::write_at(state, (*frame).function, frame as u32 | kind, time);
                    take_out(state, frame);
                }
                None => end(state, frame),
            }
        }
        if !is_known && *slot == (*state).signal_return {
            handlers::leaves_elsewhere(slot);
        }
    }
}

/// The same for a function that does not leave by a plain `ret`, so that its registers are not where others have them.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn returns(state: *mut ThreadState, slot: u64) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the thread's own shadow stack.
    unsafe {
        while let Some(frame) = uncover(state, slot) {
            handlers::leaves(state, frame);
            end(state, frame);
        }
    }
}

/// The frame with this slot goes on in another function. A probed call stays: it returns when that does.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn goes_on(state: *mut ThreadState, slot: u64) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the thread's own shadow stack.
    unsafe {
        let Some(frame) = uncover(state, slot) else { return };
        // Whoever goes on returns to the end of the signal too, and is shown the same.
        handlers::leaves(state, frame);
        if open_probes::is_open(state, frame) {
            (*frame).record_and_flags |= FRAME_GOES_ON;
        } else {
            let tail = frame as u32 | RecordKind::Return as u32 | IS_TAIL;
            chunks::write(state, (*frame).function, tail);
            take_out(state, frame);
        }
    }
}

/// # Safety
/// As [`returns`], with signals blocked; `frame` is the newest with its slot.
unsafe fn end(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        chunks::write(state, (*frame).function, frame as u32 | RecordKind::Return as u32);
        take_out(state, frame);
    }
}

/// Finds the frame with this slot, on whatever stack that is; newer ones are dead, and go.
///
/// # Safety
/// As [`returns`], with signals blocked.
unsafe fn uncover(state: *mut ThreadState, slot: u64) -> Option<*mut ShadowFrame> {
    let mut liveness = LivenessCheck::at(slot);
    // SAFETY: the thread's own shadow stack.
    unsafe {
        stack_records::settle(state, slot, None, 0);
        loop {
            let frame = newest(state)?;
            if (*frame).slot() == slot {
                return Some(frame);
            }
            if !liveness.is_dead(frame) {
                return None;
            }
            end_unwound(state, frame);
            take_out(state, frame);
        }
    }
}
