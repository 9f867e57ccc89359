//! Where the structures of C and of the kernel keep registers: `jmp_buf`, `ucontext_t`.

use core::arch::asm;

use ada_ring::arch::CRASH_REGISTERS;

/// Where a `jmp_buf` has the stack pointer, in glibc and in musl.
pub(crate) const JUMP_STACK_POINTER: u64 = 48;
/// Where a `ucontext_t` has its stack's address, …
pub(crate) const CONTEXT_STACK: u64 = 16;
/// … and the length.
pub(crate) const CONTEXT_STACK_SIZE: u64 = 32;
/// How far behind a signal's `ucontext_t` the kernel puts its `siginfo_t`.
pub(crate) const INFORMATION_AT: u64 = 304;
/// Bytes of `ucontext_t` before the registers.
pub(crate) const REGISTERS_AT: u64 = 40;
/// What the kernel has in the first word of each that it fills in: `UC_SIGCONTEXT_SS` and `UC_STRICT_RESTORE_SS`.
pub(crate) const KERNEL_CONTEXT: u64 = 6;

/// What the word at [`JUMP_STACK_POINTER`] can mean: glibc hides the pointer, musl does not.
pub(crate) fn jump_stack_pointers(stored: u64) -> [u64; 2] {
    [stored, stored.rotate_right(17) ^ pointer_guard()]
}

/// The registers that a signal has interrupted.
///
/// # Safety
/// `context` is the address of a `ucontext_t` that the kernel has filled in, which stays, and which nobody else uses.
pub(crate) unsafe fn signal_registers<'a>(context: u64) -> &'a mut [u64; CRASH_REGISTERS] {
    // SAFETY: the caller's promise.
    unsafe { &mut *((context + REGISTERS_AT) as *mut [u64; CRASH_REGISTERS]) }
}

/// What glibc hides the pointers in a `jmp_buf` with.
fn pointer_guard() -> u64 {
    let guard: u64;
    // SAFETY: a thread with a state has a thread control block, which is longer than this.
    unsafe { asm!("mov {}, fs:[0x30]", out(reg) guard, options(readonly, nostack, preserves_flags)) };
    guard
}
