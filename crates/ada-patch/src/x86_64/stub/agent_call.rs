//! The way into the agent: all registers are saved, see [`SavedRegisters`].

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_ring::arch::SavedRegisters;
use iced_x86::code_asm::{
    AsmRegister64, AsmRegisterXmm, CodeAssembler, qword_ptr, r8, r9, r10, r11, r12, r13, r14, rax, rbp, rcx, rdi, rdx,
    registers::xmm, rsi, rsp, xmmword_ptr,
};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

/// The registers that are saved here, in the order in which they are pushed, and where [`SavedRegisters`] has them.
const PUSHED: [(AsmRegister64, usize); 11] = [
    (rdx, offset_of!(SavedRegisters, stub_rdx)),
    (rsi, offset_of!(SavedRegisters, rsi)),
    (rdi, offset_of!(SavedRegisters, rdi)),
    (r8, offset_of!(SavedRegisters, r8)),
    (r9, offset_of!(SavedRegisters, r9)),
    (r10, offset_of!(SavedRegisters, r10)),
    (r11, offset_of!(SavedRegisters, r11)),
    (rbp, offset_of!(SavedRegisters, rbp)),
    (r12, offset_of!(SavedRegisters, r12)),
    (r13, offset_of!(SavedRegisters, r13)),
    (r14, offset_of!(SavedRegisters, r14)),
];

const _: () = {
    let mut number = 0;
    while number < PUSHED.len() {
        assert!(PUSHED[number].1 == offset_of!(SavedRegisters, way_back) - 8 * (number + 1));
        number += 1;
    }
    assert!(PUSHED[PUSHED.len() - 1].1 == 0);
};

/// Calls the agent's entry point at a place of the table with (return slot, rcx, rax), all registers kept but rax, or rcx,
/// which takes the result. The agent finds the function's registers below the slot.
///
/// Compiled code may use the sixteen vector registers; it is built without AVX, and older instructions leave the
/// upper parts of wider registers alone, so saving their low 16 bytes is enough.
pub(super) fn way_into_agent(a: &mut CodeAssembler, entry: RuntimeAddr, into_rcx: bool) -> Result<(), IcedError> {
    for (register, _) in PUSHED {
        a.push(register)?;
    }
    if !into_rcx {
        a.push(rcx)?;
    }
    a.mov(rbp, rsp)?;
    let slot = size_of::<SavedRegisters>() as i32 + if into_rcx { 0 } else { 8 };
    a.lea(rdi, qword_ptr(rbp + slot))?;
    a.mov(rsi, rcx)?;
    a.mov(rdx, rax)?;
    a.and(rsp, -16)?;
    a.sub(rsp, 256)?;
    for (number, register) in VECTORS.into_iter().enumerate() {
        a.movups(xmmword_ptr(rsp + 16 * number as i32), register)?;
    }
    a.add_instruction(Instruction::with1(
        Code::Call_rm64,
        MemoryOperand::with_base_displ(Register::RIP, entry.0 as i64),
    )?)?;
    for (number, register) in VECTORS.into_iter().enumerate() {
        a.movups(register, xmmword_ptr(rsp + 16 * number as i32))?;
    }
    a.mov(rsp, rbp)?;
    if into_rcx {
        a.mov(rcx, rax)?;
    } else {
        a.pop(rcx)?;
    }
    for (register, _) in PUSHED.into_iter().rev() {
        a.pop(register)?;
    }
    a.ret()
}

pub(super) const VECTORS: [AsmRegisterXmm; 16] = [
    xmm::xmm0,
    xmm::xmm1,
    xmm::xmm2,
    xmm::xmm3,
    xmm::xmm4,
    xmm::xmm5,
    xmm::xmm6,
    xmm::xmm7,
    xmm::xmm8,
    xmm::xmm9,
    xmm::xmm10,
    xmm::xmm11,
    xmm::xmm12,
    xmm::xmm13,
    xmm::xmm14,
    xmm::xmm15,
];
