//! Code that captures a call's registers and the texts that its arguments point at, without the agent where that can be.
//!
//! It is called as [`super::capture`]'s code is, with the record's address in rcx; eax says which arguments are texts (see
//! [`crate::ArgumentTexts`]), and edx which probe this is. A text is copied by eight bytes at a time, where all of them are sure
//! to be there: on the thread's own stack, or in memory that stays as long as the program. What may go away at any time is read
//! by one system call, and the agent does all that is left.
//!
//! Nothing but general registers is used: the function's other arguments are in the rest.
//!
//! ```text
//! rsp+112  return slot
//! rsp+80   StubFrame
//! rsp+72   return address of this call
//! rsp+64   the probe's number
//! rsp+0    what SAVED lists
//! ```

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_ring::arch::StubFrame;
use ada_ring::lasting::LastingRange;
use ada_ring::probe::{GOES_ON, RawProbe, UNREADABLE};
use ada_ring::{AgentEntries, detail};
use iced_x86::IcedError;
use iced_x86::code_asm::{
    AsmRegister64, CodeAssembler, CodeLabel, dword_ptr, eax, ebx, edx, qword_ptr, r8, r8d, r9, r9d, r10, r11, r12, rax,
    rbx, rcx, rdi, rdx, rsi, rsp,
};

use super::agent_call::way_into_agent;
use super::capture::{Details, REGISTERS, STACK_BYTES, mark_and_stamp};
use super::thread_state::{LASTING, OWN_STACK_HIGH, OWN_STACK_LOW, READ_AS, field};

const SAVED: [AsmRegister64; 8] = [r8, r9, r10, r11, rsi, rdi, rbx, r12];
const PROBE: i32 = 8 * SAVED.len() as i32;
/// What the stub has saved: the probe's number and the way back lie below it.
const STUB: i32 = PROBE + 16;
const SLOT: i32 = STUB + size_of::<StubFrame>() as i32;
const WORDS: i32 = offset_of!(RawProbe, words) as i32;
const COUNT: i32 = offset_of!(RawProbe, count) as i32;
const START: i32 = offset_of!(LastingRange, start) as i32;
const END: i32 = offset_of!(LastingRange, end) as i32;
const RANGE: i32 = size_of::<LastingRange>() as i32;
/// A byte of each word's bytes: 1, and the highest bit.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = ONES << 7;
const PROCESS_VM_READV: i32 = 310;
/// Nothing is below: null, and what null would have at an offset.
const LOWEST: i32 = 4096;

/// The way into the agent that this needs.
pub(super) fn way_to_texts(a: &mut CodeAssembler, table: RuntimeAddr) -> Result<CodeLabel, IcedError> {
    let mut way = a.create_label();
    a.set_label(&mut way)?;
    way_into_agent(a, RuntimeAddr(table.0 + offset_of!(AgentEntries, texts) as u64), false)?;
    Ok(way)
}

/// Captures a call. `details` are those of probes, `way` is [`way_to_texts`].
pub(super) fn call(a: &mut CodeAssembler, details: &Details, way: CodeLabel) -> Result<(), IcedError> {
    let (mut next, mut agent, mut captured) = (a.create_label(), a.create_label(), a.create_label());
    let (mut copy, mut elsewhere, mut advance) = (a.create_label(), a.create_label(), a.create_label());
    a.push(rdx)?;
    for register in SAVED {
        a.push(register)?;
    }
    a.mov(r9d, eax)?;
    details.reserve(a)?;
    let pushed = |register| {
        let number = SAVED.iter().position(|it| *it == register).unwrap_or(0);
        qword_ptr(rsp + 8 * (SAVED.len() - 1 - number) as i32)
    };
    details.call_registers(a, STUB, (pushed(r8), Some(pushed(r9))), SLOT)?;
    a.mov(qword_ptr(rcx + STACK_BYTES), 0)?;

    // rcx: the record, r8: the event, rdx: its time; r9d: the texts that are left, r11: where the next one goes.
    a.lea(r11, qword_ptr(rcx + WORDS))?;
    a.mov(r10, ONES)?;
    a.mov(r12, HIGHEST)?;
    a.set_label(&mut next)?;
    a.mov(eax, r9d)?;
    a.and(eax, 7)?;
    // Where nobody reads the record, others write to it too; whatever is found there is looked at before it is followed.
    a.mov(rsi, qword_ptr(rcx + rax * 8 + REGISTERS))?;
    bytes_of_text(a)?;
    a.lea(rdi, qword_ptr(rsi + rax - 8))?;
    go_if_sure(a, copy, elsewhere)?;

    a.set_label(&mut copy)?;
    copy_text(a, copy, advance)?;

    a.set_label(&mut elsewhere)?;
    have_kernel_read(a, agent, advance, copy)?;

    a.set_label(&mut advance)?;
    a.shr(r9d, 8)?;
    a.jne(next)?;
    a.mov(rax, r11)?;
    a.sub(rax, rcx)?;
    a.sub(rax, WORDS)?;
    a.shr(rax, 3)?;
    a.mov(qword_ptr(rcx + COUNT), rax)?;
    a.set_label(&mut captured)?;
    mark_and_stamp(a, detail::CALL)?;
    for register in SAVED.into_iter().rev() {
        a.pop(register)?;
    }
    a.pop(rdx)?;
    a.ret()?;

    a.set_label(&mut agent)?;
    a.mov(eax, dword_ptr(rsp + PROBE))?;
    a.call(way)?;
    a.jmp(captured)
}

/// How many bytes of the record the text has that is the first in r9d, in rax.
fn bytes_of_text(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.mov(eax, r9d)?;
    a.and(eax, 0xf8)
}

/// Goes to `sure` where all from rsi to rdi is certain to be there, else to `elsewhere`. See `ada-agent/src/lasting.rs`.
fn go_if_sure(a: &mut CodeAssembler, sure: CodeLabel, elsewhere: CodeLabel) -> Result<(), IcedError> {
    let (mut listed, mut look, mut found) = (a.create_label(), a.create_label(), a.create_label());
    a.cmp(rdi, rsi)?;
    a.jbe(elsewhere)?;
    // The upper end first: a handler that comes in between may learn of both.
    a.cmp(rdi, field(OWN_STACK_HIGH))?;
    a.ja(listed)?;
    a.cmp(rsi, rsp)?;
    a.jb(listed)?;
    a.cmp(rsp, field(OWN_STACK_LOW))?;
    a.jae(sure)?;
    a.set_label(&mut listed)?;
    a.mov(rbx, field(LASTING))?;
    a.set_label(&mut look)?;
    a.cmp(rsi, qword_ptr(rbx + END))?;
    a.jb(found)?;
    a.add(rbx, RANGE)?;
    a.jmp(look)?;
    a.set_label(&mut found)?;
    a.cmp(rsi, qword_ptr(rbx + START))?;
    a.jb(elsewhere)?;
    a.cmp(rdi, qword_ptr(rbx + END))?;
    a.ja(elsewhere)
}

/// Copies the text from rsi to rdi to behind the word at r11, which takes its length, and goes to `advance` with r11 behind it. What
/// is behind its end is not written: the record is zero. `word` is where this begins.
fn copy_text(a: &mut CodeAssembler, word: CodeLabel, advance: CodeLabel) -> Result<(), IcedError> {
    let (mut ends, mut cleared, mut clear) = (a.create_label(), a.create_label(), a.create_label());
    a.mov(rax, qword_ptr(rsi))?;
    a.mov(qword_ptr(r11 + 8), rax)?;
    // The lowest bit that is left is the highest of the first byte that is zero.
    a.mov(rbx, rax)?;
    a.sub(rbx, r10)?;
    a.not(rax)?;
    a.and(rbx, rax)?;
    a.and(rbx, r12)?;
    a.jne(ends)?;
    a.add(rsi, 8)?;
    a.add(r11, 8)?;
    a.cmp(rsi, rdi)?;
    a.jb(word)?;
    // r11 is a word before where the next text goes.
    bytes_of_text(a)?;
    a.add(r11, 8)?;
    a.mov(rbx, GOES_ON)?;
    a.lea(rbx, qword_ptr(rbx + rax - 8))?;
    a.neg(rax)?;
    a.mov(qword_ptr(r11 + rax), rbx)?;
    a.jmp(advance)?;

    a.set_label(&mut ends)?;
    // What the kernel has copied goes on behind the end.
    a.lea(rax, qword_ptr(r11 + 8))?;
    a.cmp(rax, rsi)?;
    a.jne(cleared)?;
    a.set_label(&mut clear)?;
    a.add(rax, 8)?;
    a.cmp(rax, rdi)?;
    a.jae(cleared)?;
    a.mov(qword_ptr(rax), 0)?;
    a.jmp(clear)?;
    a.set_label(&mut cleared)?;
    a.lea(rax, qword_ptr(rbx - 1))?;
    a.xor(rax, rbx)?;
    a.shr(rax, 8)?;
    a.and(qword_ptr(r11 + 8), rax)?;
    a.bsf(rbx, rbx)?;
    a.shr(ebx, 3)?;
    // How far rdi is behind rsi, r11 would have gone on; the start of the text is a word less than its room before rdi.
    bytes_of_text(a)?;
    a.sub(r11, rsi)?;
    a.lea(r11, qword_ptr(r11 + rdi + 8))?;
    a.add(rsi, rbx)?;
    a.sub(rsi, rdi)?;
    a.lea(rsi, qword_ptr(rsi + rax - 8))?;
    a.neg(rax)?;
    a.mov(qword_ptr(r11 + rax), rsi)?;
    a.jmp(advance)
}

/// Has the kernel copy what is from rsi to rdi to behind the word at r11, and goes on with `copy` there. Goes to `advance` where there
/// is nothing to be read, and to `agent` where it is not that simple.
fn have_kernel_read(
    a: &mut CodeAssembler,
    agent: CodeLabel,
    advance: CodeLabel,
    copy: CodeLabel,
) -> Result<(), IcedError> {
    let mut is_somewhere = a.create_label();
    a.cmp(rsi, LOWEST)?;
    a.jae(is_somewhere)?;
    bytes_of_text(a)?;
    a.mov(qword_ptr(r11), UNREADABLE as i32)?;
    a.add(r11, rax)?;
    a.jmp(advance)?;
    a.set_label(&mut is_somewhere)?;
    a.cmp(rdi, rsi)?;
    a.jbe(agent)?;
    // Of two pages one may not be there.
    a.lea(rax, qword_ptr(rdi - 1))?;
    a.xor(rax, rsi)?;
    a.shr(rax, 12)?;
    a.jne(agent)?;
    a.mov(rax, field(READ_AS))?;
    a.test(eax, eax)?;
    a.je(agent)?;
    a.sub(rdi, rsi)?;
    a.lea(rbx, qword_ptr(r11 + 8))?;
    let kept = [rcx, rdx, r8, r9, r11];
    for register in kept {
        a.push(register)?;
    }
    a.push(rdi)?;
    a.push(rsi)?;
    a.mov(r10, rsp)?;
    a.push(rdi)?;
    a.push(rbx)?;
    a.mov(rsi, rsp)?;
    a.mov(rdi, rax)?;
    a.mov(edx, 1)?;
    a.mov(r8d, edx)?;
    a.xor(r9d, r9d)?;
    a.mov(eax, PROCESS_VM_READV)?;
    a.syscall()?;
    a.pop(rsi)?;
    a.pop(rdi)?;
    a.pop(r10)?;
    a.pop(r10)?;
    for register in kept.into_iter().rev() {
        a.pop(register)?;
    }
    a.mov(r10, ONES)?;
    // A child of vfork may not read by its parent's number.
    a.cmp(rax, rdi)?;
    a.jne(agent)?;
    a.add(rdi, rsi)?;
    a.jmp(copy)
}
