//! Calls that go on with another stack, or further up their own: `longjmp` and the `ucontext` functions.
//!
//! Their arguments say where the stack pointer will be, so that it is known which stack it is, and which frames die. For a
//! program's own assembly that does the like, the next event has to show it: see [`crate::stacks`].

use ada_ring::ThreadState;
use core::ops::Range;

use crate::arch::{CONTEXT_STACK, CONTEXT_STACK_SIZE, JUMP_STACK_POINTER, jump_stack_pointers};
use crate::dead_frames::{LivenessCheck, end_unwound, take_out};
use crate::shadow_stack::newest;
use crate::syscall::{self, SignalsBlocked};
use crate::{handlers, stack_records, stacks};

/// `longjmp` with this `jmp_buf`: the frames that it jumps over end here.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn long_jump(state: *mut ThreadState, buffer: u64) {
    let _blocked = SignalsBlocked::new();
    let stored = buffer.checked_add(JUMP_STACK_POINTER).and_then(syscall::read_word);
    let is_plausible =
        |pointer: &u64| *pointer >= 4096 && pointer.is_multiple_of(8) && syscall::is_readable(pointer & !4095, 1);
    if let Some(stack_pointer) = stored.and_then(|stored| jump_stack_pointers(stored).into_iter().find(is_plausible)) {
        // SAFETY: the caller's promise.
        unsafe { go_to(state, stack_pointer, None, 0) };
    }
}

/// Another stack takes over, as this `ucontext_t` says, with this stack pointer. The one that is left will go on with the other
/// stack pointer; 0 where nothing is known.
///
/// # Safety
/// As [`long_jump`].
pub(crate) unsafe fn switch_context(state: *mut ThreadState, context: u64, stack_pointer: u64, left_at: u64) {
    let _blocked = SignalsBlocked::new();
    // SAFETY: the stub has read the stack pointer from it.
    unsafe { handlers::resumes(context) };
    // SAFETY: the caller's promise.
    if unsafe { stacks::go_back(state, stack_pointer, left_at) } {
        return;
    }
    const FIRST: u64 = CONTEXT_STACK;
    let mut words = [0; ((CONTEXT_STACK_SIZE - FIRST) / 8 + 1) as usize];
    if !context.checked_add(FIRST).is_some_and(|address| syscall::read_words(address, &mut words)) {
        return;
    }
    let word = |at: u64| words[((at - FIRST) / 8) as usize];
    let stack = word(CONTEXT_STACK);
    // Who makes a context says where its stack is; of others it says nothing.
    let bounds = Some(stack..stack.saturating_add(word(CONTEXT_STACK_SIZE))).filter(|it| it.contains(&stack_pointer));
    // SAFETY: the caller's promise.
    unsafe { go_to(state, stack_pointer, bounds, left_at) };
}

/// # Safety
/// As [`long_jump`], with signals blocked.
unsafe fn go_to(state: *mut ThreadState, stack_pointer: u64, bounds: Option<Range<u64>>, left_at: u64) {
    let mut liveness = LivenessCheck::at(stack_pointer);
    // SAFETY: the thread's own shadow stack.
    unsafe {
        stack_records::settle(state, stack_pointer, bounds, left_at);
        while let Some(frame) = newest(state).filter(|frame| liveness.is_dead(*frame)) {
            end_unwound(state, frame);
            take_out(state, frame);
        }
    }
}
