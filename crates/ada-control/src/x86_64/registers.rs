//! The registers of a stopped thread, by what they are for.

use ada_image::FrameRegisters;

pub(crate) use libc::user_regs_struct as Registers;

pub(crate) fn instruction_pointer(registers: &Registers) -> u64 {
    registers.rip
}

pub(crate) fn set_instruction_pointer(registers: &mut Registers, address: u64) {
    registers.rip = address;
}

pub(crate) fn stack_pointer(registers: &Registers) -> u64 {
    registers.rsp
}

/// Where the C library keeps what belongs to the thread: the FS base.
pub(crate) fn thread_pointer(registers: &Registers) -> u64 {
    registers.fs_base
}

/// Where stubs find the thread's state: the GS base, which nothing else uses.
pub(crate) fn state_pointer(registers: &Registers) -> u64 {
    registers.gs_base
}

pub(crate) fn set_state_pointer(registers: &mut Registers, address: u64) {
    registers.gs_base = address;
}

/// In the order of their DWARF numbers.
pub(crate) fn frame_registers(registers: &Registers) -> FrameRegisters {
    let Registers { rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, .. } = *registers;
    let Registers { r8, r9, r10, r11, r12, r13, r14, r15, rip, .. } = *registers;
    [rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip]
}
