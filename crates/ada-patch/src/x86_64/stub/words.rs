//! Code that captures a call's registers and the words that its first argument points at, without the agent.
//!
//! It is called as [`super::capture`]'s code is, with the record's address in rcx; eax says which probe this is. The function is
//! about to use the first of these words itself, so that the page that this is in is there: if it is not, the program has its fault
//! here. Where the words go on in another page, the agent reads them.
//!
//! The clock is read before the words: whoever is seen to have a lock has it then or takes it later, and can only let go of it
//! later.
//!
//! ```text
//! rsp+56  return slot
//! rsp+24  StubFrame
//! rsp+16  return address of this call
//! rsp+8   the probe's number
//! rsp+0   r8
//! ```

use std::mem::offset_of;

use ada_ring::detail;
use ada_ring::probe::RawProbe;
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, edi, qword_ptr, r8, rax, rcx, rdi, rsp};

use super::capture::{CALL_VECTORS, Details, SAVED, SLOT, mark_and_stamp};
use crate::WORDS_BEHIND;

const WORD: i32 = 8;
const PAGE: i32 = 4096;
const BYTES: i32 = WORD * WORDS_BEHIND as i32;
const WORDS: i32 = offset_of!(RawProbe, words) as i32;
const COUNT: i32 = offset_of!(RawProbe, count) as i32;

/// Captures a call. `details` are those of probes, `way` leads to what reads for a probe into such a record.
pub(super) fn call(a: &mut CodeAssembler, details: &Details, way: CodeLabel) -> Result<(), IcedError> {
    let (mut agent, mut captured) = (a.create_label(), a.create_label());
    a.push(rax)?;
    a.push(r8)?;
    details.reserve(a)?;
    details.call_registers(a, SAVED + WORD, (qword_ptr(rsp), None), SLOT + WORD)?;
    details.copy_window(a, SLOT + WORD)?;
    details.copy_vectors(a, CALL_VECTORS)?;
    a.mov(eax, edi)?;
    a.and(eax, PAGE - 1)?;
    a.cmp(eax, PAGE - BYTES)?;
    a.ja(agent)?;
    for at in (0..BYTES).step_by(WORD as usize) {
        a.mov(rax, qword_ptr(rdi + at))?;
        a.mov(qword_ptr(rcx + WORDS + at), rax)?;
    }
    a.mov(qword_ptr(rcx + COUNT), WORDS_BEHIND as i32)?;
    a.set_label(&mut captured)?;
    mark_and_stamp(a, detail::CALL)?;
    a.pop(r8)?;
    a.pop(rax)?;
    a.ret()?;
    a.set_label(&mut agent)?;
    a.mov(eax, dword_ptr(rsp + WORD))?;
    a.call(way)?;
    a.jmp(captured)
}
