//! The shadow stack before a call, where it is not plain: frames that died, stacks that changed.
//!
//! A frame is known by its return slot. One whose slot a newer call has is dead. "Its slot is below ours" alone does not
//! make a frame dead: it may live on another stack, as a coroutine of swapcontext does. It is dead if one stretch of
//! readable memory leads from it past us to an older frame, that is, on our own stack. Should that be wrong after all,
//! only the record of its return is missing.

use ada_ring::ThreadState;
use ada_ring::shadow_frame::FRAME_GOES_ON;

use crate::dead_frames::{LivenessCheck, end_unwound, take_out};
use crate::shadow_stack::top;
use crate::syscall::SignalsBlocked;

/// Prepares a call with the return slot at `slot`: removes the frames that are dead.
///
/// # Safety
/// `state` is the calling thread's own, `slot` its return slot.
pub(crate) unsafe fn prepare_entry(state: *mut ThreadState, slot: u64) {
    let _blocked = SignalsBlocked::new();
    let mut liveness = LivenessCheck::at(slot);
    // SAFETY: the thread's own shadow stack; frames between base and top are initialised.
    unsafe {
        loop {
            let top = top(state);
            // A slot word of 0 is the sentinel's, or that of a frame which was taken out from among others.
            if (*top).slot_complement == 0 && top as u64 > (*state).shadow_base {
                take_out(state, top, false);
                continue;
            }
            if (*top).slot_complement == 0 || (*top).slot() > slot {
                return;
            }
            if (*top).slot() == slot {
                if (*top).has(FRAME_GOES_ON) {
                    return;
                }
            } else if !liveness.is_dead(state, top) {
                (*state).other_stacks = 1;
                return;
            }
            end_unwound(state, top);
            take_out(state, top, false);
        }
    }
}
