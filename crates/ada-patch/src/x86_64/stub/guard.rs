//! What a stub looks at to find out whether a call is of interest to its probe. The function is about to read this memory too: if it
//! cannot be read, the program has its fault here.
//!
//! The record is reserved in rcx by then, and rdx has the newest frame.

use ada_ring::contention::{MARK_BITS, STRETCH_SHIFT, STRETCHES};
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, ecx, edi, qword_ptr, rax, rcx, rdi, rdx};

use super::template::{BITS_PLACEHOLDER, OFFSET_PLACEHOLDERS, USUAL_PLACEHOLDER};
use super::thread_state::{CONTENTION, field};

/// In a mutex of glibc's: who has it, …
const MUTEX_OWNER: i32 = 8;
/// … and its kind. The lock word comes first.
const MUTEX_KIND: i32 = 16;
/// Bits of the kind: robust, and handing priorities on. The lock word is the owner's id then.
const OWNED_KINDS: i32 = 16 | 32;

/// Goes to `is_usual` where both half words behind the first argument are what they usually are.
pub(super) fn leave_if_usual(a: &mut CodeAssembler, is_usual: CodeLabel) -> Result<(), IcedError> {
    let mut is_of_interest = a.create_label();
    let [first, second] = OFFSET_PLACEHOLDERS;
    compare_usual(a, first)?;
    a.jne(is_of_interest)?;
    compare_usual(a, second)?;
    a.je(is_usual)?;
    a.set_label(&mut is_of_interest)
}

/// Compares the half word so far behind the first argument with what it usually is.
fn compare_usual(a: &mut CodeAssembler, offset: i32) -> Result<(), IcedError> {
    a.mov(eax, offset)?;
    a.mov(eax, dword_ptr(rdi + rax))?;
    a.xor(eax, USUAL_PLACEHOLDER)?;
    a.test(eax, BITS_PLACEHOLDER)
}

/// Goes to `is_not` where the mutex is of another kind, or is not contended and was not of late; else marks it.
///
/// A mark comes before what the function then does to the mutex, and with that the processor lets others see both. So whoever lets go of
/// a mutex after another thread was found to wait for it sees the mark, or that thread's bit.
pub(super) fn leave_if_uncontended(a: &mut CodeAssembler, is_not: CodeLabel) -> Result<(), IcedError> {
    let (mut look_at_time, mut decided) = (a.create_label(), a.create_label());
    a.test(dword_ptr(rdi + MUTEX_KIND), OWNED_KINDS)?;
    a.je(is_not)?;
    a.push(rcx)?;
    a.push(rdx)?;
    a.mov(ecx, edi)?;
    a.and(ecx, MARK_BITS as i32)?;
    a.add(rcx, field(CONTENTION))?;
    a.mov(eax, dword_ptr(rdi))?;
    a.or(eax, dword_ptr(rdi + MUTEX_OWNER))?;
    a.and(eax, BITS_PLACEHOLDER)?;
    a.jne(look_at_time)?;
    // What was never contended does not need the time.
    a.cmp(qword_ptr(rcx), 0)?;
    a.je(decided)?;
    a.set_label(&mut look_at_time)?;
    a.push(rax)?;
    a.rdtsc()?;
    a.shl(rdx, 32)?;
    a.or(rdx, rax)?;
    a.shr(rdx, STRETCH_SHIFT)?;
    a.pop(rax)?;
    decide(a, decided)?;
    a.set_label(&mut decided)?;
    a.pop(rdx)?;
    a.pop(rcx)?;
    a.test(eax, eax)?;
    a.je(is_not)
}

/// Marks the mutex for the stretch in rdx if it is contended, which eax says, or was of late, which eax says then; rcx has the mark's address.
fn decide(a: &mut CodeAssembler, decided: CodeLabel) -> Result<(), IcedError> {
    let mut mark = a.create_label();
    a.test(eax, eax)?;
    a.jne(mark)?;
    // Clocks of two processors may be a little apart: the mark may be of the next stretch.
    a.mov(rax, rdx)?;
    a.sub(rax, qword_ptr(rcx))?;
    a.add(rax, 1)?;
    a.cmp(rax, STRETCHES as i32 + 1)?;
    a.mov(eax, 0)?;
    a.ja(decided)?;
    a.mov(eax, 1)?;
    a.set_label(&mut mark)?;
    // Others read it all the time.
    a.cmp(qword_ptr(rcx), rdx)?;
    a.je(decided)?;
    a.mov(qword_ptr(rcx), rdx)
}
