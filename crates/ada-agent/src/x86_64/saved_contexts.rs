//! Where the structures of C and of the kernel keep registers: `jmp_buf`, `ucontext_t`.

use core::arch::asm;

use ada_ring::arch::CRASH_REGISTERS;

/// Where a `jmp_buf` has the stack pointer, in glibc and in musl.
pub(crate) const JUMP_STACK_POINTER: u64 = 48;
/// Where a `ucontext_t` has it.
pub(crate) const CONTEXT_STACK_POINTER: u64 = 160;
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

/// Where a signal's context has the stack pointer and the instruction pointer, in this order.
///
/// # Safety
/// As [`signal_registers`], and the context may be changed.
pub(crate) unsafe fn interrupted_at<'a>(context: *mut u8) -> &'a mut [u64; 2] {
    // SAFETY: the caller's promise.
    unsafe { &mut *context.add(CONTEXT_STACK_POINTER as usize).cast() }
}

/// What glibc hides the pointers in a `jmp_buf` with.
fn pointer_guard() -> u64 {
    let guard: u64;
    // SAFETY: a thread with a state has a thread control block, which is longer than this.
    unsafe { asm!("mov {}, fs:[0x30]", out(reg) guard, options(readonly, nostack, preserves_flags)) };
    guard
}
