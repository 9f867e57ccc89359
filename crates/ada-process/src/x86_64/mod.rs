//! Processes on x86-64.

mod registers;

pub(crate) use registers::RegisterSlot;
pub use registers::Registers;

/// Of the registers that the kernel can put into samples, the instruction pointer.
pub(crate) const SAMPLED_INSTRUCTION_POINTER: u64 = 1 << 8;

/// `syscall`.
pub(crate) const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];

/// Makes the system calls of a table, and traps: each entry has the number and six arguments, and gets the result in place
/// of the number. The table's address is in rbx, the number of entries in r12.
pub(crate) const SYSTEM_CALLS: [u8; 42] = [
    0x48, 0x8b, 0x03, // mov rax, [rbx]
    0x48, 0x8b, 0x7b, 0x08, // mov rdi, [rbx + 8]
    0x48, 0x8b, 0x73, 0x10, // mov rsi, [rbx + 16]
    0x48, 0x8b, 0x53, 0x18, // mov rdx, [rbx + 24]
    0x4c, 0x8b, 0x53, 0x20, // mov r10, [rbx + 32]
    0x4c, 0x8b, 0x43, 0x28, // mov r8, [rbx + 40]
    0x4c, 0x8b, 0x4b, 0x30, // mov r9, [rbx + 48]
    0x0f, 0x05, // syscall
    0x48, 0x89, 0x03, // mov [rbx], rax
    0x48, 0x83, 0xc3, 0x38, // add rbx, 56
    0x49, 0xff, 0xcc, // dec r12
    0x75, 0xd7, // jnz, to the start
    0xcc, // int3
];

/// The processor's time-stamp counter.
#[inline]
pub fn time_stamp() -> u64 {
    // SAFETY: every x86-64 processor has the counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}
