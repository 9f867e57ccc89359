//! What signal handlers see of the code that they interrupt.
//!
//! A fault in a displaced instruction, or in a stub that finds no more room on the stack, has an address in an arena. Who
//! handles it goes by the address: it throws from there, skips the instruction, or looks whether it is its own code that
//! ran out of stack. So the handler is shown the address that the program has, and when it returns, the thread goes on in
//! the arena again. Where the handler has chosen another address, it goes on there, in the arena if the instruction is
//! displaced.
//!
//! Only faults are treated so. Other signals come between any two instructions, and who keeps the address, to go on there by
//! other means than returning from the handler, would come back to overwritten code.

use ada_ring::arch::SavedRegisters;
use ada_ring::probe::Base;
use ada_ring::shadow_frame::FRAME_HANDLES;
use ada_ring::state::Interruption;
use ada_ring::{ShadowFrame, ThreadState};

use crate::arch::{bases_at_call, interrupted_at};
use crate::crash;
use crate::origins;
use crate::shadow_stack::top;
use crate::syscall::SignalsBlocked;

/// SIGILL, SIGTRAP, SIGBUS, SIGFPE and SIGSEGV.
const FAULTS: [u64; 5] = [4, 5, 7, 8, 11];

/// A function was called that returns to the end of a signal.
///
/// # Safety
/// `state` is the calling thread's own, and `slot` what its stub passed.
pub(crate) unsafe fn entered(state: *mut ThreadState, slot: *mut u64) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the caller's promise.
    let arguments = bases_at_call(unsafe { SavedRegisters::below(slot) });
    let [signal, information, context] =
        [Base::Argument1, Base::Argument2, Base::Argument3].map(|argument| arguments[argument as usize]);
    // The kernel puts both above the slot, the context first.
    if context != slot as u64 + 8 || information <= context || !FAULTS.contains(&signal) {
        return;
    }
    // SAFETY: a `siginfo_t` and a `ucontext_t` that the kernel has just written, and the thread's own shadow stack.
    unsafe {
        let frame = top(state);
        if (*frame).slot() != slot as u64 {
            return;
        }
        let interrupted = interrupted_at(context as *mut u8);
        let real = *interrupted;
        let Some(place) = origins::place_of(real[1], real[0]) else { return };
        // Who does not ask for information gets none; a fault is then as good as certain.
        let is_sent = *((information + 8) as *const i32) <= 0;
        if is_sent && crash::asks_for_information(signal) {
            return;
        }
        let free = (*state).interruptions.iter_mut().find(|it| it.frame == 0);
        let Some(free) = free else { return };
        let shown = [real[0] + place.depth, place.instruction];
        *free = Interruption { frame: frame as u64, real, shown };
        *interrupted = shown;
        (*frame).record_and_flags |= FRAME_HANDLES;
        // The agent hears of the exit.
        (*frame).slot_complement = (slot as u64).wrapping_neg();
    }
}

/// The handler with this frame returns, or goes on in another function.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn leaves(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise; the kernel's context is above the handler's slot until the handler has returned.
    unsafe {
        let Some(interruption) = take(state, frame) else { return };
        let interrupted = interrupted_at(((*frame).slot() + 8) as *mut u8);
        if *interrupted == interruption.shown {
            *interrupted = interruption.real;
        } else if let Some(copy) = origins::copy_of(interrupted[1]) {
            interrupted[1] = copy;
        }
    }
}

/// Forgets the handler of a frame that is taken out.
///
/// # Safety
/// As [`leaves`].
pub(crate) unsafe fn forget(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe { take(state, frame) };
}

/// # Safety
/// As [`leaves`].
unsafe fn take(state: *mut ThreadState, frame: *mut ShadowFrame) -> Option<Interruption> {
    // SAFETY: the caller's promise.
    unsafe {
        if !(*frame).has(FRAME_HANDLES) {
            return None;
        }
        (*frame).record_and_flags &= !FRAME_HANDLES;
        let known = (*state).interruptions.iter_mut().find(|it| it.frame == frame as u64)?;
        Some(core::mem::take(known))
    }
}
