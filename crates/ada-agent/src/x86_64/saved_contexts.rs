//! Where the structures of C and of the kernel keep registers: `jmp_buf`, `ucontext_t`.

use core::arch::asm;

use ada_ring::arch::CRASH_REGISTERS;

/// Where a `jmp_buf` has the stack pointer, in glibc and in musl.
pub(crate) const JUMP_STACK_POINTER: u64 = 48;
/// Where a `ucontext_t` has it.
pub(crate) const CONTEXT_STACK_POINTER: u64 = ada_ring::arch::CONTEXT_STACK_POINTER as u64;
/// Where it has its stack's address, …
pub(crate) const CONTEXT_STACK: u64 = 16;
/// … and the length.
pub(crate) const CONTEXT_STACK_SIZE: u64 = 32;
/// How far behind a signal's `ucontext_t` the kernel puts its `siginfo_t`.
pub(crate) const INFORMATION_AT: u64 = 304;
/// Bytes of `ucontext_t` before the registers.
const REGISTERS_AT: usize = 40;

/// What the word at [`JUMP_STACK_POINTER`] can mean: glibc hides the pointer, musl does not.
pub(crate) fn jump_stack_pointers(stored: u64) -> [u64; 2] {
    [stored, stored.rotate_right(17) ^ pointer_guard()]
}

/// The registers that a signal has interrupted.
///
/// # Safety
/// `context` is a `ucontext_t` that the kernel has filled in, and stays.
pub(crate) unsafe fn signal_registers<'a>(context: *const u8) -> &'a [u64; CRASH_REGISTERS] {
    // SAFETY: the caller's promise.
    unsafe { &*context.add(REGISTERS_AT).cast() }
}

/// Where the `ucontext_t` at an address has the stack pointer and the instruction pointer, in this order.
pub(crate) fn interrupted_at(context: u64) -> *mut [u64; 2] {
    (context + CONTEXT_STACK_POINTER) as *mut [u64; 2]
}

/// What glibc hides the pointers in a `jmp_buf` with.
fn pointer_guard() -> u64 {
    let guard: u64;
    // SAFETY: a thread with a state has a thread control block, which is longer than this.
    unsafe { asm!("mov {}, fs:[0x30]", out(reg) guard, options(readonly, nostack, preserves_flags)) };
    guard
}
