//! Repairs the shadow stack before a call: removes dead frames, finds the stack that the thread has changed to, and makes room.
//!
//! A frame is known by its return slot. A frame is dead once a newer call of its stack has the same slot, or one above it.

use ada_ring::ThreadState;
use ada_ring::shadow_frame::FRAME_GOES_ON;
use ada_ring::shadow_stack::is_tall;

use crate::dead_frames::{LivenessCheck, end_unwound, take_out};
use crate::shadow_stack::{newest, set_limits};
use crate::syscall::SignalsBlocked;
use crate::{chunks, goroutines, stack_records, takeover, tall_stacks};

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
        make_room(state);
    }
}

/// Sees to it that there is room for another frame, if there can be.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
unsafe fn make_room(state: *mut ThreadState) {
    // SAFETY: the caller's promise.
    unsafe {
        takeover::put_right(state);
        let is_full = (*state).shadow_top >= (*state).shadow_limit;
        // Handlers within handlers may each have interrupted a stub that goes on with the shadow stack before: it asks again.
        (*state).may_grow = u64::from(!is_full && takeover::is_possible(state));
        if !is_full || is_tall((*state).shadow_base as u32) || !takeover::is_possible(state) {
            return;
        }
        let Some(tall) = tall_stacks::claim((*state).stack_number) else { return };
        takeover::move_to(state, tall);
        set_limits(state);
        if (*state).stack_number == (*state).number {
            chunks::note_tall(state);
        }
        if goroutines::exist() {
            stack_records::name(state);
        }
    }
}
