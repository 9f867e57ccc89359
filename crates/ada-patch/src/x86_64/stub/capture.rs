//! Code that captures registers and a window of the stack beside an event.
//!
//! It is called where a stub would stamp its record, with the record's address in rcx, and publishes both: the detail
//! record first, so that whoever sees the event finds its detail. Both have one time stamp, by which they are paired.
//!
//! ```text
//! rsp+48+shift  return slot
//! rsp+16+shift  StubFrame
//! rsp+8         return address of this call (with `shift` 8, another below it)
//! rsp+0         r8
//! ```

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_ring::arch::{CallRegisters, ReturnRegisters, StubFrame};
use ada_ring::detail::{self, RawDetail};
use ada_ring::{AgentEntries, Lane, RawRecord, RecordLayout};
use iced_x86::IcedError;
use iced_x86::code_asm::{
    AsmMemoryOperand, CodeAssembler, CodeLabel, byte_ptr, dword_ptr, eax, ecx, esi, qword_ptr, r8, r9, rax, rbp, rcx,
    rdi, rdx, rsi, rsp, xmmword_ptr,
};

use super::agent_call::{VECTORS, way_into_agent};
use super::record::test_room;
use super::thread_state::{DETAIL_POSITION, PROBE_POSITION, STACK_HIGH, STACK_LOW, field};
use crate::StubOptions;

pub(super) const REGISTERS: i32 = offset_of!(RawDetail, registers) as i32;
const RETURN_ADDRESS: i32 = offset_of!(RawDetail, return_address) as i32;
const FRAME_POINTER: i32 = offset_of!(RawDetail, frame_pointer) as i32;
pub(super) const STACK_POINTER: i32 = offset_of!(RawDetail, stack_pointer) as i32;
pub(super) const STACK_BYTES: i32 = offset_of!(RawDetail, stack_bytes) as i32;
const WAY_BACK: i32 = 8;
/// What the stub has saved, from here: r8 and a return address lie below it.
pub(super) const SAVED: i32 = 8 + WAY_BACK;
const SAVED_RAX: i32 = SAVED + offset_of!(StubFrame, rax) as i32;
const SAVED_RDX: i32 = SAVED + offset_of!(StubFrame, rdx) as i32;
pub(super) const SLOT: i32 = SAVED + size_of::<StubFrame>() as i32;

/// Of how many records ahead the lines are asked for, and how many: as many as registers take. A hint, which never faults.
const RECORDS_AHEAD: i32 = 4;
const LINES_AHEAD: i32 = 2;

/// How many vector registers are captured of a call, and of a return.
pub(super) const CALL_VECTORS: usize = 8;
pub(super) const RETURN_VECTORS: usize = 2;

/// What writes records to a lane, and the ways into the agent that it needs.
#[derive(Clone, Copy)]
pub(super) struct Details {
    chunk: CodeLabel,
    stack: CodeLabel,
    probe_stack: CodeLabel,
    probe_window: CodeLabel,
    lane: Lane,
    layout: RecordLayout,
    probes: RecordLayout,
}

impl Details {
    pub(super) fn new(a: &mut CodeAssembler, table: RuntimeAddr, options: &StubOptions) -> Result<Self, IcedError> {
        let (mut chunk, mut stack, mut probe_stack) = (a.create_label(), a.create_label(), a.create_label());
        let entry = |offset: usize| RuntimeAddr(table.0 + offset as u64);
        a.set_label(&mut chunk)?;
        way_into_agent(a, entry(offset_of!(AgentEntries, detail_chunk)), true, 0)?;
        a.set_label(&mut stack)?;
        way_into_agent(a, entry(offset_of!(AgentEntries, stack)), false, 0)?;
        a.set_label(&mut probe_stack)?;
        way_into_agent(a, entry(offset_of!(AgentEntries, probe_stack)), false, 0)?;
        let shape = options.detail.unwrap_or_default();
        let (layout, probes) = (shape.layout(), shape.probe_layout());
        let probe_window = a.create_label();
        let mut details = Self { chunk, stack, probe_stack, probe_window, lane: Lane::Detail, layout, probes };
        if probes.window > 0 {
            a.set_label(&mut details.probe_window)?;
            details.for_probes().probe_window(a)?;
        }
        Ok(details)
    }

    /// The same for runtime probes: their records begin as those of registers do, and what is not written is zero.
    pub(super) fn for_probes(self) -> Self {
        Self { lane: Lane::Probe, layout: self.probes, ..self }
    }

    /// Where these ways begin.
    pub(super) fn ways(&self) -> impl Iterator<Item = CodeLabel> {
        let probe_window = (self.probes.window > 0).then_some(self.probe_window);
        [self.chunk, self.stack, self.probe_stack].into_iter().chain(probe_window)
    }

    /// Code that captures a call's registers, and the stack from the return slot upwards.
    pub(super) fn call(&self, a: &mut CodeAssembler, shift: i32) -> Result<(), IcedError> {
        self.capture_call(a, shift)?;
        a.ret()
    }

    /// The same as a part of other code.
    pub(super) fn capture_call(&self, a: &mut CodeAssembler, shift: i32) -> Result<(), IcedError> {
        a.push(r8)?;
        self.reserve(a)?;
        let slot = SLOT + shift;
        self.call_registers(a, SAVED + shift, (qword_ptr(rsp), None), slot)?;
        self.copy_window(a, slot)?;
        self.copy_vectors(a, CALL_VECTORS)?;
        publish(a, detail::CALL)
    }

    /// Captures a return's registers, as a part of other code: nothing is below what the stub has saved.
    pub(super) fn capture_return(&self, a: &mut CodeAssembler) -> Result<(), IcedError> {
        a.push(r8)?;
        self.reserve(a)?;
        self.return_registers(a, -WAY_BACK)?;
        self.copy_vectors(a, RETURN_VECTORS)?;
        publish(a, detail::RETURN)
    }

    /// The same without the ends of it; `shift` bytes more are on the stack.
    pub(super) fn return_registers(&self, a: &mut CodeAssembler, shift: i32) -> Result<(), IcedError> {
        for (offset, saved) in
            [(offset_of!(ReturnRegisters, rax), SAVED_RAX), (offset_of!(ReturnRegisters, rdx), SAVED_RDX)]
        {
            a.mov(rax, qword_ptr(rsp + saved + shift))?;
            a.mov(register(offset), rax)?;
        }
        let slot = SLOT + shift;
        a.mov(rax, qword_ptr(rsp + slot))?;
        a.mov(qword_ptr(rcx + RETURN_ADDRESS), rax)?;
        a.mov(qword_ptr(rcx + FRAME_POINTER), rbp)?;
        a.lea(rax, qword_ptr(rsp + slot + 8))?;
        a.mov(qword_ptr(rcx + STACK_POINTER), rax)?;
        a.mov(qword_ptr(rcx + STACK_BYTES), 0)
    }

    /// Moves the record's address to r8, reserves a detail record in rcx, and reads the clock into rdx.
    ///
    /// The clock comes last: a handler that interrupts the stub has its records behind this one and times before it, or both before
    /// it. So all that lies before the detail of an event is as early as the event, and whoever looks for it looks no further.
    pub(super) fn reserve(&self, a: &mut CodeAssembler) -> Result<(), IcedError> {
        let mut reserved = a.create_label();
        a.mov(r8, rcx)?;
        a.mov(ecx, self.layout.stride as i32)?;
        a.xadd(field(if self.lane == Lane::Probe { PROBE_POSITION } else { DETAIL_POSITION }), rcx)?;
        test_room(a)?;
        a.jne(reserved)?;
        a.mov(eax, self.lane as i32)?;
        a.call(self.chunk)?;
        a.set_label(&mut reserved)?;
        // The drain, on another processor, was the last to write there: without this, a third of the time goes to waiting for it.
        for line in 0..if self.lane == Lane::Probe { LINES_AHEAD } else { 0 } {
            a.prefetchw(byte_ptr(rcx + RECORDS_AHEAD * self.layout.stride as i32 + 64 * line))?;
        }
        a.rdtsc()?;
        a.shl(rdx, 32)?;
        a.or(rdx, rax)?;
        a.mov(eax, dword_ptr(r8 + offset_of!(RawRecord, function) as i32))?;
        a.mov(dword_ptr(rcx + offset_of!(RawDetail, function) as i32), eax)?;
        a.mov(qword_ptr(rcx + offset_of!(RawDetail, tsc) as i32), rdx)
    }

    /// Captures a call's registers: the stub's own from rsp + `saved` on, r8 and r9 from where they are, and what is at the return
    /// slot. Leaves the slot's address in rax.
    pub(super) fn call_registers(
        &self,
        a: &mut CodeAssembler,
        saved: i32,
        (r8_at, r9_at): (AsmMemoryOperand, Option<AsmMemoryOperand>),
        slot: i32,
    ) -> Result<(), IcedError> {
        a.mov(register(offset_of!(CallRegisters, rdi)), rdi)?;
        a.mov(register(offset_of!(CallRegisters, rsi)), rsi)?;
        let stubs = |offset: usize| qword_ptr(rsp + saved + offset as i32);
        for (offset, at) in [
            (offset_of!(CallRegisters, rdx), stubs(offset_of!(StubFrame, rdx))),
            (offset_of!(CallRegisters, rcx), stubs(offset_of!(StubFrame, rcx))),
            (offset_of!(CallRegisters, r8), r8_at),
            (offset_of!(CallRegisters, rax), stubs(offset_of!(StubFrame, rax))),
        ] {
            a.mov(rax, at)?;
            a.mov(register(offset), rax)?;
        }
        match r9_at {
            None => a.mov(register(offset_of!(CallRegisters, r9)), r9)?,
            Some(at) => {
                a.mov(rax, at)?;
                a.mov(register(offset_of!(CallRegisters, r9)), rax)?;
            }
        }
        a.mov(rax, qword_ptr(rsp + slot))?;
        a.mov(qword_ptr(rcx + RETURN_ADDRESS), rax)?;
        a.mov(qword_ptr(rcx + FRAME_POINTER), rbp)?;
        a.lea(rax, qword_ptr(rsp + slot))?;
        a.mov(qword_ptr(rcx + STACK_POINTER), rax)
    }

    /// Captures the stack from the return slot upwards, whose address is in rax, and `slot` above the stack pointer. Changes rax.
    pub(super) fn copy_window(&self, a: &mut CodeAssembler, slot: i32) -> Result<(), IcedError> {
        match (self.layout.window as i32, self.lane) {
            (0, _) => a.mov(qword_ptr(rcx + STACK_BYTES), 0),
            // Calls of which this is captured take longer anyway.
            (_, Lane::Probe) => a.call(self.probe_window),
            (window, _) => self.copy_window_here(a, slot, window),
        }
    }

    /// Captures the stack from the return slot upwards, whose address is in rax, behind the probe's record in rcx. Changes rax.
    fn probe_window(&self, a: &mut CodeAssembler) -> Result<(), IcedError> {
        let (window, window_at) = (self.layout.window as i32, self.layout.window_at as i32);
        let (mut copy, mut ask, mut done) = (a.create_label(), a.create_label(), a.create_label());
        a.push(rdx)?;
        a.push(rsi)?;
        a.mov(rdx, rax)?;
        a.lea(rsi, qword_ptr(rdx + window))?;
        // As below.
        a.and(eax, 4095)?;
        a.cmp(eax, 4096 - window)?;
        a.jbe(copy)?;
        a.cmp(rdx, field(STACK_LOW))?;
        a.jb(ask)?;
        a.cmp(rsi, field(STACK_HIGH))?;
        a.jbe(copy)?;
        a.set_label(&mut ask)?;
        a.mov(rax, rdx)?;
        a.call(self.probe_stack)?;
        a.jmp(done)?;
        let mut next = a.create_label();
        a.set_label(&mut copy)?;
        a.xor(esi, esi)?;
        a.set_label(&mut next)?;
        a.mov(rax, qword_ptr(rdx + rsi))?;
        a.mov(qword_ptr(rcx + rsi + window_at), rax)?;
        a.add(esi, 8)?;
        a.cmp(esi, window)?;
        a.jb(next)?;
        a.mov(qword_ptr(rcx + STACK_BYTES), window)?;
        a.set_label(&mut done)?;
        a.pop(rsi)?;
        a.pop(rdx)?;
        a.ret()
    }

    fn copy_window_here(&self, a: &mut CodeAssembler, slot: i32, window: i32) -> Result<(), IcedError> {
        let window_at = self.layout.window_at as i32;
        let (mut copy, mut ask, mut done) = (a.create_label(), a.create_label(), a.create_label());
        // Within the slot's own page nothing has to be asked; past it, where the thread's stack is known to go on.
        a.and(eax, 4095)?;
        a.cmp(eax, 4096 - window)?;
        a.jbe(copy)?;
        a.lea(rax, qword_ptr(rsp + slot))?;
        a.cmp(rax, field(STACK_LOW))?;
        a.jb(ask)?;
        a.add(rax, window)?;
        a.cmp(rax, field(STACK_HIGH))?;
        a.jbe(copy)?;
        a.set_label(&mut ask)?;
        // Not by way of the record: one in the chunk that nobody reads is everybody's.
        a.lea(rax, qword_ptr(rsp + slot))?;
        a.call(self.stack)?;
        a.jmp(done)?;
        a.set_label(&mut copy)?;
        for at in (0..window).step_by(8) {
            a.mov(rax, qword_ptr(rsp + slot + at))?;
            a.mov(qword_ptr(rcx + window_at + at), rax)?;
        }
        a.mov(qword_ptr(rcx + STACK_BYTES), window)?;
        a.set_label(&mut done)?;
        a.nop()
    }

    /// Captures the first vector registers, where these are to be captured.
    pub(super) fn copy_vectors(&self, a: &mut CodeAssembler, count: usize) -> Result<(), IcedError> {
        let Some(at) = self.layout.vectors_at else { return Ok(()) };
        for (number, register) in VECTORS.into_iter().take(count).enumerate() {
            a.movups(xmmword_ptr(rcx + at as i32 + 16 * number as i32), register)?;
        }
        Ok(())
    }
}

/// Where a register goes in the record at rcx.
fn register(offset: usize) -> AsmMemoryOperand {
    qword_ptr(rcx + REGISTERS + offset as i32)
}

/// Publishes the detail record in rcx, then the event in r8, and restores r8.
fn publish(a: &mut CodeAssembler, mark: u32) -> Result<(), IcedError> {
    mark_and_stamp(a, mark)?;
    a.pop(r8)
}

/// Publishes the detail record in rcx, then the event in r8, whose time is in rdx.
pub(super) fn mark_and_stamp(a: &mut CodeAssembler, mark: u32) -> Result<(), IcedError> {
    a.mov(dword_ptr(rcx + offset_of!(RawDetail, mark) as i32), mark as i32)?;
    a.mov(qword_ptr(r8 + offset_of!(RawRecord, tsc) as i32), rdx)
}
