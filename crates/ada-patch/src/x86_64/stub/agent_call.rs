//! The way into the agent: all registers are saved, see [`SavedRegisters`].
//!
//! The agent needs a few kilobytes, which a coroutine or a handler may not have. So it runs on a stack of its own where the
//! thread has a state. No handler may run there: it would find itself on no stack that the program knows, and could leave
//! for another context, to come back when others have used the stack. Hence signals are blocked before, and let in after.

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_ring::arch::{SAVED_VECTORS, SIGNAL_MASKS, SavedRegisters};
use iced_x86::code_asm::{
    AsmRegister64, AsmRegisterXmm, CodeAssembler, eax, edi, edx, qword_ptr, r8, r9, r10, r10d, r11, r12, r12d, r13,
    r14, r15, rax, rbp, rbx, rcx, rdi, rdx, registers::xmm, rsi, rsp, xmmword_ptr,
};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

use super::thread_state::{AGENT_STACK, AGENT_STACK_BUSY, OWNER, PROGRAM_STACK, field};

/// The registers that are saved here, in the order in which they are pushed, and where [`SavedRegisters`] has them.
const PUSHED: [(AsmRegister64, usize); 13] = [
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
    (r15, offset_of!(SavedRegisters, r15)),
    (rbx, offset_of!(SavedRegisters, rbx)),
];

const _: () = {
    let mut number = 0;
    while number < PUSHED.len() {
        assert!(PUSHED[number].1 == offset_of!(SavedRegisters, way_back) - 8 * (number + 1));
        number += 1;
    }
    assert!(PUSHED[PUSHED.len() - 1].1 == 0);
};

/// Calls the agent's entry point of the table with (return slot, rcx, rax), all registers kept but rax, or rcx,
/// which takes the result. The agent finds the function's registers below the slot.
///
/// It keeps rbx and r15 itself, but they are saved too, for handlers that run while it waits.
///
/// `below` is how much lies between what the stub has saved and the way back: then the agent may use the slot's address only, and
/// not look for registers below it.
///
/// Compiled code may use the sixteen vector registers; it is built without AVX, and older instructions leave the
/// upper parts of wider registers alone, so saving their low 16 bytes is enough.
pub(super) fn way_into_agent(
    a: &mut CodeAssembler,
    entry: RuntimeAddr,
    into_rcx: bool,
    below: i32,
) -> Result<(), IcedError> {
    for (register, _) in PUSHED {
        a.push(register)?;
    }
    if !into_rcx {
        a.push(rcx)?;
    }
    a.mov(rbp, rsp)?;
    a.mov(r8, rcx)?;
    a.mov(r9, rax)?;
    enter_own_stack(a)?;
    let slot = size_of::<SavedRegisters>() as i32 + below + if into_rcx { 0 } else { 8 };
    a.lea(rdi, qword_ptr(rbp + slot))?;
    a.mov(rsi, r8)?;
    a.mov(rdx, r9)?;
    a.and(rsp, -16)?;
    a.sub(rsp, SAVED_VECTORS as i32)?;
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
    leave_own_stack(a)?;
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

/// Goes to the agent's own stack, if the thread has one that is not in use. Leaves the state in r13, and its stack in r12,
/// or 0 there. Changes rax, rcx, rdx, rdi, rsi, r10 and r11.
fn enter_own_stack(a: &mut CodeAssembler) -> Result<(), IcedError> {
    let (mut stay, mut taken, mut there) = (a.create_label(), a.create_label(), a.create_label());
    // The state may be another's: the agent is also called by threads that have none.
    a.rdfsbase(rax)?;
    a.cmp(rax, field(OWNER))?;
    a.jne(stay)?;
    a.mov(r12, field(AGENT_STACK))?;
    a.test(r12, r12)?;
    a.je(stay)?;
    a.rdgsbase(r13)?;
    a.push(0)?;
    a.push(-1)?;
    a.mov(rsi, rsp)?;
    a.lea(rdx, qword_ptr(rsp + 8))?;
    set_signal_mask(a)?;
    a.test(eax, eax)?;
    a.jne(stay)?;
    // Whoever shares the state, or has left a handler that interrupted the agent, finds the stack in use.
    a.mov(eax, 1)?;
    a.xchg(qword_ptr(r13 + AGENT_STACK_BUSY), rax)?;
    a.test(eax, eax)?;
    a.jne(taken)?;
    a.mov(qword_ptr(r13 + PROGRAM_STACK), rsp)?;
    a.mov(rsp, r12)?;
    a.jmp(there)?;
    a.set_label(&mut taken)?;
    let_signals_in(a)?;
    a.set_label(&mut stay)?;
    a.xor(r12d, r12d)?;
    a.mov(rsp, rbp)?;
    a.set_label(&mut there)?;
    a.nop()
}

/// Goes back to the program's stack, if this is another. Keeps rax.
fn leave_own_stack(a: &mut CodeAssembler) -> Result<(), IcedError> {
    let mut stayed = a.create_label();
    a.test(r12, r12)?;
    a.je(stayed)?;
    a.mov(r8, rax)?;
    a.lea(rsp, qword_ptr(rbp - SIGNAL_MASKS as i32))?;
    a.mov(qword_ptr(r13 + AGENT_STACK_BUSY), 0)?;
    let_signals_in(a)?;
    a.mov(rax, r8)?;
    a.set_label(&mut stayed)?;
    a.nop()
}

/// Blocks the signals again that were blocked before, and no others.
fn let_signals_in(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.lea(rsi, qword_ptr(rbp - 8))?;
    a.xor(edx, edx)?;
    set_signal_mask(a)
}

/// Blocks the signals at rsi, and puts those that were blocked before at rdx.
fn set_signal_mask(a: &mut CodeAssembler) -> Result<(), IcedError> {
    const RT_SIGPROCMASK: i32 = 14;
    const SET_MASK: i32 = 2;
    a.mov(eax, RT_SIGPROCMASK)?;
    a.mov(edi, SET_MASK)?;
    a.mov(r10d, 8)?;
    a.syscall()
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
