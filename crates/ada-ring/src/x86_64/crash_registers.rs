//! The registers of a crash record.

/// The general registers in the order of the kernel's signal frame: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp,
/// rip, flags.
pub const CRASH_REGISTERS: usize = 18;
/// Their names.
pub const CRASH_REGISTER_NAMES: [&str; CRASH_REGISTERS] = [
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp",
    "rip", "eflags",
];
