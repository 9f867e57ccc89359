//! The code that the stubs of one arena share: the way into the agent, and the return path.

use std::mem::offset_of;

use ada_ring::record::{HAS_DETAIL, IS_UNCAUGHT, RecordKind};
use ada_ring::shadow_frame::{FRAME_RETURNING, ShadowFrame};
use iced_x86::code_asm::{
    CodeAssembler, CodeLabel, dword_ptr, eax, qword_ptr, r8, r9, r10, r11, r12, r13, r14, rax, rbp, rcx, rdi, rdx,
    registers::xmm, rsi, rsp,
};
use iced_x86::{BlockEncoderOptions, Code, IcedError, Instruction, MemoryOperand, Register};

use crate::x86_64::stub::capture::Details;
use crate::x86_64::stub::{
    External, POSITION, RECORD, RECORD_LIMIT, SHADOW_TOP, StubOptions, compare_owner, reserve, restore, save, stamp,
};

/// The shared code at its final address.
pub(crate) struct Common {
    pub(crate) code: Vec<u8>,
    addresses: [u64; EXTERNALS],
}

impl Common {
    /// Assembles for address `at`; `table` is where the arena holds the agent's entry points, in their order.
    pub(crate) fn new(at: u64, table: u64, options: &StubOptions) -> Result<Self, IcedError> {
        let mut a = CodeAssembler::new(64)?;
        let mut labels: [CodeLabel; EXTERNALS] = std::array::from_fn(|_| a.create_label());
        for (number, (external, into_rcx)) in [
            (External::Thread, false),
            (External::Chunk, true),
            (External::Fix, false),
            (External::StackChange, false),
            (External::Loader, false),
            (External::ProbeCall, false),
        ]
        .into_iter()
        .enumerate()
        {
            a.set_label(&mut labels[external as usize])?;
            way_into_agent(&mut a, table + 8 * TABLE_ORDER[number] as u64, into_rcx)?;
        }
        let chunk = labels[External::Chunk as usize];
        let details = Details::new(&mut a, table, options)?;
        a.set_label(&mut labels[External::DetailCall as usize])?;
        match options.detail {
            Some(shape) => details.call(&mut a, 0, &shape)?,
            None => a.ud2()?,
        }
        a.set_label(&mut labels[External::RecordEntryOnly as usize])?;
        record_entry_only(&mut a, chunk, &details, options)?;
        a.set_label(&mut labels[External::Return as usize])?;
        return_path(&mut a, chunk, table + 8 * RETURNED as u64, &details, options)?;
        a.set_label(&mut labels[External::ProbeReturn as usize])?;
        agent_return(&mut a, table + 8 * PROBE_RETURNED as u64)?;
        let assembled = a.assemble_options(at, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let mut addresses = [0; EXTERNALS];
        for (address, label) in addresses.iter_mut().zip(&labels) {
            *address = assembled.label_ip(label)?;
        }
        Ok(Self { code: assembled.inner.code_buffer, addresses })
    }

    pub(crate) fn address(&self, external: External) -> u64 {
        self.addresses[external as usize]
    }
}

/// How many externals are code.
const EXTERNALS: usize = External::Switch as usize;

/// Position of each way's entry point in the arena's table: thread, chunk, fix, stack change, loader, probe.
const TABLE_ORDER: [usize; 6] = [0, 1, 2, 4, 5, 8];
const RETURNED: usize = 3;
pub(crate) const DETAIL_CHUNK: usize = 6;
pub(crate) const STACK: usize = 7;
const PROBE_RETURNED: usize = 9;

/// Calls the agent with (return slot, rcx, rax), all registers kept but rax, or rcx, which takes the result. The agent finds
/// the function's arguments below the slot: `ada_agent::registers::argument` knows the order of the pushes.
///
/// Compiled code may use the sixteen vector registers; it is built without AVX, and older instructions leave the
/// upper parts of wider registers alone, so saving their low 16 bytes is enough.
pub(crate) fn way_into_agent(a: &mut CodeAssembler, entry: u64, into_rcx: bool) -> Result<(), IcedError> {
    const SAVED: i32 = 11;
    for register in [rdx, rsi, rdi, r8, r9, r10, r11, rbp, r12, r13, r14] {
        a.push(register)?;
    }
    if !into_rcx {
        a.push(rcx)?;
    }
    a.mov(rbp, rsp)?;
    let pushed = 8 * (SAVED + i32::from(!into_rcx));
    a.lea(rdi, qword_ptr(rbp + pushed + 8 + 32))?;
    a.mov(rsi, rcx)?;
    a.mov(rdx, rax)?;
    a.and(rsp, -16)?;
    a.sub(rsp, 256)?;
    for (number, register) in VECTORS.into_iter().enumerate() {
        a.movups(iced_x86::code_asm::xmmword_ptr(rsp + 16 * number as i32), register)?;
    }
    a.add_instruction(Instruction::with1(
        Code::Call_rm64,
        MemoryOperand::with_base_displ(Register::RIP, entry as i64),
    )?)?;
    for (number, register) in VECTORS.into_iter().enumerate() {
        a.movups(register, iced_x86::code_asm::xmmword_ptr(rsp + 16 * number as i32))?;
    }
    a.mov(rsp, rbp)?;
    if into_rcx {
        a.mov(rcx, rax)?;
    } else {
        a.pop(rcx)?;
    }
    for register in [r14, r13, r12, rbp, r11, r10, r9, r8, rdi, rsi, rdx] {
        a.pop(register)?;
    }
    a.ret()
}

pub(crate) const VECTORS: [iced_x86::code_asm::AsmRegisterXmm; 16] = [
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

/// A record's kind, with the mark that says whether registers come with it.
fn kind_bits(kind: RecordKind, options: &StubOptions) -> i32 {
    if options.detail.is_some() { kind as i32 | HAS_DETAIL as i32 } else { kind as i32 }
}

/// Records a call whose return is not caught; the function's number is in eax, the shadow stack's top in rdx. Called from a stub, so the way into
/// the agent finds its return slot one word further up than usual; it does not use it there.
fn record_entry_only(
    a: &mut CodeAssembler,
    chunk: CodeLabel,
    details: &Details,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut no_room, mut reserved, mut too_deep) = (a.create_label(), a.create_label(), a.create_label());
    a.cmp(rdx, qword_ptr(RECORD_LIMIT).gs())?;
    a.jae(too_deep)?;
    a.push(rax)?;
    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    a.pop(rax)?;
    a.mov(dword_ptr(rcx + 8), eax)?;
    a.mov(rdx, qword_ptr(SHADOW_TOP).gs())?;
    a.lea(eax, dword_ptr(rdx + (kind_bits(RecordKind::EntryOnly, options) | IS_UNCAUGHT as i32)))?;
    a.mov(dword_ptr(rcx + 12), eax)?;
    match options.detail {
        Some(shape) => {
            let (mut detail, mut behind) = (a.create_label(), a.create_label());
            a.call(detail)?;
            a.jmp(behind)?;
            a.set_label(&mut detail)?;
            details.call(a, 8, &shape)?;
            a.set_label(&mut behind)?;
            a.nop()?;
        }
        None => stamp(a)?,
    }
    a.set_label(&mut too_deep)?;
    a.ret()?;
    a.set_label(&mut no_room)?;
    a.call(chunk)?;
    a.jmp(reserved)
}

/// Where a caught function comes back to: records the return and goes to the real return address.
///
/// rsp is what the callee left. The slot is below it, and is made again so that the final `ret` is predicted.
fn return_path(
    a: &mut CodeAssembler,
    chunk: CodeLabel,
    returned: u64,
    details: &Details,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut rare, mut no_room, mut reserved) = (a.create_label(), a.create_label(), a.create_label());
    a.lea(rsp, qword_ptr(rsp - 8))?;
    save(a)?;
    compare_owner(a, rax, options)?;
    a.jne(rare)?;
    a.mov(rdx, qword_ptr(SHADOW_TOP).gs())?;
    a.lea(rax, qword_ptr(rsp + 32))?;
    a.not(rax)?;
    a.cmp(qword_ptr(rdx), rax)?;
    a.jne(rare)?;
    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    // From here on the frame tells where its return's record is, should a handler jump away before it is written.
    a.lea(eax, dword_ptr(rcx + FRAME_RETURNING as i32))?;
    a.mov(dword_ptr(rdx + RECORD), eax)?;
    a.mov(eax, dword_ptr(rdx + offset_of!(ShadowFrame, function) as i32))?;
    a.mov(dword_ptr(rcx + 8), eax)?;
    a.lea(eax, dword_ptr(rdx + kind_bits(RecordKind::Return, options)))?;
    a.mov(dword_ptr(rcx + 12), eax)?;
    a.mov(rax, qword_ptr(rdx + offset_of!(ShadowFrame, return_address) as i32))?;
    a.mov(qword_ptr(rsp + 32), rax)?;
    a.sub(rdx, ShadowFrame::SIZE as i32)?;
    a.mov(qword_ptr(SHADOW_TOP).gs(), rdx)?;
    let mut detail = a.create_label();
    if options.detail.is_some() {
        a.call(detail)?;
    } else {
        stamp(a)?;
    }
    restore(a)?;
    a.ret()?;
    if let Some(shape) = options.detail {
        a.set_label(&mut detail)?;
        details.back(a, &shape)?;
    }
    a.set_label(&mut no_room)?;
    a.call(chunk)?;
    a.mov(rdx, qword_ptr(SHADOW_TOP).gs())?;
    a.jmp(reserved)?;
    a.set_label(&mut rare)?;
    leave_to_agent(a, returned)
}

/// A return path that is the agent's alone.
fn agent_return(a: &mut CodeAssembler, returned: u64) -> Result<(), IcedError> {
    a.lea(rsp, qword_ptr(rsp - 8))?;
    save(a)?;
    leave_to_agent(a, returned)
}

/// Has the agent put the real return address into the slot, and goes there.
fn leave_to_agent(a: &mut CodeAssembler, returned: u64) -> Result<(), IcedError> {
    let mut agent = a.create_label();
    a.call(agent)?;
    restore(a)?;
    a.ret()?;
    a.set_label(&mut agent)?;
    way_into_agent(a, returned, false)
}

const _: () = assert!(POSITION > 0, "the shadow stack's top is the first field");
