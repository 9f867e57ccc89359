//! Code that captures what a probe reads at a call or at a return, without the agent where that can be.
//!
//! It is called as [`super::capture`]'s code is, with the record's address in rcx; eax says which probe this is. It goes through the
//! probe's reads as they lie in the table: numbers in vector registers, `errno`, and words, texts and bytes behind arguments and
//! results. Memory is copied by eight bytes at a time, where all of them are sure to be there: on the thread's own stack, or in
//! memory that stays as long as the program. What may go away at any time is read by one system call, and the agent does all that
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
use ada_ring::lasting::LastingRange;
use ada_ring::probe::{AT_RETURN, Base, GOES_ON, Probe, READS, RawProbe, UNREADABLE, packed};
use ada_ring::{AgentEntries, detail};
use iced_x86::IcedError;
use iced_x86::code_asm::{
    AsmMemoryOperand, AsmRegister64, CodeAssembler, CodeLabel, byte_ptr, cl, dword_ptr, eax, ebx, edi, edx, qword_ptr,
    r8, r8d, r9, r9d, r10, r11, r12, rax, rbx, rcx, rdi, rdx, rsi, rsp, word_ptr,
};

use super::agent_call::{VECTORS, way_into_agent};
use super::capture::{Details, REGISTERS, STACK_BYTES, STACK_POINTER, mark_and_stamp};
use super::thread_state::{ERRNO_DISTANCE, LASTING, OWN_STACK_HIGH, OWN_STACK_LOW, PROBES, READ_AS, field};
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
const START: i32 = offset_of!(LastingRange, start) as i32;
const END: i32 = offset_of!(LastingRange, end) as i32;
const RANGE: i32 = size_of::<LastingRange>() as i32;
/// A byte of each word's bytes: 1, and the highest bit.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = ONES << 7;
const PROCESS_VM_READV: i32 = 310;
/// Nothing is below: null, and what null would have at an offset.
const LOWEST: i32 = 4096;
/// What the code for reads calls.
#[derive(Clone, Copy)]
pub(super) struct ReadWays {
    /// The agent makes all reads.
    pub(super) agent: CodeLabel,
    /// The kernel copies what is from rsi to rdi to rbx; "equal" where it has copied all of it. Keeps all but rax, rbx and r10,
    /// which is [`ONES`] again.
    pub(super) kernel: CodeLabel,
}

impl ReadWays {
    pub(super) fn new(a: &mut CodeAssembler, table: RuntimeAddr) -> Result<Self, IcedError> {
        let (mut agent, mut kernel) = (a.create_label(), a.create_label());
        a.set_label(&mut agent)?;
        way_into_agent(a, RuntimeAddr(table.0 + offset_of!(AgentEntries, reads) as u64), false)?;
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

/// Captures a call. `details` are those of probes.
pub(super) fn call(a: &mut CodeAssembler, details: &Details, ways: ReadWays) -> Result<(), IcedError> {
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
    a.mov(qword_ptr(rcx + STACK_BYTES), 0)?;
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
            a.cmp(eax, Base::Result as i32)?;
            a.jb(agent)?;
            a.mov(rsi, base(end))?;
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
    copy_words(a, ways, agent, advance)?;

    a.set_label(&mut has_length)?;
    let mut text = a.create_label();
    // How many bytes there is room for.
    a.lea(edi, dword_ptr(rdi * 8 - 8))?;
    a.test(byte_ptr(r9 + packed::KIND), packed::TEXT)?;
    a.jne(text)?;
    copy_bytes(a, end, ways, (agent, nothing, advance))?;
    a.set_label(&mut text)?;
    a.cmp(rsi, LOWEST)?;
    a.jb(nothing)?;
    a.add(rdi, rsi)?;
    copy_text(a, ways, agent, advance)?;

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

/// Goes to `sure` where all from rsi to rdi is certain to be there, else to `elsewhere`. See `ada-agent/src/lasting.rs`. Changes rax.
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
    a.mov(rax, field(LASTING))?;
    a.set_label(&mut look)?;
    a.cmp(rsi, qword_ptr(rax + END))?;
    a.jb(found)?;
    a.add(rax, RANGE)?;
    a.jmp(look)?;
    a.set_label(&mut found)?;
    a.cmp(rsi, qword_ptr(rax + START))?;
    a.jb(elsewhere)?;
    a.cmp(rdi, qword_ptr(rax + END))?;
    a.ja(elsewhere)
}

/// Copies the vector register whose number the read has, the first ones first.
fn copy_vector(a: &mut CodeAssembler, count: usize, agent: CodeLabel, advance: CodeLabel) -> Result<(), IcedError> {
    let mut copied = a.create_label();
    a.movzx(eax, byte_ptr(r9 + packed::BASE))?;
    for (number, register) in VECTORS.into_iter().take(count).enumerate() {
        let mut other = a.create_label();
        a.cmp(eax, number as i32)?;
        a.jne(other)?;
        a.movq(qword_ptr(r11), register)?;
        a.jmp(copied)?;
        a.set_label(&mut other)?;
        a.nop()?;
    }
    a.jmp(agent)?;
    a.set_label(&mut copied)?;
    a.add(r11, 8)?;
    a.jmp(advance)
}

/// Copies the words from rsi to rdi to r11, and goes to `advance`.
fn copy_words(a: &mut CodeAssembler, ways: ReadWays, agent: CodeLabel, advance: CodeLabel) -> Result<(), IcedError> {
    let (mut copy, mut elsewhere) = (a.create_label(), a.create_label());
    go_if_sure(a, copy, elsewhere)?;
    a.set_label(&mut copy)?;
    a.mov(rax, qword_ptr(rsi))?;
    a.mov(qword_ptr(r11), rax)?;
    a.add(r11, 8)?;
    a.add(rsi, 8)?;
    a.cmp(rsi, rdi)?;
    a.jb(copy)?;
    a.jmp(advance)?;
    a.set_label(&mut elsewhere)?;
    a.mov(rbx, r11)?;
    a.call(ways.kernel)?;
    a.jne(agent)?;
    a.sub(rdi, rsi)?;
    a.add(r11, rdi)?;
    a.jmp(advance)
}

/// Copies the bytes at rsi to behind the word at r11, which takes their length, and goes to `advance`. rdi says how many there is room
/// for.
fn copy_bytes(
    a: &mut CodeAssembler,
    end: End,
    ways: ReadWays,
    (agent, nothing, advance): (CodeLabel, CodeLabel, CodeLabel),
) -> Result<(), IcedError> {
    let (mut none, mut has_room, mut is_sure) = (a.create_label(), a.create_label(), a.create_label());
    let (mut elsewhere, mut copy, mut copied) = (a.create_label(), a.create_label(), a.create_label());
    a.movzx(eax, byte_ptr(r9 + packed::LENGTH))?;
    a.mov(rbx, base(end))?;
    a.test(rbx, rbx)?;
    a.jle(none)?;
    a.cmp(rsi, LOWEST)?;
    a.jb(nothing)?;
    a.mov(rax, rbx)?;
    a.cmp(rbx, rdi)?;
    a.jbe(has_room)?;
    a.mov(rbx, rdi)?;
    a.mov(rax, GOES_ON)?;
    a.or(rax, rdi)?;
    a.set_label(&mut has_room)?;
    a.mov(qword_ptr(r11), rax)?;
    // Whole words are copied where these are sure to be there.
    a.lea(rdi, qword_ptr(rbx + 7))?;
    a.and(rdi, -8)?;
    a.add(rdi, rsi)?;
    go_if_sure(a, is_sure, elsewhere)?;

    a.set_label(&mut is_sure)?;
    a.push(r11)?;
    a.set_label(&mut copy)?;
    a.mov(rax, qword_ptr(rsi))?;
    a.mov(qword_ptr(r11 + 8), rax)?;
    a.add(r11, 8)?;
    a.add(rsi, 8)?;
    a.cmp(rsi, rdi)?;
    a.jb(copy)?;
    // What the last word has beyond the end.
    a.xchg(rcx, rbx)?;
    a.neg(cl)?;
    a.and(cl, 7)?;
    a.shl(cl, 3)?;
    a.mov(rax, -1_i64)?;
    a.shr(rax, cl)?;
    a.and(qword_ptr(r11), rax)?;
    a.mov(rcx, rbx)?;
    a.pop(r11)?;
    a.jmp(copied)?;

    a.set_label(&mut elsewhere)?;
    a.lea(rdi, qword_ptr(rsi + rbx))?;
    a.lea(rbx, qword_ptr(r11 + 8))?;
    a.call(ways.kernel)?;
    a.jne(agent)?;
    a.jmp(copied)?;

    a.set_label(&mut none)?;
    a.mov(qword_ptr(r11), 0)?;
    a.set_label(&mut copied)?;
    a.movzx(eax, byte_ptr(r9 + packed::COUNT))?;
    a.lea(r11, qword_ptr(r11 + rax * 8))?;
    a.jmp(advance)
}

/// How many bytes of the record the text has, in rax.
fn bytes_of_text(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.movzx(eax, byte_ptr(r9 + packed::COUNT))?;
    a.shl(eax, 3)
}

/// Copies the text from rsi to rdi to behind the word at r11, which takes its length, and goes to `advance` with r11 behind it. What
/// is behind its end is not written: the record is zero.
fn copy_text(a: &mut CodeAssembler, ways: ReadWays, agent: CodeLabel, advance: CodeLabel) -> Result<(), IcedError> {
    let (mut word, mut elsewhere) = (a.create_label(), a.create_label());
    let (mut ends, mut cleared, mut clear) = (a.create_label(), a.create_label(), a.create_label());
    go_if_sure(a, word, elsewhere)?;
    a.set_label(&mut word)?;
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
    a.jmp(advance)?;

    a.set_label(&mut elsewhere)?;
    a.lea(rbx, qword_ptr(r11 + 8))?;
    a.call(ways.kernel)?;
    a.jne(agent)?;
    // It is where it belongs, and its end is yet to be found.
    a.sub(rdi, rsi)?;
    a.lea(rsi, qword_ptr(r11 + 8))?;
    a.add(rdi, rsi)?;
    a.jmp(word)
}

/// See [`ReadWays::kernel`].
fn kernel_read(a: &mut CodeAssembler) -> Result<(), IcedError> {
    let mut done = a.create_label();
    a.cmp(rdi, rsi)?;
    a.jbe(done)?;
    a.mov(rax, field(READ_AS))?;
    a.test(eax, eax)?;
    a.je(done)?;
    let kept = [rcx, rdx, r8, r9, r11, rdi, rsi];
    for register in kept {
        a.push(register)?;
    }
    // What is read, and where to.
    a.sub(rdi, rsi)?;
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
    for _ in 0..4 {
        a.pop(r10)?;
    }
    for register in kept.into_iter().rev() {
        a.pop(register)?;
    }
    a.mov(r10, ONES)?;
    // A child of vfork may not read by its parent's number.
    a.lea(rbx, qword_ptr(rsi + rax))?;
    a.cmp(rbx, rdi)?;
    a.ret()?;
    a.set_label(&mut done)?;
    a.or(eax, 1)?;
    a.ret()
}
