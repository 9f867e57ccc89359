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

use ada_ring::arch::{
    CRASH_REGISTERS, FLAGS, FRAME_POINTER, INSTRUCTION_POINTER, RED_ZONE, STACK_POINTER, SavedRegisters, kept_flags,
};
use ada_ring::probe::Base;
use ada_ring::shadow_frame::FRAME_HANDLES;
use ada_ring::state::{INTERRUPTIONS, Interruption};
use ada_ring::{ShadowFrame, ThreadState};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch::{INFORMATION_AT, KERNEL_CONTEXT, REGISTERS_AT, bases_at_call, clock, do_next, signal_registers};
use crate::lock::Lock;
use crate::memory::{pool, process_block, state, states};
use crate::origins::{self, Registers, Unhooked};
use crate::shadow_stack::top;
use crate::syscall::{self, SignalsBlocked};
use crate::waits::{agent_call, is_own_code};
use crate::{crash, goroutines};
use crate::{stacks, waits};

/// SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS.
const FAULTS: [u64; 6] = [4, 5, 7, 8, 11, 31];

const HIGHEST_SIGNAL: u64 = 64;

/// The signal by which Go's runtime stops a goroutine: SIGURG.
const PREEMPTION: i32 = 23;
/// A hook displaces no more instructions.
const MOST_DISPLACED: usize = 8;

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
        if (*frame).slot() != slot as u64 {
            return;
        }
        pool().control().handlers.add((*frame).function);
        let number = free_number(state, slot as u64);
        let context = slot as u64 + 8;
        let registers = signal_registers(context);
        if goroutines::exist() && !was_raised(slot as u64) {
            finish_displaced(registers);
        }
        let before = Some(frame.sub(1)).filter(|before| *before as u64 > (*state).shadow_base);
        let newest = before.or_else(|| stacks::newest_on(registers[STACK_POINTER]));
        let function = newest.map(|frame| (*frame).function);
        let interruption = Interruption {
            slot: slot as u64,
            function: function.map_or(0, |it| u64::from(it) + 1),
            registers: *registers,
            agent_call: if is_own_code(registers[INSTRUCTION_POINTER]) {
                agent_call(state, registers[STACK_POINTER])
            } else {
                [0; 2]
            },
        };
        if let Some(Unhooked { registers: shown, .. }) = shown(&interruption) {
            // Of some signals it is the instruction.
            let address = (context + INFORMATION_AT + 16) as *mut u64;
            if *address == registers[INSTRUCTION_POINTER] && is_fault(slot, context + INFORMATION_AT) {
                *address = shown[INSTRUCTION_POINTER];
            }
            *registers = shown;
        }
        let noted = &raw mut (*state).interruptions[number];
        *noted = Interruption { slot: 0, ..interruption };
        // Others look for it by the slot.
        slot_of(noted).store(slot as u64, Ordering::Release);
        (*frame).record_and_flags |= FRAME_HANDLES;
        // The agent hears of the exit.
        (*frame).slot_complement = (slot as u64).wrapping_neg();
    }
}

/// Has a thread that was interrupted in displaced instructions finish them, as far as they can be done here: those that make a
/// frame, or give it back. The signal then came that much later. From an address in the middle of what a jump replaces nobody could go
/// on, and on a goroutine's stack no address of ada's may stand for it. What they write has to be there, and not further down than a
/// function may write anyway: a handler may run right below that, on the same stack.
///
/// # Safety
/// The thread goes on with these registers.
unsafe fn finish_displaced(registers: &mut Registers) {
    let lowest = registers[STACK_POINTER].wrapping_sub(RED_ZONE);
    let is_there = |address: u64| address >= lowest && syscall::read_word(address).is_some();
    for _ in 0..MOST_DISPLACED {
        // SAFETY: the caller's promise, and the thread's own stack.
        if !origins::is_displaced(registers[INSTRUCTION_POINTER]) || !unsafe { do_next(registers, is_there) } {
            break;
        }
    }
}

/// Where to note an interruption.
///
/// # Safety
/// As [`entered`].
unsafe fn free_number(state: *mut ThreadState, slot: u64) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        let interruptions = &mut (*state).interruptions;
        let of = |slot: u64| interruptions.iter().position(|it| it.slot == slot);
        of(slot).or_else(|| of(0)).unwrap_or_else(|| {
            // Some were abandoned in a way that was not seen, or there are very many: one of them has seen enough.
            // Without it, whoever has it is stopped, and cannot take the same one.
            let _lock = Lock::take_here(&process_block().handlers_busy);
            let number = clock() as usize % INTERRUPTIONS;
            let given_up = interruptions[number];
            slot_of(&mut interruptions[number]).store(0, Ordering::Release);
            take_back(&given_up, (*state).signal_return);
            number
        })
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

/// The same for a handler that asks for information, at its end.
///
/// # Safety
/// The handler is about to return.
unsafe fn was_raised(slot: u64) -> bool {
    // SAFETY: the caller's promise.
    let [number, _, code] = unsafe { information(slot) };
    FAULTS.contains(&(number as u64)) && code > 0
}

/// The kernel's: the signal, an error, and where it came from.
///
/// # Safety
/// As [`was_raised`].
unsafe fn information(slot: u64) -> [i32; 3] {
    // SAFETY: the kernel's information is above the context, which is above the slot.
    unsafe { *((slot + 8 + INFORMATION_AT) as *const [i32; 3]) }
}

/// The handler with this frame returns, or goes on in another function.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn leaves(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some((owner, interruption)) = take(state, frame) {
            go_on(owner, &interruption);
        }
    }
}

/// A handler returns whose frame is not this thread's: its context was swapped in, and is another thread's.
///
/// # Safety
/// `slot` is a return slot.
pub(crate) unsafe fn leaves_elsewhere(slot: *const u64) {
    if let Some((state, interruption)) = take_from_any(slot as u64) {
        // SAFETY: the caller's promise.
        unsafe { go_on(state, &interruption) };
    }
}

/// What a handler is shown, where that is not what there is.
fn shown(interruption: &Interruption) -> Option<Unhooked> {
    let function = interruption.function.checked_sub(1).map(|function| function as u32);
    let mut registers = interruption.registers;
    let [way, frame_pointer] = interruption.agent_call;
    if way != 0 {
        (registers[INSTRUCTION_POINTER], registers[FRAME_POINTER]) = (way, frame_pointer);
    }
    origins::unhooked(&registers, function)
}

/// # Safety
/// The handler is about to return, and `state` had the interruption.
unsafe fn go_on(state: *mut ThreadState, interruption: &Interruption) {
    // SAFETY: the kernel's context is above the handler's slot until the handler has returned.
    let registers = unsafe { signal_registers(interruption.slot + 8) };
    let shown = shown(interruption);
    if let Some(Unhooked { registers: shown, kept_at }) = &shown
        && [STACK_POINTER, INSTRUCTION_POINTER].iter().all(|&number| registers[number] == shown[number])
    {
        let seen = core::mem::replace(registers, interruption.registers);
        for number in (0..CRASH_REGISTERS).filter(|&number| seen[number] != shown[number]) {
            match kept_at[number] {
                0 => registers[number] = seen[number],
                // SAFETY: a stub's part of the stack, which stays until the thread goes on.
                kept_at => unsafe { *(kept_at as *mut u64) = kept(number, seen[number]) },
            }
        }
        return;
    }
    if let Some(Unhooked { kept_at, .. }) = shown.as_ref().filter(|_| goroutines::exist()) {
        // SAFETY: as above. Go has a function called, and looks at what lies on the stack: the program's own addresses stay there.
        let (is_raised, [number, ..]) = unsafe { (was_raised(interruption.slot), information(interruption.slot)) };
        if is_raised {
            // What is called for a fault never comes back.
            return;
        }
        if number == PREEMPTION || origins::is_displaced(interruption.registers[INSTRUCTION_POINTER]) {
            // A goroutine is to be stopped here. Our address must not lie on its stack meanwhile: as at any place that does not
            // suit, the runtime will ask again. It has put the address to come back to where a stub keeps a register.
            let seen = core::mem::replace(registers, interruption.registers);
            for number in (0..CRASH_REGISTERS).filter(|&number| kept_at[number] != 0) {
                // SAFETY: a stub's part of the stack, which stays until the thread goes on.
                unsafe { *(kept_at[number] as *mut u64) = kept(number, seen[number]) };
            }
            return;
        }
    }
    if [STACK_POINTER, INSTRUCTION_POINTER].iter().all(|&number| registers[number] == interruption.registers[number]) {
        // It was shown what there is, while the list of images changed, and goes back to it.
        return;
    }
    if interruption.agent_call != [0; 2] {
        // SAFETY: what the program knows is what it was shown. So nobody comes back to the wait.
        unsafe { waits::abandon(state) };
    }
    if registers[INSTRUCTION_POINTER] != interruption.registers[INSTRUCTION_POINTER]
        && let Some(copy) = origins::copy_of(registers[INSTRUCTION_POINTER])
    {
        registers[INSTRUCTION_POINTER] = copy;
    }
    // Who has another function called first has put the address to come back to on top of the stack.
    // On a goroutine's stack that is the program's own: the function begins once more, by its hook.
    if let Some(Unhooked { registers: shown, .. }) = shown.filter(|_| !goroutines::exist())
        && let Some(copy) = origins::copy_of(shown[INSTRUCTION_POINTER])
        && syscall::read_word(registers[STACK_POINTER]) == Some(shown[INSTRUCTION_POINTER])
    {
        // SAFETY: readable, and the stack of a thread.
        unsafe { *(registers[STACK_POINTER] as *mut u64) = copy };
    }
}

/// A register as a stub keeps it.
fn kept(number: usize, value: u64) -> u64 {
    if number == FLAGS { kept_flags(value) } else { value }
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
        if let Some((_, interruption)) = take(state, frame) {
            take_back(&interruption, (*state).signal_return);
        }
    }
}

/// Whether a handler of some thread is shown what is not there. Its exit has to be seen.
pub(crate) fn any_is_shown() -> bool {
    (1..states()).any(|number| {
        // SAFETY: states are mapped. Their threads may be changing them: whatever is read is only looked at.
        let interruptions = unsafe { (&raw const (*state(number)).interruptions).read_volatile() };
        interruptions.iter().any(|it| it.slot != 0 && is_shown(it))
    })
}

/// Whether the context of a handler is as it was shown. Where the handler was abandoned, that is chance.
fn is_shown(interruption: &Interruption) -> bool {
    let mut found = [0; CRASH_REGISTERS];
    syscall::read_words(interruption.slot + 8 + REGISTERS_AT, &mut found)
        && shown(interruption).is_some_and(|it| it.registers == found)
}

/// # Safety
/// The context was there when the handler began.
unsafe fn take_back(interruption: &Interruption, signal_return: u64) {
    if is_shown(interruption) {
        // SAFETY: it was readable a moment ago, and is what the kernel has written to a stack.
        unsafe { *signal_registers(interruption.slot + 8) = interruption.registers };
    } else if syscall::read_word(interruption.slot) == Some(signal_return) {
        // SAFETY: as above. The handler has chosen where to go on, and its return may not be seen.
        let registers = unsafe { signal_registers(interruption.slot + 8) };
        // Unless it is as it was: at a relay, where another instruction was.
        if registers[INSTRUCTION_POINTER] != interruption.registers[INSTRUCTION_POINTER]
            && let Some(copy) = origins::copy_of(registers[INSTRUCTION_POINTER])
        {
            registers[INSTRUCTION_POINTER] = copy;
        }
    }
}

/// What the handler of a frame has interrupted, and in whose state that was noted: the handler may have begun on another thread.
///
/// # Safety
/// As [`leaves`].
unsafe fn take(state: *mut ThreadState, frame: *mut ShadowFrame) -> Option<(*mut ThreadState, Interruption)> {
    // SAFETY: the caller's promise.
    unsafe {
        if !(*frame).has(FRAME_HANDLES) {
            return None;
        }
        (*frame).record_and_flags &= !FRAME_HANDLES;
        let slot = (*frame).slot();
        take_from(state, slot).map(|interruption| (state, interruption)).or_else(|| take_from_any(slot))
    }
}

/// # Safety
/// `state` is in use. That of another thread changes its own handlers only.
unsafe fn take_from(state: *mut ThreadState, slot: u64) -> Option<Interruption> {
    // SAFETY: the caller's promise.
    unsafe {
        let interruption = (*state).interruptions.iter_mut().find(|it| it.slot == slot)?;
        let taken = *interruption;
        // From here on the thread may use it again.
        slot_of(interruption).store(0, Ordering::Release);
        Some(taken)
    }
}

/// # Safety
/// The interruption stays.
unsafe fn slot_of<'a>(interruption: *mut Interruption) -> &'a AtomicU64 {
    // SAFETY: the caller's promise.
    unsafe { AtomicU64::from_ptr(&raw mut (*interruption).slot) }
}

/// From the thread that the handler began on: contexts are swapped in by others.
fn take_from_any(slot: u64) -> Option<(*mut ThreadState, Interruption)> {
    // Without it, whoever has it is stopped, and was looking for another handler.
    let _lock = Lock::take_here(&process_block().handlers_busy);
    (1..states()).map(state).find_map(|state| {
        // SAFETY: states are mapped.
        unsafe { take_from(state, slot) }.map(|interruption| (state, interruption))
    })
}
