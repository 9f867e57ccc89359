//! The seam to the processor. Each architecture has a folder with the same file names and the same items.

#[cfg(all(target_arch = "x86_64", ada_freestanding))]
pub(crate) use crate::x86_64::trap;
#[cfg(target_arch = "x86_64")]
pub(crate) use crate::x86_64::{
    CONTEXT_STACK, CONTEXT_STACK_SIZE, INFORMATION_AT, JUMP_STACK_POINTER, KERNEL_CONTEXT, REGISTERS_AT,
    SECCOMP_ARCHITECTURE, ada_crash_restorer, bases_at_call, call_context, call_on_stack, call_registers,
    caller_registers, clock, current_state, do_next, exchange_code, go_arguments, go_words, jump_stack_pointers,
    newest_float, number, owner_mark, raw, return_context, return_registers, saved_vectors, set_current_state,
    signal_registers, swift_self, system_call_instruction, thread_pointer, whole_vectors,
};
