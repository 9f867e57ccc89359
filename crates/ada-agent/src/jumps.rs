//! Calls that go on with another stack, or further up their own: `longjmp` and the `ucontext` functions.
//!
//! Their arguments say where the stack pointer will be, so that it is known which frames die, and which only wait. For
//! a program's own assembly that does the like, the shadow stack has to guess: see [`crate::frames`].

use ada_ring::shadow_frame::FRAME_PARKED;
use ada_ring::{ShadowFrame, ThreadState};

use crate::arch::{CONTEXT_STACK_POINTER, JUMP_STACK_POINTER, jump_stack_pointers};
use crate::dead_frames::{end_unwound, take_out};
use crate::shadow_stack::top;
use crate::stretch::Stretch;
use crate::syscall::{self, SignalsBlocked};

/// `longjmp` with this `jmp_buf`, called with the return slot `slot`: the frames that it jumps over end here.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn long_jump(state: *mut ThreadState, slot: u64, buffer: u64) {
    let _blocked = SignalsBlocked::new();
    let Some(mut target) = jump_target(slot, buffer) else { return };
    // SAFETY: the thread's own shadow stack.
    unsafe {
        let base = (*state).shadow_base as *mut ShadowFrame;
        let mut frame = top(state);
        let mut lives_above = false;
        while frame > base {
            let is_known = (*frame).slot_complement != 0;
            if is_known && ((*frame).has(FRAME_PARKED) || !target.leaves((*frame).slot())) {
                if !(*frame).has(FRAME_PARKED) && (*frame).slot() >= target.stack_pointer {
                    return;
                }
                lives_above = true;
            } else {
                if is_known {
                    end_unwound(state, frame);
                }
                take_out(state, frame, lives_above);
            }
            frame = frame.sub(1);
        }
    }
}

/// Where a jump leads, and from where.
struct JumpTarget {
    stack_pointer: u64,
    /// The stack is left from here on up to the target.
    low: u64,
    /// The signal stack that is left altogether.
    signal_stack: Option<core::ops::Range<u64>>,
    stretch: Stretch,
}

impl JumpTarget {
    /// Whether the frame with this return slot dies by the jump.
    fn leaves(&mut self, slot: u64) -> bool {
        match &self.signal_stack {
            Some(stack) if stack.contains(&slot) => true,
            Some(_) => slot < self.stack_pointer && self.stretch.leads(slot, self.stack_pointer),
            None => slot >= self.low && slot < self.stack_pointer,
        }
    }
}

fn jump_target(slot: u64, buffer: u64) -> Option<JumpTarget> {
    let stored = syscall::read_word(buffer.checked_add(JUMP_STACK_POINTER)?)?;
    let signal_stack = syscall::signal_stack().filter(|stack| stack.contains(&slot));
    jump_stack_pointers(stored).into_iter().find_map(|stack_pointer| {
        if stack_pointer < 4096 || !stack_pointer.is_multiple_of(8) {
            return None;
        }
        let left = signal_stack.clone().filter(|stack| !stack.contains(&stack_pointer));
        let mut stretch = Stretch::default();
        let is_plausible = match left {
            Some(_) => syscall::is_readable(stack_pointer & !4095, 1),
            None => stretch.leads(slot, stack_pointer),
        };
        is_plausible.then_some(JumpTarget { stack_pointer, low: slot, signal_stack: left, stretch })
    })
}

/// Another stack takes over, as this `ucontext_t` says. Its own frames lie above where its stack pointer will be; all
/// frames below that wait on stacks of their own.
///
/// # Safety
/// As [`long_jump`].
pub(crate) unsafe fn switch_context(state: *mut ThreadState, context: u64) {
    let _blocked = SignalsBlocked::new();
    let Some(stack_pointer) = context.checked_add(CONTEXT_STACK_POINTER).and_then(syscall::read_word) else { return };
    // SAFETY: the thread's own shadow stack.
    unsafe {
        (*state).other_stacks = 1;
        let base = (*state).shadow_base as *mut ShadowFrame;
        let mut frame = top(state);
        while frame > base {
            if (*frame).slot() < stack_pointer {
                (*frame).record_and_flags |= FRAME_PARKED;
            } else {
                (*frame).record_and_flags &= !FRAME_PARKED;
            }
            frame = frame.sub(1);
        }
    }
}
