//! Repairs the shadow stack before a call: removes dead frames, finds the stack that the thread has changed to, and makes room.
//!
//! A frame is known by its return slot. A frame is dead once a newer call of its stack has the same slot, or one above it.

use ada_ring::ThreadState;
use ada_ring::shadow_frame::FRAME_GOES_ON;

use crate::dead_frames::{LivenessCheck, end_unwound, take_out};
use crate::shadow_stack::newest;
use crate::syscall::SignalsBlocked;
use crate::{stack_records, tall_stacks};

/// Prepares a call with the return slot at `slot`: finds the stack, removes the frames that are dead, and makes room for
/// another one.
///
/// # Safety
/// `state` is the calling thread's own, `slot` its return slot.
pub(crate) unsafe fn prepare_entry(state: *mut ThreadState, slot: u64) {
    let _blocked = SignalsBlocked::new();
    let mut liveness = LivenessCheck::at(slot);
    // SAFETY: the thread's own shadow stack; frames between base and top are initialised.
    unsafe {
        stack_records::settle(state, slot, None, 0);
        while let Some(frame) = newest(state) {
            let goes_on = (*frame).slot() == slot && (*frame).has(FRAME_GOES_ON);
            if goes_on || (*frame).slot() != slot && !liveness.is_dead(frame) {
                break;
            }
            end_unwound(state, frame);
            take_out(state, frame);
        }
        tall_stacks::make_room(state);
    }
}
