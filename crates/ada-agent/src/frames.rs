//! The shadow stack when it is not plain: tail calls, frames that died, stacks that changed, unwinding.
//!
//! A frame is known by its return slot. While it is caught, the slot holds the frame's trampoline address. From that
//! follow the rules:
//!
//! - our slot is the newest frame's, and still holds its trampoline address: that frame tail-called us, and its real
//!   return address becomes ours;
//! - a slot that no longer holds its trampoline address, or that a newer call has, belongs to a dead frame;
//! - "its slot is below ours" alone does not make a frame dead: it may live on another stack (a coroutine). It is
//!   dead if one stretch of readable memory leads from it past us to an older frame, that is, on our own stack. Should
//!   that be wrong after all, nothing breaks: a dead frame's slot gets its real return address back, so that only the
//!   record of its return is missing.

use ada_ring::record::RecordKind;
use ada_ring::state::FRAME_RESTORED;
use ada_ring::{ShadowFrame, ThreadState};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::syscall::SignalsBlocked;
use crate::{chunks, syscall};

/// The longest stretch that counts as one stack.
const LONGEST_STACK: u64 = 16 << 20;

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
            *slot = (*newest).return_address;
            (*newest).slot_complement = 0;
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
    // SAFETY: the thread's own shadow stack.
    unsafe {
        loop {
            let top = top(state);
            if (*state).unwinder_slot != 0 && top as u64 == (*state).alarm_frame {
                let unwinder = (*state).unwinder_slot;
                if (slot as u64) < unwinder || !is_one_stack(unwinder, slot as u64) {
                    return;
                }
                clear_alarm(state);
                (*state).unwinder_slot = 0;
                end_unwinding(state, slot as u64);
                continue;
            }
            // A slot word of 0 is the sentinel's, or that of a frame which an interrupted stub is about to fill.
            if (*top).slot_complement == 0 || (*top).slot() > slot as u64 {
                return;
            }
            if is_caught_at(top, slot as u64) && *slot == (*top).trampoline {
                *slot = (*top).return_address;
            } else if (*top).slot() == slot as u64 || is_dead(state, top, slot as u64) {
                bury(state, top);
            } else {
                return;
            }
            pop(state);
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
        // Of the newer frames, dead ones go and those of other stacks stay. A newer one without a slot word was never
        // filled: its stub was interrupted by a handler that jumped away.
        let mut lives_above = false;
        let mut newer = top(state);
        while newer > frame {
            let known = (*newer).slot_complement != 0;
            if known && !((*newer).slot() <= slot as u64 && is_dead(state, newer, slot as u64)) {
                lives_above = true;
            } else {
                if known {
                    bury(state, newer);
                }
                (*newer).slot_complement = 0;
                if !lives_above {
                    (*state).shadow_top = newer.sub(1) as u64;
                }
            }
            newer = newer.sub(1);
        }
        chunks::write(state, (*frame).function, frame as u32 | RecordKind::Return as u32);
        *slot = (*frame).return_address;
        (*frame).slot_complement = 0;
        if !lives_above {
            (*state).shadow_top = frame.sub(1) as u64;
        }
    }
}

/// Puts every real return address back, because the function that is being entered walks the stack by them. The
/// frames stay, and the newest one raises an alarm at each later entry until the walk is over.
///
/// # Safety
/// As [`prepare_entry`].
pub unsafe fn begin_unwinding(state: *mut ThreadState, slot: *mut u64) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the thread's own shadow stack.
    unsafe {
        let base = (*state).shadow_base as *mut ShadowFrame;
        let mut frame = top(state);
        while frame > base {
            if is_caught(frame) {
                release_slot(frame);
                (*frame).flags |= FRAME_RESTORED;
            }
            frame = frame.sub(1);
        }
        if (*state).unwinder_slot != 0 {
            clear_alarm(state);
        }
        // A walk within a walk ends no later than the outer one, whose slot is higher.
        (*state).unwinder_slot = (*state).unwinder_slot.max(slot as u64);
        (*state).alarm_frame = top(state) as u64;
        (*state).alarm_saved = (*top(state)).slot_complement;
        (*top(state)).slot_complement = u64::MAX;
    }
}

/// # Safety
/// An alarm is set.
unsafe fn clear_alarm(state: *mut ThreadState) {
    // SAFETY: the frame was the newest when the alarm was set, and frames below the newest stay where they are.
    unsafe { (*((*state).alarm_frame as *mut ShadowFrame)).slot_complement = (*state).alarm_saved };
}

/// The walk is over and execution goes on at `slot`'s caller: catches the surviving frames again.
///
/// # Safety
/// As [`prepare_entry`].
unsafe fn end_unwinding(state: *mut ThreadState, slot: u64) {
    // SAFETY: the thread's own shadow stack; a slot above ours on our own stack is mapped.
    unsafe {
        let base = (*state).shadow_base as *mut ShadowFrame;
        while top(state) > base && (*top(state)).flags & FRAME_RESTORED != 0 && (*top(state)).slot() <= slot {
            bury(state, top(state));
            pop(state);
        }
        let mut frame = top(state);
        while frame > base {
            if (*frame).flags & FRAME_RESTORED != 0
                && syscall::read_word((*frame).slot()) == Some((*frame).return_address)
            {
                ((*frame).slot() as *mut u64).write_volatile((*frame).trampoline);
                (*frame).flags &= !FRAME_RESTORED;
            }
            frame = frame.sub(1);
        }
    }
}

/// The frame that returns is not in this thread's shadow stack: a coroutine has moved between threads.
///
/// # Safety
/// As [`prepare_entry`].
unsafe fn adopt_return(state: *mut ThreadState, slot: *mut u64) {
    for number in 1..ada_ring::state::STATES {
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
    // Nobody knows where to go on. Stopping here, loudly, beats running wild.
    // SAFETY: ends the process.
    unsafe { core::arch::asm!("ud2") };
}

/// # Safety
/// `state` is a thread state in use.
unsafe fn top(state: *mut ThreadState) -> *mut ShadowFrame {
    // SAFETY: the caller's promise.
    unsafe { (*state).shadow_top as *mut ShadowFrame }
}

/// # Safety
/// The shadow stack is not empty.
unsafe fn pop(state: *mut ThreadState) {
    // SAFETY: the caller's promise. The slot word first: a handler in between must not take the frame for a live one.
    unsafe {
        let gone = top(state);
        (*gone).slot_complement = 0;
        (*state).shadow_top = gone.sub(1) as u64;
    }
}

unsafe fn is_caught(frame: *const ShadowFrame) -> bool {
    // SAFETY: the caller passes an initialised frame.
    unsafe { (*frame).slot_complement != 0 && (*frame).flags & FRAME_RESTORED == 0 }
}

unsafe fn is_caught_at(frame: *const ShadowFrame, slot: u64) -> bool {
    // SAFETY: as above.
    unsafe { is_caught(frame) && (*frame).slot() == slot }
}

/// Whether a frame whose slot is not above `slot`, where a call or return is happening, is dead.
///
/// # Safety
/// `frame` is a frame of the state's shadow stack.
unsafe fn is_dead(state: *mut ThreadState, frame: *mut ShadowFrame, slot: u64) -> bool {
    // SAFETY: frames between base and top are initialised.
    unsafe {
        // The real return address is there while an unwinder looks, and between the push of the frame and the stub's
        // call: then the stacks have to tell.
        let word = syscall::read_word((*frame).slot());
        if word != Some((*frame).trampoline) && word != Some((*frame).return_address) {
            return true;
        }
        let base = (*state).shadow_base as *mut ShadowFrame;
        let mut older = frame.sub(1);
        while older > base {
            if (*older).slot_complement != 0 && (*older).slot() >= slot {
                return is_one_stack((*frame).slot(), (*older).slot());
            }
            older = older.sub(1);
        }
        // The outermost frame: nothing above it is known, but a call cannot come from below a live frame of its own
        // stack either.
        is_one_stack((*frame).slot(), slot)
    }
}

/// Records that a frame was unwound, and leaves its slot as if it had never been caught.
///
/// # Safety
/// As [`is_dead`].
unsafe fn bury(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        release_slot(frame);
        chunks::write(state, (*frame).function, frame as u32 | RecordKind::Unwound as u32);
    }
}

/// Puts the real return address back, if the slot still holds the trampoline's.
///
/// # Safety
/// As [`is_dead`].
unsafe fn release_slot(frame: *mut ShadowFrame) {
    // SAFETY: the slot was readable a moment ago, and lies on a stack; if its memory is used otherwise by now, the
    // comparison fails.
    unsafe {
        let slot = (*frame).slot();
        if syscall::read_word(slot) == Some((*frame).trampoline) {
            let _ = AtomicU64::from_ptr(slot as *mut u64).compare_exchange(
                (*frame).trampoline,
                (*frame).return_address,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }
}

/// Whether memory is readable all the way between two addresses, as it is on one stack.
pub(crate) fn is_one_stack(low: u64, high: u64) -> bool {
    let (low, high) = (low & !4095, high & !4095);
    high >= low && high - low <= LONGEST_STACK && syscall::is_readable(low, ((high - low) / 4096 + 1) as usize)
}
