//! The shadow stack when it is not plain: tail calls, frames that died, stacks that changed, unwinding.
//!
//! A frame is known by its return slot. While it is caught, the slot holds the frame's trampoline address. From that
//! follow the rules:
//!
//! - our slot is the newest frame's, and still holds its trampoline address: that frame tail-called us, and its real
//!   return address becomes ours. A probed call stays, so that its return is seen: we return to its trampoline;
//! - a slot that no longer holds its trampoline address, or that a newer call has, belongs to a dead frame;
//! - "its slot is below ours" alone does not make a frame dead: it may live on another stack, as a coroutine of
//!   swapcontext does. It is dead if one stretch of readable memory leads from it past us to an older frame, that is, on
//!   our own stack. Should that be wrong after all, nothing breaks: a dead frame's slot gets its real return address back,
//!   so that only the record of its return is missing.

use ada_ring::record::RecordKind;
use ada_ring::{ShadowFrame, ThreadState};

use crate::burial::{LivenessCheck, bury, return_of_buried, take_out};
use crate::shadow_stack::{is_caught_at, top};
use crate::syscall::SignalsBlocked;
use crate::{arch, chunks, open_probes, unwinding};

/// Prepares a call with the return slot at `slot`: removes the frames that are dead, gives a tail caller's real return
/// address back.
///
/// # Safety
/// `state` is the calling thread's own, `slot` its return slot.
pub unsafe fn prepare_entry(state: *mut ThreadState, slot: *mut u64) {
    // SAFETY: the thread's own shadow stack; frames between base and top are initialised.
    unsafe {
        // Tail calls are common, and undone in a way that a handler may interrupt: it works above the newest frame.
        let newest = top(state);
        if is_caught_at(newest, slot as u64) && *slot == (*newest).trampoline {
            if open_probes::is_open(state, newest) {
                return;
            }
            give_back(newest, slot);
            (*state).shadow_top = newest.sub(1) as u64;
            if (*newest.sub(1)).slot_complement < !(slot as u64) {
                return;
            }
        }
        let _blocked = SignalsBlocked::new();
        remove_dead(state, slot);
    }
}

/// # Safety
/// As [`prepare_entry`], with signals blocked.
unsafe fn remove_dead(state: *mut ThreadState, slot: *mut u64) {
    let mut liveness = LivenessCheck::at(slot as u64);
    // SAFETY: the thread's own shadow stack.
    unsafe {
        loop {
            let top = top(state);
            if (*state).unwinder_slot != 0 && top as u64 == (*state).alarm_frame {
                if unwinding::is_going_on(state, slot as u64) {
                    return;
                }
                unwinding::end(state, slot as u64);
                continue;
            }
            // A slot word of 0 is the sentinel's, or that of a frame which was taken out from among others.
            if (*top).slot_complement == 0 && top as u64 > (*state).shadow_base {
                take_out(state, top, false);
                continue;
            }
            if (*top).slot_complement == 0 || (*top).slot() > slot as u64 {
                return;
            }
            if is_caught_at(top, slot as u64) && *slot == (*top).trampoline {
                if open_probes::is_open(state, top) {
                    return;
                }
                give_back(top, slot);
            } else if (*top).slot() == slot as u64 || liveness.is_dead(state, top) {
                bury(state, top);
            } else {
                (*state).other_stacks = 1;
                return;
            }
            take_out(state, top, false);
        }
    }
}

/// Puts a frame's real return address into its slot, unless nothing else was ever there.
///
/// # Safety
/// The slot is that of a call that is being made or returns.
pub(crate) unsafe fn give_back(frame: *const ShadowFrame, slot: *mut u64) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*frame).trampoline != (*frame).return_address {
            *slot = (*frame).return_address;
        }
    }
}

/// Finds the frame that returns through `slot` though it is not the newest, records its return, and puts its real
/// return address into the slot.
///
/// # Safety
/// As [`prepare_entry`].
pub unsafe fn finish_return(state: *mut ThreadState, slot: *mut u64) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the thread's own shadow stack.
    unsafe {
        let base = (*state).shadow_base as *mut ShadowFrame;
        let mut frame = top(state);
        while frame > base && !is_caught_at(frame, slot as u64) {
            frame = frame.sub(1);
        }
        if frame <= base {
            adopt_return(state, slot);
            return;
        }
        // Of the newer frames, dead ones go and those of other stacks stay.
        let mut liveness = LivenessCheck::at(slot as u64);
        let mut lives_above = false;
        let mut newer = top(state);
        while newer > frame {
            let is_known = (*newer).slot_complement != 0;
            if is_known && !((*newer).slot() <= slot as u64 && liveness.is_dead(state, newer)) {
                lives_above = true;
            } else {
                if is_known {
                    bury(state, newer);
                }
                take_out(state, newer, lives_above);
            }
            newer = newer.sub(1);
        }
        chunks::write(state, (*frame).function, frame as u32 | RecordKind::Return as u32);
        *slot = (*frame).return_address;
        take_out(state, frame, lives_above);
    }
}

/// The frame that returns is not in this thread's shadow stack: it was buried alive, or a coroutine has moved between
/// threads.
///
/// # Safety
/// As [`prepare_entry`].
unsafe fn adopt_return(state: *mut ThreadState, slot: *mut u64) {
    // SAFETY: the caller's promise.
    if let Some(return_address) = unsafe { return_of_buried(state, slot) } {
        // SAFETY: the slot that the return path has made again.
        unsafe { *slot = return_address };
        return;
    }
    for number in 1..crate::memory::states() {
        let other = crate::memory::state(number);
        // SAFETY: all states are mapped. The other thread may be changing its newest frames; the one that is looked
        // for belongs to a stack that it no longer runs on.
        unsafe {
            let base = (*other).shadow_base as *mut ShadowFrame;
            let mut frame = (*other).shadow_top as *mut ShadowFrame;
            while frame > base {
                if is_caught_at(frame, slot as u64) {
                    let top = top(state) as u32 | RecordKind::Return as u32;
                    chunks::write(state, (*frame).function, top);
                    *slot = (*frame).return_address;
                    (*frame).slot_complement = 0;
                    return;
                }
                frame = frame.sub(1);
            }
        }
    }
    // Nobody knows where to go on.
    arch::trap();
}
