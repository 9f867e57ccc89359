//! What a runtime probe keeps of the registers.

use ada_ring::arch::{CallRegisters, ReturnRegisters, SavedRegisters};
use ada_ring::probe::BASES_AT_CALL;

/// What memory reads start from, in the order of [`ada_ring::probe::Base`].
pub(crate) fn bases_at_call(saved: &SavedRegisters) -> [u64; BASES_AT_CALL] {
    let stub = &saved.stub;
    [saved.rdi, saved.rsi, stub.rdx, stub.rcx, saved.r8, saved.r9, saved.r14]
}

pub(crate) fn call_registers(saved: &SavedRegisters) -> CallRegisters {
    let &SavedRegisters { rdi, rsi, r8, r9, ref stub, .. } = saved;
    CallRegisters { rdi, rsi, rdx: stub.rdx, rcx: stub.rcx, r8, r9, rax: stub.rax }
}

pub(crate) fn return_registers(saved: &SavedRegisters) -> ReturnRegisters {
    ReturnRegisters { rax: saved.stub.rax, rdx: saved.stub.rdx }
}

/// Registers beyond the arguments that runtimes keep something in.
pub(crate) fn call_context(saved: &SavedRegisters) -> [u64; 4] {
    [saved.r10, saved.r12, saved.r13, saved.r14]
}

/// The same at a return.
pub(crate) fn return_context(saved: &SavedRegisters) -> [u64; 4] {
    [saved.stub.rcx, saved.r8, saved.r12, saved.r13]
}
