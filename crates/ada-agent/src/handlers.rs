//! What signal handlers see of the code that they interrupt.
//!
//! A thread that is interrupted in a displaced instruction or in a stub has an address in an arena, and more on its stack than
//! the program has put there. Handlers look at both: they unwind the stack, for a profile or to throw an exception, skip an
//! instruction that faults, or look whether it is their own code that ran out of stack. So the handler is shown the state
//! that the program would have without hooks, and when it returns, the thread goes on in the arena again.
//!
//! What is shown is a state from which the thread can go on as well: a stub's function is entered once more, or has already
//! returned. Where a handler has changed it, the thread goes on with that, in the arena if the instruction is displaced. So it
//! does where the context is handed to `setcontext`.

use ada_ring::arch::{CRASH_REGISTERS, FRAME_POINTER, INSTRUCTION_POINTER, SavedRegisters};
use ada_ring::probe::Base;
use ada_ring::shadow_frame::FRAME_HANDLES;
use ada_ring::state::{INTERRUPTIONS, Interruption};
use ada_ring::{ShadowFrame, ThreadState};

use crate::arch::{INFORMATION_AT, KERNEL_CONTEXT, REGISTERS_AT, bases_at_call, signal_registers};
use crate::crash;
use crate::memory::{state, states};
use crate::origins::{self, Registers};
use crate::shadow_stack::top;
use crate::syscall::{self, SignalsBlocked};
use crate::waits::{agent_call, is_own_code};

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
        let registers = signal_registers(context);
        let before = frame.sub(1);
        let function = (before as u64 > (*state).shadow_base).then(|| (*before).function);
        let interruption = Interruption {
            slot: slot as u64,
            function: function.map_or(0, |it| u64::from(it) + 1),
            registers: *registers,
            agent_call: if is_own_code(registers[INSTRUCTION_POINTER]) { agent_call(state) } else { [0; 2] },
        };
        if let Some(shown) = shown(&interruption) {
            // Of some signals it is the instruction.
            let address = (context + INFORMATION_AT + 16) as *mut u64;
            if *address == registers[INSTRUCTION_POINTER] && is_fault(slot, context + INFORMATION_AT) {
                *address = shown[INSTRUCTION_POINTER];
            }
            *registers = shown;
        }
        (*state).interruptions[number] = interruption;
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

/// What a handler is shown, where that is not what there is.
fn shown(interruption: &Interruption) -> Option<Registers> {
    let function = interruption.function.checked_sub(1).map(|function| function as u32);
    let mut registers = interruption.registers;
    let [way, frame_pointer] = interruption.agent_call;
    if way != 0 {
        (registers[INSTRUCTION_POINTER], registers[FRAME_POINTER]) = (way, frame_pointer);
    }
    origins::unhooked(&registers, function)
}

/// # Safety
/// The handler is about to return.
unsafe fn go_on(interruption: &Interruption) {
    // SAFETY: the kernel's context is above the handler's slot until the handler has returned.
    let registers = unsafe { signal_registers(interruption.slot + 8) };
    if Some(*registers) == shown(interruption) {
        *registers = interruption.registers;
    } else if registers[INSTRUCTION_POINTER] != interruption.registers[INSTRUCTION_POINTER]
        && let Some(copy) = origins::copy_of(registers[INSTRUCTION_POINTER])
    {
        registers[INSTRUCTION_POINTER] = copy;
    }
}

/// The thread goes on with a context that may be one that a handler was shown: where its instruction is displaced, it is to
/// be found in the arena.
///
/// # Safety
/// `context` is a `ucontext_t` that is about to be used.
pub(crate) unsafe fn resumes(context: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        if *(context as *const u64) & KERNEL_CONTEXT != KERNEL_CONTEXT {
            return;
        }
        let registers = signal_registers(context);
        if let Some(copy) = origins::copy_of(registers[INSTRUCTION_POINTER]) {
            registers[INSTRUCTION_POINTER] = copy;
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
    let context = interruption.slot + 8;
    let mut found = [0; CRASH_REGISTERS];
    if syscall::read_words(context + REGISTERS_AT, &mut found) && Some(found) == shown(interruption) {
        // SAFETY: it was readable a moment ago, and is what the kernel has written to a stack.
        unsafe { *signal_registers(context) = interruption.registers };
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
