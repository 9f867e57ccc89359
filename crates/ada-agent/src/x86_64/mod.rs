//! What is x86-64 in the agent.

mod code_words;
mod floats;
mod interpreter;
#[cfg(ada_freestanding)]
mod memory_functions;
mod probed_registers;
mod registers;
mod saved_contexts;
mod stacks;
mod system_call;
#[cfg(ada_freestanding)]
mod trap;

pub(crate) use code_words::exchange_code;
pub(crate) use floats::newest_float;
pub(crate) use interpreter::do_next;
pub(crate) use probed_registers::{
    bases_at_call, call_context, call_registers, caller_registers, go_arguments, go_words, return_context,
    return_registers, saved_vectors, swift_self, whole_vectors,
};
pub(crate) use registers::{clock, current_state, owner_mark, set_current_state, thread_pointer};
pub(crate) use saved_contexts::{
    CONTEXT_STACK, CONTEXT_STACK_SIZE, INFORMATION_AT, JUMP_STACK_POINTER, KERNEL_CONTEXT, REGISTERS_AT,
    jump_stack_pointers, signal_registers,
};
pub(crate) use stacks::call_on_stack;
pub(crate) use system_call::{SECCOMP_ARCHITECTURE, ada_crash_restorer, number, raw, system_call_instruction};
#[cfg(ada_freestanding)]
pub(crate) use trap::trap;
