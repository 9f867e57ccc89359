//! Code that copies memory into the record of a probed call: by eight bytes at a time where all of them are sure to be there, else by
//! one system call.
//!
//! r9 is the read as it lies in the probe's table, r11 where its words go; r10 and r12 are [`ONES`] and [`HIGHEST`].

use std::mem::offset_of;

use ada_ring::lasting::LastingRange;
use ada_ring::probe::{GOES_ON, packed};
use iced_x86::IcedError;
use iced_x86::code_asm::{
    AsmMemoryOperand, CodeAssembler, CodeLabel, byte_ptr, cl, eax, ebx, edx, qword_ptr, r8, r8d, r9, r9d, r10, r11,
    r12, rax, rbx, rcx, rdi, rdx, rsi, rsp,
};

use super::agent_call::VECTORS;
use super::thread_state::{LASTING, OWN_STACK_HIGH, OWN_STACK_LOW, READ_AS, field};

const START: i32 = offset_of!(LastingRange, start) as i32;
const END: i32 = offset_of!(LastingRange, end) as i32;
const RANGE: i32 = size_of::<LastingRange>() as i32;
/// A byte of each word's bytes: 1, and the highest bit.
pub(super) const ONES: u64 = 0x0101_0101_0101_0101;
pub(super) const HIGHEST: u64 = ONES << 7;
const PROCESS_VM_READV: i32 = 310;
/// Nothing is below: null, and what null would have at an offset.
pub(super) const LOWEST: i32 = 4096;

/// Goes to `sure` where all from rsi to rdi is certain to be there, else to `elsewhere`. See `ada-agent/src/lasting.rs`. Changes rax.
pub(super) fn go_if_sure(a: &mut CodeAssembler, sure: CodeLabel, elsewhere: CodeLabel) -> Result<(), IcedError> {
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
pub(super) fn copy_vector(
    a: &mut CodeAssembler,
    count: usize,
    agent: CodeLabel,
    advance: CodeLabel,
) -> Result<(), IcedError> {
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
pub(super) fn copy_words(
    a: &mut CodeAssembler,
    kernel: CodeLabel,
    agent: CodeLabel,
    advance: CodeLabel,
) -> Result<(), IcedError> {
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
    a.call(kernel)?;
    a.jne(agent)?;
    a.sub(rdi, rsi)?;
    a.add(r11, rdi)?;
    a.jmp(advance)
}

/// Copies the bytes at rsi to behind the word at r11, which takes their length, and goes to `advance`. rdi says how many there is room
/// for, and `length`, with its number in rax, where their number is.
pub(super) fn copy_bytes(
    a: &mut CodeAssembler,
    length: AsmMemoryOperand,
    kernel: CodeLabel,
    (agent, nothing, advance): (CodeLabel, CodeLabel, CodeLabel),
) -> Result<(), IcedError> {
    let (mut none, mut has_room, mut is_sure) = (a.create_label(), a.create_label(), a.create_label());
    let (mut elsewhere, mut copy, mut copied) = (a.create_label(), a.create_label(), a.create_label());
    a.movzx(eax, byte_ptr(r9 + packed::LENGTH))?;
    a.mov(rbx, length)?;
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
    a.call(kernel)?;
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
pub(super) fn copy_text(
    a: &mut CodeAssembler,
    kernel: CodeLabel,
    agent: CodeLabel,
    advance: CodeLabel,
) -> Result<(), IcedError> {
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
    a.call(kernel)?;
    a.jne(agent)?;
    // It is where it belongs, and its end is yet to be found.
    a.sub(rdi, rsi)?;
    a.lea(rsi, qword_ptr(r11 + 8))?;
    a.add(rdi, rsi)?;
    a.jmp(word)
}

/// The kernel copies what is from rsi to rdi to rbx; "equal" where it has copied all of it. Keeps all but rax, rbx and r10, which is
/// [`ONES`] again.
pub(super) fn kernel_read(a: &mut CodeAssembler) -> Result<(), IcedError> {
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
