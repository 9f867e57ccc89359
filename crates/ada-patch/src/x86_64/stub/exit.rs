//! The code at the ways out of functions, which all of an arena's exits share.
//!
//! Where it begins, the stack is as the function leaves it: the return slot is on top, or one word further up where the
//! code was called. Whose return it is the newest shadow frame tells. A newest frame that is older than this one says that
//! the call was not recorded, and there is nothing to do; one that is newer is dead, or on another stack, and the agent
//! looks. The program's stack is only read.

use ada_ring::ShadowFrame;
use ada_ring::record::{IS_PROBED, IS_TAIL, RecordKind};
use ada_ring::shadow_frame::{FRAME_KEEPS_RESULT, FRAME_RETURNING};
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, qword_ptr, rax, rcx, rdx, rsp};

use super::super::exits::RED_ZONE;
use super::capture::Details;
use super::frame::{self, FRAME, RECORD};
use super::record::{FUNCTION, TOP_AND_KIND, kind_bits, reserve, stamp};
use super::saved::{SLOT, restore, save};
use super::thread_state::{FLOOR_COMPLEMENT, SHADOW_TOP, compare_owner, field};
use crate::StubOptions;

/// Where the return slot is for code that was called: the way back lies below it.
const SLOT_OF_CALLED: i32 = SLOT + 8;
/// The same for code that was called below what a function may keep under its stack pointer.
const SLOT_OF_CALLED_BELOW: i32 = SLOT_OF_CALLED + RED_ZONE;

/// What is called in place of a `ret`.
pub(super) struct Called {
    /// Reserves a record where the chunk is full.
    pub(super) chunk: CodeLabel,
    /// The way into the agent.
    pub(super) agent: CodeLabel,
    /// Captures registers.
    pub(super) details: Details,
    /// Keeps what a probe is about, whose number is in eax.
    pub(super) result: CodeLabel,
}

/// Jumped to in place of a `ret`.
pub(super) fn returns(a: &mut CodeAssembler, called: &Called, options: &StubOptions) -> Result<(), IcedError> {
    let (mut other, no_room, mut reserved) = (a.create_label(), a.create_label(), a.create_label());
    let (mut rare, mut pass) = (a.create_label(), a.create_label());
    let (no_room_for_result, mut reserved_for_result) = (a.create_label(), a.create_label());
    save(a)?;
    compare_owner(a, rax, options)?;
    a.jne(rare)?;
    compare_newest(a, SLOT)?;
    a.jne(other)?;
    // A probed call that went on in this function returns with it.
    a.cmp(qword_ptr(rdx + (frame::SLOT_WORD - FRAME)), rax)?;
    a.ja(rare)?;
    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    end_newest(a, kind_bits(RecordKind::Return, options))?;
    if options.detail.is_some() {
        called.details.capture_return(a)?;
    } else {
        stamp(a)?;
    }
    a.set_label(&mut pass)?;
    restore(a)?;
    a.ret()?;

    a.set_label(&mut other)?;
    skip_if_unrecorded(a, pass)?;
    // The newest frame may be a probed call that is this one, of whose return the agent keeps nothing.
    a.inc(rax)?;
    a.cmp(qword_ptr(rdx + frame::SLOT_WORD), rax)?;
    a.jne(rare)?;
    a.mov(eax, dword_ptr(rdx + RECORD))?;
    a.and(eax, ShadowFrame::FLAGS as i32)?;
    a.cmp(eax, FRAME_KEEPS_RESULT as i32)?;
    a.jne(rare)?;
    reserve(a, no_room_for_result)?;
    a.set_label(&mut reserved_for_result)?;
    // Once the frame is taken out, a handler may write to it.
    a.push(qword_ptr(rdx + frame::PROBE))?;
    end_newest(a, RecordKind::Return as i32 + IS_PROBED as i32)?;
    a.pop(rax)?;
    a.call(called.result)?;
    compare_newest(a, SLOT)?;
    a.ja(rare)?;
    a.jmp(pass)?;

    a.set_label(&mut rare)?;
    a.call(called.agent)?;
    a.jmp(pass)?;
    for (mut no_room, reserved) in [(no_room, reserved), (no_room_for_result, reserved_for_result)] {
        a.set_label(&mut no_room)?;
        a.call(called.chunk)?;
        a.mov(rdx, field(SHADOW_TOP))?;
        a.jmp(reserved)?;
    }
    Ok(())
}

/// Called before a `ret n`. The agent does all that is to be done.
pub(super) fn before_return(a: &mut CodeAssembler, agent: CodeLabel, options: &StubOptions) -> Result<(), IcedError> {
    let (mut pass, mut rare, mut other) = (a.create_label(), a.create_label(), a.create_label());
    save(a)?;
    compare_owner(a, rax, options)?;
    a.jne(rare)?;
    compare_newest(a, SLOT_OF_CALLED)?;
    a.jne(other)?;
    a.set_label(&mut rare)?;
    a.lea(rcx, qword_ptr(rsp + SLOT_OF_CALLED))?;
    a.call(agent)?;
    a.set_label(&mut pass)?;
    restore(a)?;
    a.ret()?;
    a.set_label(&mut other)?;
    skip_if_unrecorded(a, pass)?;
    a.jmp(rare)
}

/// Called before a jump into another function: the frame ends here.
pub(super) fn before_tail(
    a: &mut CodeAssembler,
    chunk: CodeLabel,
    agent: CodeLabel,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut pass, mut rare) = (a.create_label(), a.create_label());
    let (mut other, mut no_room, mut reserved) = (a.create_label(), a.create_label(), a.create_label());
    save(a)?;
    compare_owner(a, rax, options)?;
    a.jne(rare)?;
    compare_newest(a, SLOT_OF_CALLED_BELOW)?;
    a.jne(other)?;
    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    end_newest(a, RecordKind::Return as i32 + IS_TAIL as i32)?;
    stamp(a)?;
    a.set_label(&mut pass)?;
    restore(a)?;
    a.ret()?;
    a.set_label(&mut other)?;
    skip_if_unrecorded(a, pass)?;
    a.set_label(&mut rare)?;
    a.lea(rcx, qword_ptr(rsp + SLOT_OF_CALLED_BELOW))?;
    a.call(agent)?;
    a.jmp(pass)?;
    a.set_label(&mut no_room)?;
    a.call(chunk)?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.jmp(reserved)
}

/// Takes the newest frame, in rdx, off the shadow stack, and fills the record in rcx but for the time.
fn end_newest(a: &mut CodeAssembler, kind: i32) -> Result<(), IcedError> {
    // From here on the frame tells where its return's record is, should a handler jump away before it is written.
    a.lea(eax, dword_ptr(rcx + FRAME_RETURNING as i32))?;
    a.mov(dword_ptr(rdx + RECORD), eax)?;
    a.mov(eax, dword_ptr(rdx + frame::FUNCTION))?;
    a.mov(dword_ptr(rcx + FUNCTION), eax)?;
    a.lea(eax, dword_ptr(rdx + kind))?;
    a.mov(dword_ptr(rcx + TOP_AND_KIND), eax)?;
    a.sub(rdx, FRAME)?;
    a.mov(field(SHADOW_TOP), rdx)
}

/// Compares the newest frame's slot word with that of the slot at rsp + `slot`; leaves the frame's address in rdx.
fn compare_newest(a: &mut CodeAssembler, slot: i32) -> Result<(), IcedError> {
    a.mov(rdx, field(SHADOW_TOP))?;
    a.lea(rax, qword_ptr(rsp + slot))?;
    a.not(rax)?;
    a.cmp(qword_ptr(rdx + frame::SLOT_WORD), rax)
}

/// After [`compare_newest`]: goes to `pass` where the newest frame is an older call of the stack that the thread is on.
fn skip_if_unrecorded(a: &mut CodeAssembler, pass: CodeLabel) -> Result<(), IcedError> {
    let mut newer = a.create_label();
    a.ja(newer)?;
    a.cmp(rax, field(FLOOR_COMPLEMENT))?;
    a.jbe(pass)?;
    a.set_label(&mut newer)?;
    a.nop()
}
