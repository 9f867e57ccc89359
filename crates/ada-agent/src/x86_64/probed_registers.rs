//! What a runtime probe keeps of the registers.

use ada_ring::ThreadState;
use ada_ring::arch::{CRASH_REGISTERS, CallRegisters, ReturnRegisters, SAVED_VECTORS, SavedRegisters, restored_flags};
use ada_ring::probe::{BASES_AT_CALL, GO_WORDS, VECTORS};
use ada_ring::state::private::STACK_BYTES;

/// What memory reads start from, in the order of [`ada_ring::probe::Base`].
pub(crate) fn bases_at_call(saved: &SavedRegisters) -> [u64; BASES_AT_CALL] {
    let stub = &saved.stub;
    [saved.rdi, saved.rsi, stub.rdx, stub.rcx, saved.r8, saved.r9, saved.r14]
}

/// The first arguments of a function of Go, whose own convention has them elsewhere.
pub(crate) fn go_arguments(saved: &SavedRegisters) -> [u64; 2] {
    [saved.stub.rax, saved.rbx]
}

/// Where functions of Go have arguments when they begin, and results when they end.
pub(crate) fn go_words(saved: &SavedRegisters) -> [u64; GO_WORDS] {
    let &SavedRegisters { rbx, rdi, rsi, r8, r9, r10, r11, ref stub, .. } = saved;
    [stub.rax, rbx, stub.rcx, rdi, rsi, r8, r9, r10, r11]
}

/// Where Swift has `self`, and errors of asynchronous functions.
pub(crate) fn swift_self(saved: &SavedRegisters) -> u64 {
    saved.r13
}

pub(crate) fn call_registers(saved: &SavedRegisters) -> CallRegisters {
    let &SavedRegisters { rdi, rsi, r8, r9, ref stub, .. } = saved;
    CallRegisters { rdi, rsi, rdx: stub.rdx, rcx: stub.rcx, r8, r9, rax: stub.rax }
}

pub(crate) fn return_registers(saved: &SavedRegisters) -> ReturnRegisters {
    ReturnRegisters { rax: saved.stub.rax, rdx: saved.stub.rdx }
}

/// The registers of a caller, as a crash record has them, where its call returns.
pub(crate) fn caller_registers(saved: &SavedRegisters, slot: u64, back: u64) -> [u64; CRASH_REGISTERS] {
    let &SavedRegisters { rbx, r15, r14, r13, r12, rbp, r11, r10, r9, r8, rdi, rsi, ref stub, .. } = saved;
    let (stack, flags) = (slot.wrapping_add(8), restored_flags(0, stub.flags));
    [r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, stub.rdx, stub.rax, stub.rcx, stack, back, flags]
}

/// Registers beyond the arguments that runtimes keep something in.
pub(crate) fn call_context(saved: &SavedRegisters) -> [u64; 4] {
    [saved.r10, saved.r12, saved.r13, saved.r14]
}

/// The same at a return.
pub(crate) fn return_context(saved: &SavedRegisters) -> [u64; 4] {
    [saved.stub.rcx, saved.r8, saved.r12, saved.r13]
}

/// The low halves of the vector registers: see [`whole_vectors`].
///
/// # Safety
/// As [`whole_vectors`].
pub(crate) unsafe fn saved_vectors(state: *mut ThreadState) -> Option<[u64; VECTORS]> {
    // SAFETY: the caller's promise.
    unsafe { whole_vectors(state) }.map(|vectors| vectors.map(|[low, _]| low))
}

/// The vector registers that have arguments or results, as the function has them: the way into the agent has saved them on the
/// agent's own stack. Nothing where the agent runs on another.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn whole_vectors(state: *mut ThreadState) -> Option<[[u64; 2]; VECTORS]> {
    let local = 0_u8;
    // SAFETY: the caller's promise.
    let stack = unsafe { (*state).agent_stack };
    let is_own = stack != 0 && (stack - STACK_BYTES as u64..stack).contains(&(&raw const local as u64));
    let saved = is_own.then_some((stack - SAVED_VECTORS) as *const [u64; 2])?;
    // SAFETY: the stack is in use, and begins with them.
    Some(core::array::from_fn(|number| unsafe { *saved.add(number) }))
}
