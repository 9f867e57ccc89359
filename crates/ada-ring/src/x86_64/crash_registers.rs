//! The registers of a crash record, and of a signal's context.

/// The general registers in the order of the kernel's signal frame: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp,
/// rip, flags.
pub const CRASH_REGISTERS: usize = 18;
/// Their names.
pub const CRASH_REGISTER_NAMES: [&str; CRASH_REGISTERS] = [
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp",
    "rip", "eflags",
];

/// Which of them is the frame pointer, …
pub const FRAME_POINTER: usize = 10;
/// … rax, …
pub const RAX: usize = 13;
/// … the stack pointer, …
pub const STACK_POINTER: usize = 15;
/// … the instruction pointer.
pub const INSTRUCTION_POINTER: usize = 16;
/// The last one: the flags.
pub const FLAGS: usize = 17;

/// Sign, zero, auxiliary carry, parity and carry: what `lahf` puts into ah.
const LOW: u64 = 0xd5;
const OVERFLOW: u64 = 1 << 11;

/// The other way round: as a stub saves them.
pub const fn kept_flags(flags: u64) -> u64 {
    (flags & LOW) << 8 | if flags & OVERFLOW == 0 { 0 } else { 1 }
}

/// The flags of a program, where a stub has saved those that arithmetic sets, as [`super::StubFrame`] has them. The stub may
/// have added 0x7f to what `seto` has left, to restore them.
pub const fn restored_flags(flags: u64, saved: u64) -> u64 {
    let overflow = if matches!(saved as u8, 1 | 0x80) { OVERFLOW } else { 0 };
    flags & !(LOW | OVERFLOW) | saved >> 8 & LOW | overflow
}
