//! Code that captures what a probe reads at a call or at a return, without the agent where that can be.
//!
//! It is called as [`super::capture`]'s code is, with the record's address in rcx; eax says which probe this is. It goes through the
//! probe's reads as they lie in the table: numbers in vector registers, `errno`, and words, texts and bytes behind arguments and
//! results. Memory is copied by eight bytes at a time, where all of them are sure to be there: on the thread's own stack, or in
//! memory that stays as long as the program. At a return the arguments are those that the stub has kept ([`open_calls`]). What may go away at any time is read by one system call, and the agent does all that
//! is left. Which reads these may be [`crate::are_stubs_reads`] says.
//!
//! Nothing but general registers is changed: the function's other arguments and results are in the rest.
//!
//! ```text
//! rsp+120  return slot
//! rsp+88   StubFrame
//! rsp+80   return address of this call
//! rsp+72   the probe's number
//! rsp+8    what SAVED lists
//! rsp+0    where the probe's reads end
//! ```

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_ring::arch::StubFrame;
use ada_ring::probe::{AT_RETURN, Base, Probe, READS, RawProbe, UNREADABLE, packed};
use ada_ring::{AgentEntries, detail};
use iced_x86::IcedError;
use iced_x86::code_asm::{
    AsmMemoryOperand, AsmRegister64, CodeAssembler, CodeLabel, byte_ptr, dword_ptr, eax, ebx, edi, qword_ptr, r8, r9,
    r9d, r10, r11, r12, rax, rbx, rcx, rdi, rsi, rsp, word_ptr,
};

use super::agent_call::way_into_agent;
use super::capture::{CALL_VECTORS, Details, REGISTERS, RETURN_VECTORS, STACK_POINTER, mark_and_stamp};
use super::copies::{HIGHEST, LOWEST, ONES, copy_bytes, copy_text, copy_vector, copy_words, go_if_sure, kernel_read};
use super::open_calls;
use super::thread_state::{ERRNO_DISTANCE, PROBES, field};
use crate::probed::RESULT_VECTORS;

/// The first one is saved by whoever only keeps registers, too.
const SAVED: [AsmRegister64; 8] = [r8, r9, r10, r11, rsi, rdi, rbx, r12];
/// The probe's number, from where the saved registers end.
const PROBE: i32 = 8 * SAVED.len() as i32;
/// What the stub has saved: the probe's number and the way back lie below it.
const STUB: i32 = PROBE + 16;
const SLOT: i32 = STUB + size_of::<StubFrame>() as i32;
const WORDS: i32 = offset_of!(RawProbe, words) as i32;
const COUNT: i32 = offset_of!(RawProbe, count) as i32;

/// What the code for reads calls.
#[derive(Clone, Copy)]
pub(super) struct ReadWays {
    /// The agent makes all reads.
    pub(super) agent: CodeLabel,
    /// The kernel copies: see [`kernel_read`].
    pub(super) kernel: CodeLabel,
}

impl ReadWays {
    pub(super) fn new(a: &mut CodeAssembler, table: RuntimeAddr) -> Result<Self, IcedError> {
        let (mut agent, mut kernel) = (a.create_label(), a.create_label());
        a.set_label(&mut agent)?;
        way_into_agent(a, RuntimeAddr(table.0 + offset_of!(AgentEntries, reads) as u64), false, 0)?;
        a.set_label(&mut kernel)?;
        kernel_read(a)?;
        Ok(Self { agent, kernel })
    }
}

/// Which end of a call is captured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Call,
    Return,
}

/// What is remembered of a call until it returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    Nothing,
    Arguments,
}

/// Captures a call. `details` are those of probes.
pub(super) fn call(a: &mut CodeAssembler, details: &Details, ways: ReadWays, keeps: Keeps) -> Result<(), IcedError> {
    a.push(rax)?;
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
    details.copy_window(a, SLOT)?;
    details.copy_vectors(a, CALL_VECTORS)?;
    if keeps == Keeps::Arguments {
        // Not by way of the record, to which others may write too.
        let stubs = |offset: usize| qword_ptr(rsp + STUB + offset as i32);
        let arguments = [
            pushed(rdi),
            pushed(rsi),
            stubs(offset_of!(StubFrame, rdx)),
            stubs(offset_of!(StubFrame, rcx)),
            pushed(r8),
            pushed(r9),
        ];
        open_calls::open(a, qword_ptr(rsp + SLOT), dword_ptr(rsp + PROBE), arguments)?;
    }
    a.imul_3(r9, r9, size_of::<Probe>() as i32)?;
    a.add(r9, field(PROBES))?;
    make_reads(a, End::Call, ways)?;
    mark_and_stamp(a, detail::CALL)?;
    for register in SAVED.into_iter().rev() {
        a.pop(register)?;
    }
    a.pop(rax)?;
    a.ret()
}

/// Captures a return: registers, and where the probe reads something, that.
pub(super) fn back(a: &mut CodeAssembler, details: &Details, ways: ReadWays) -> Result<(), IcedError> {
    let (mut reads, mut captured) = (a.create_label(), a.create_label());
    a.push(rax)?;
    a.push(r8)?;
    details.reserve(a)?;
    details.return_registers(a, 8)?;
    details.copy_vectors(a, RETURN_VECTORS)?;
    a.mov(eax, dword_ptr(rsp + 8))?;
    a.imul_3(rax, rax, size_of::<Probe>() as i32)?;
    a.add(rax, field(PROBES))?;
    a.cmp(qword_ptr(rax + offset_of!(Probe, back) as i32), 0)?;
    a.jne(reads)?;
    a.set_label(&mut captured)?;
    mark_and_stamp(a, detail::RETURN)?;
    a.pop(r8)?;
    a.pop(rax)?;
    a.ret()?;

    a.set_label(&mut reads)?;
    for register in &SAVED[1..] {
        a.push(*register)?;
    }
    a.lea(r9, qword_ptr(rax + offset_of!(Probe, back) as i32))?;
    make_reads(a, End::Return, ways)?;
    for register in SAVED[1..].iter().rev() {
        a.pop(*register)?;
    }
    a.jmp(captured)
}

/// Makes the reads at r9 into the record in rcx. Keeps rdx, and the event in r8.
fn make_reads(a: &mut CodeAssembler, end: End, ways: ReadWays) -> Result<(), IcedError> {
    let (mut next, mut all, mut done) = (a.create_label(), a.create_label(), a.create_label());
    let (mut agent, mut advance, mut vector) = (a.create_label(), a.create_label(), a.create_label());
    let (mut direct, mut nothing, mut fill) = (a.create_label(), a.create_label(), a.create_label());
    let (mut has_length, mut errno) = (a.create_label(), a.create_label());
    a.lea(rax, qword_ptr(r9 + 8 * READS as i32))?;
    a.push(rax)?;
    // r9: the next read, r11: where its words go.
    a.lea(r11, qword_ptr(rcx + WORDS))?;
    a.mov(r10, ONES)?;
    a.mov(r12, HIGHEST)?;

    a.set_label(&mut next)?;
    a.cmp(r9, qword_ptr(rsp))?;
    a.jae(all)?;
    a.cmp(qword_ptr(r9), 0)?;
    a.jge(all)?;
    a.test(byte_ptr(r9 + packed::KIND), packed::VECTOR)?;
    a.jne(vector)?;
    a.movzx(eax, byte_ptr(r9 + packed::BASE))?;
    // Where nobody reads the record, others write to it too; whatever is found there is looked at before it is followed.
    match end {
        End::Call => {
            let (mut argument, mut based) = (a.create_label(), a.create_label());
            a.cmp(eax, Base::Argument6 as i32)?;
            a.jbe(argument)?;
            a.cmp(eax, Base::Slot as i32)?;
            a.jne(agent)?;
            a.mov(rsi, qword_ptr(rcx + STACK_POINTER))?;
            a.jmp(based)?;
            a.set_label(&mut argument)?;
            a.mov(rsi, base(end))?;
            a.set_label(&mut based)?;
        }
        End::Return => {
            a.cmp(eax, Base::Errno as i32)?;
            a.je(errno)?;
            let (mut result, mut based) = (a.create_label(), a.create_label());
            a.cmp(eax, Base::Result as i32)?;
            a.jae(result)?;
            a.cmp(eax, Base::Argument6 as i32)?;
            a.ja(agent)?;
            open_calls::find(a, qword_ptr(rsp + 8 + SLOT), nothing)?;
            a.mov(rsi, open_calls::argument())?;
            a.jmp(based)?;
            a.set_label(&mut result)?;
            a.mov(rsi, base(end))?;
            a.set_label(&mut based)?;
        }
    }
    a.movsx(rdi, word_ptr(r9 + packed::FIRST))?;
    a.add(rsi, rdi)?;
    a.movsx(edi, word_ptr(r9 + packed::SECOND))?;
    a.cmp(edi, packed::NO_STEP)?;
    a.je(direct)?;
    follow_pointer(a, ways, agent, nothing)?;

    a.set_label(&mut direct)?;
    a.movzx(edi, byte_ptr(r9 + packed::COUNT))?;
    a.test(byte_ptr(r9 + packed::KIND), packed::TEXT | packed::BYTES)?;
    a.jne(has_length)?;
    a.cmp(rsi, LOWEST)?;
    a.jb(nothing)?;
    a.lea(rdi, qword_ptr(rsi + rdi * 8))?;
    copy_words(a, ways.kernel, agent, advance)?;

    a.set_label(&mut has_length)?;
    let mut text = a.create_label();
    // How many bytes there is room for.
    a.lea(edi, dword_ptr(rdi * 8 - 8))?;
    a.test(byte_ptr(r9 + packed::KIND), packed::TEXT)?;
    a.jne(text)?;
    copy_bytes(a, base(end), ways.kernel, (agent, nothing, advance))?;
    a.set_label(&mut text)?;
    a.cmp(rsi, LOWEST)?;
    a.jb(nothing)?;
    a.add(rdi, rsi)?;
    copy_text(a, ways.kernel, agent, advance)?;

    // The words of what cannot be read.
    a.set_label(&mut nothing)?;
    a.movzx(eax, byte_ptr(r9 + packed::COUNT))?;
    a.set_label(&mut fill)?;
    a.mov(qword_ptr(r11), UNREADABLE as i32)?;
    a.add(r11, 8)?;
    a.dec(eax)?;
    a.jne(fill)?;
    a.jmp(advance)?;

    a.set_label(&mut vector)?;
    copy_vector(a, if end == End::Call { ada_ring::probe::VECTORS } else { RESULT_VECTORS }, agent, advance)?;

    a.set_label(&mut errno)?;
    if end == End::Return {
        a.mov(rax, field(ERRNO_DISTANCE))?;
        a.test(rax, rax)?;
        a.je(agent)?;
        // It is there as long as the thread.
        a.mov(eax, dword_ptr(rax).fs())?;
        a.mov(qword_ptr(r11), rax)?;
        a.add(r11, 8)?;
    } else {
        a.nop()?;
    }
    a.set_label(&mut advance)?;
    a.add(r9, 8)?;
    a.jmp(next)?;

    a.set_label(&mut agent)?;
    // What lies on the stack there is the same at both ends.
    a.mov(eax, dword_ptr(rsp + 8 + PROBE))?;
    if end == End::Return {
        a.or(eax, AT_RETURN as i32)?;
    }
    a.call(ways.agent)?;
    a.jmp(done)?;
    a.set_label(&mut all)?;
    a.mov(rax, r11)?;
    a.sub(rax, rcx)?;
    a.sub(rax, WORDS)?;
    a.shr(rax, 3)?;
    a.mov(qword_ptr(rcx + COUNT), rax)?;
    a.set_label(&mut done)?;
    if end == End::Return {
        let mut closed = a.create_label();
        // The first read tells whether there are arguments.
        a.mov(rax, qword_ptr(rsp))?;
        a.sub(rax, 8 * READS as i32)?;
        a.test(byte_ptr(rax + packed::KIND), packed::VECTOR)?;
        a.jne(closed)?;
        a.cmp(byte_ptr(rax + packed::BASE), Base::Argument6 as i32)?;
        a.ja(closed)?;
        open_calls::find(a, qword_ptr(rsp + 8 + SLOT), closed)?;
        open_calls::close(a)?;
        a.set_label(&mut closed)?;
    }
    a.pop(rax)
}

/// The base whose number is in rax, which is an argument or a result.
fn base(end: End) -> AsmMemoryOperand {
    let first = if end == End::Call { Base::Argument1 } else { Base::Result };
    qword_ptr(rcx + rax * 8 + (REGISTERS - 8 * first as i32))
}

/// Takes the pointer at rsi, with the read's second offset, into rsi. Where the first read has taken the structure that it is in, it
/// is the one that was taken.
fn follow_pointer(
    a: &mut CodeAssembler,
    ways: ReadWays,
    agent: CodeLabel,
    nothing: CodeLabel,
) -> Result<(), IcedError> {
    let (mut is_sure, mut elsewhere, mut followed) = (a.create_label(), a.create_label(), a.create_label());
    a.cmp(rsi, LOWEST)?;
    a.jb(nothing)?;
    let mut unknown = a.create_label();
    // The first read, of plain words where its base is, and how many bytes it has.
    a.mov(rdi, qword_ptr(rsp))?;
    a.sub(rdi, 8 * READS as i32)?;
    a.mov(rax, qword_ptr(rdi))?;
    a.movzx(edi, byte_ptr(rdi + packed::COUNT))?;
    a.mov(rbx, !(0xff_u64 << (8 * packed::COUNT)))?;
    a.and(rax, rbx)?;
    a.movzx(ebx, byte_ptr(r9 + packed::BASE))?;
    a.xor(rax, rbx)?;
    a.mov(rbx, packed::WORDS_AT_BASE)?;
    a.cmp(rax, rbx)?;
    a.jne(unknown)?;
    a.movsx(rax, word_ptr(r9 + packed::FIRST))?;
    a.test(rax, rax)?;
    a.js(unknown)?;
    a.lea(rdi, qword_ptr(rdi * 8 - 8))?;
    a.cmp(rax, rdi)?;
    a.jg(unknown)?;
    a.mov(rsi, qword_ptr(rcx + rax + WORDS))?;
    a.jmp(followed)?;
    a.set_label(&mut unknown)?;
    a.lea(rdi, qword_ptr(rsi + 8))?;
    go_if_sure(a, is_sure, elsewhere)?;
    a.set_label(&mut is_sure)?;
    a.mov(rsi, qword_ptr(rsi))?;
    a.jmp(followed)?;
    a.set_label(&mut elsewhere)?;
    a.mov(rbx, r11)?;
    a.call(ways.kernel)?;
    a.jne(agent)?;
    a.mov(rsi, qword_ptr(r11))?;
    a.set_label(&mut followed)?;
    a.movsx(rax, word_ptr(r9 + packed::SECOND))?;
    a.add(rsi, rax)
}
