//! Unwinders look at return addresses: they find the real ones, and afterwards the surviving frames are caught again.

use ada_ring::shadow_frame::{FRAME_RESTORED, FRAME_WALKED};
use ada_ring::{ShadowFrame, ThreadState};

use crate::burial::{bury, release_slot, take_out};
use crate::shadow_stack::{is_caught, top};
use crate::stretch::is_one_stack;
use crate::syscall::{self, SignalsBlocked};

/// Puts every real return address back, because the function that is being entered goes by them. The frames stay, and
/// the newest one raises an alarm at each later entry until the function is done. A frame that is gone after one that
/// only `walks` has returned unseen.
///
/// # Safety
/// `state` is the calling thread's own, `slot` its return slot.
pub(crate) unsafe fn begin(state: *mut ThreadState, slot: *mut u64, walks: bool) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the thread's own shadow stack.
    unsafe {
        let base = (*state).shadow_base as *mut ShadowFrame;
        let mut frame = top(state);
        while frame > base {
            if is_caught(frame) {
                release_slot(frame);
                (*frame).record_and_flags |= FRAME_RESTORED | if walks { FRAME_WALKED } else { 0 };
            } else if !walks {
                (*frame).record_and_flags &= !FRAME_WALKED;
            }
            frame = frame.sub(1);
        }
        if (*state).unwinder_slot != 0 {
            clear_alarm(state);
        }
        // One within another ends no later than the outer one, whose slot is higher.
        (*state).unwinder_slot = (*state).unwinder_slot.max(slot as u64);
        (*state).alarm_frame = top(state) as u64;
        (*state).alarm_saved = (*top(state)).slot_complement;
        (*top(state)).slot_complement = u64::MAX;
    }
}

/// Whether a call with the return slot `slot` comes from within the unwinder.
///
/// # Safety
/// As [`begin`].
pub(crate) unsafe fn is_going_on(state: *mut ThreadState, slot: u64) -> bool {
    // SAFETY: the caller's promise.
    let unwinder = unsafe { (*state).unwinder_slot };
    slot < unwinder || !is_one_stack(unwinder, slot)
}

/// # Safety
/// An alarm is set.
unsafe fn clear_alarm(state: *mut ThreadState) {
    // SAFETY: the frame was the newest when the alarm was set, and frames below the newest stay where they are.
    unsafe { (*((*state).alarm_frame as *mut ShadowFrame)).slot_complement = (*state).alarm_saved };
}

/// The unwinder is done and execution goes on at `slot`'s caller: catches the surviving frames again.
///
/// # Safety
/// As [`begin`], with signals blocked and an alarm set.
pub(crate) unsafe fn end(state: *mut ThreadState, slot: u64) {
    // SAFETY: the thread's own shadow stack; a slot above ours on our own stack is mapped.
    unsafe {
        clear_alarm(state);
        (*state).unwinder_slot = 0;
        let base = (*state).shadow_base as *mut ShadowFrame;
        while top(state) > base && (*top(state)).has(FRAME_RESTORED) && (*top(state)).slot() <= slot {
            let gone = top(state);
            bury(state, gone);
            take_out(state, gone, false);
        }
        let mut frame = top(state);
        while frame > base {
            if (*frame).has(FRAME_RESTORED) && syscall::read_word((*frame).slot()) == Some((*frame).return_address) {
                ((*frame).slot() as *mut u64).write_volatile((*frame).trampoline);
                (*frame).record_and_flags &= !(FRAME_RESTORED | FRAME_WALKED);
            }
            frame = frame.sub(1);
        }
    }
}
