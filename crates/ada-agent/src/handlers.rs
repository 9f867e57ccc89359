//! What signal handlers see of the code that they interrupt.
//!
//! A fault in a displaced instruction, or in a stub that finds no more room on the stack, has an address in an arena. Who
//! handles it goes by the address: it throws from there, skips the instruction, or looks whether it is its own code that
//! ran out of stack. So the handler is shown the address that the program has, and when it returns, the thread goes on in
//! the arena again.
//!
//! Where a handler, of whatever signal, has chosen another address, the thread goes on there, in the arena if the
//! instruction is displaced.
//!
//! Only faults are shown otherwise than they are. Other signals come between any two instructions, and who keeps the
//! address, to go on there by other means than returning from a handler, would come back to overwritten code.

use ada_ring::arch::SavedRegisters;
use ada_ring::probe::Base;
use ada_ring::shadow_frame::FRAME_HANDLES;
use ada_ring::state::{INTERRUPTIONS, Interruption};
use ada_ring::{ShadowFrame, ThreadState};

use crate::arch::{INFORMATION_AT, bases_at_call, interrupted_at};
use crate::crash;
use crate::memory::{state, states};
use crate::origins;
use crate::shadow_stack::top;
use crate::syscall::{self, SignalsBlocked};

/// SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS.
const FAULTS: [u64; 6] = [4, 5, 7, 8, 11, 31];

const HIGHEST_SIGNAL: u64 = 64;

/// A function was called that returns to the end of a signal: the handler, or one that it goes on in.
///
/// # Safety
/// `state` is the calling thread's own, and `slot` what its stub passed.
pub(crate) unsafe fn entered(state: *mut ThreadState, slot: *mut u64) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the kernel has put a context above the slot, and information above that; the thread's own shadow stack.
    unsafe {
        if *slot != (*state).signal_return {
            return;
        }
        let frame = top(state);
        let of = |slot: u64| (0..INTERRUPTIONS).find(|&number| (*state).interruptions[number].slot == slot);
        let Some(number) = of(slot as u64).or_else(|| of(0)).filter(|_| (*frame).slot() == slot as u64) else { return };
        let context = slot as u64 + 8;
        let interrupted = interrupted_at(context);
        let real = *interrupted;
        let mut shown = real;
        if let Some(unhooked) = origins::unhooked_at(real[1], real[0])
            && is_fault(slot, context + INFORMATION_AT)
        {
            shown = [real[0] + unhooked.depth, unhooked.instruction];
            *interrupted = shown;
            // Of some signals it is the instruction.
            let address = (context + INFORMATION_AT + 16) as *mut u64;
            if *address == real[1] {
                *address = shown[1];
            }
        }
        (*state).interruptions[number] = Interruption { slot: slot as u64, real, shown };
        (*frame).record_and_flags |= FRAME_HANDLES;
        // The agent hears of the exit.
        (*frame).slot_complement = (slot as u64).wrapping_neg();
    }
}

/// Whether the signal was raised by what the thread did, and not sent.
///
/// # Safety
/// As [`entered`]; `information` is above the context.
unsafe fn is_fault(slot: *const u64, information: u64) -> bool {
    // SAFETY: the caller's promise.
    let (arguments, [number, _, code]) =
        unsafe { (bases_at_call(SavedRegisters::below(slot)), *(information as *const [i32; 3])) };
    // A function that the handler goes on in has arguments of its own.
    let [first, third] = [Base::Argument1, Base::Argument3].map(|argument| arguments[argument as usize]);
    let is_handler = third == slot as u64 + 8 && first <= HIGHEST_SIGNAL;
    let signal = if is_handler { first } else { number as u64 };
    // Who does not ask for information gets none; a fault is then as good as certain.
    FAULTS.contains(&signal) && (code > 0 || !crash::asks_for_information(signal))
}

/// The handler with this frame returns, or goes on in another function.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn leaves(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(interruption) = take(state, frame) {
            go_on(&interruption);
        }
    }
}

/// A handler returns whose frame is not this thread's: its context was swapped in, and is another thread's.
///
/// # Safety
/// `slot` is a return slot.
pub(crate) unsafe fn leaves_elsewhere(slot: *const u64) {
    for number in 1..states() {
        // SAFETY: states are mapped, and that of a thread changes its own handlers only.
        unsafe {
            let own = (*state(number)).interruptions.iter_mut().find(|it| it.slot == slot as u64);
            if let Some(interruption) = own.map(core::mem::take) {
                go_on(&interruption);
            }
        }
    }
}

/// # Safety
/// The handler is about to return.
unsafe fn go_on(interruption: &Interruption) {
    let interrupted = interrupted_at(interruption.slot + 8);
    // SAFETY: the kernel's context is above the handler's slot until the handler has returned.
    unsafe {
        if *interrupted == interruption.shown {
            *interrupted = interruption.real;
        } else if let Some(copy) = origins::copy_of((*interrupted)[1]) {
            (*interrupted)[1] = copy;
        }
    }
}

/// Forgets the handler of a frame that is taken out. Should it live after all, it returns to the arena: what it was shown
/// is taken back, unless its stack is used by others.
///
/// # Safety
/// As [`leaves`].
pub(crate) unsafe fn forget(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(interruption) = take(state, frame) {
            take_back(&interruption);
        }
    }
}

/// The same for all handlers of all threads: their exits may not be seen any more from now on.
pub(crate) fn forget_all() {
    for number in 1..states() {
        // SAFETY: states are mapped. Their threads may be changing them: then they take back the same.
        unsafe {
            let interruptions = &raw mut (*state(number)).interruptions;
            for place in 0..INTERRUPTIONS {
                let interruption = (&raw mut (*interruptions)[place]).replace(Interruption::default());
                if interruption.slot != 0 {
                    take_back(&interruption);
                }
            }
        }
    }
}

/// # Safety
/// The context was there when the handler began.
unsafe fn take_back(interruption: &Interruption) {
    let interrupted = interrupted_at(interruption.slot + 8);
    let mut found = [0; 2];
    let is_shown = interruption.shown != interruption.real;
    if is_shown && syscall::read_words(interrupted as u64, &mut found) && found == interruption.shown {
        // SAFETY: it was readable a moment ago, and is what the kernel has written to a stack.
        unsafe { *interrupted = interruption.real };
    }
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
        let slot = (*frame).slot();
        (*state).interruptions.iter_mut().find(|it| it.slot == slot).map(core::mem::take)
    }
}
