//! The code that records a call, which the plain stubs of an arena share.
//!
//! One copy, and not one for each function: a program that calls many functions would otherwise fill the processor's caches with
//! what is all the same.
//!
//! ```text
//! rsp+48  return slot
//! rsp+16  StubFrame
//! rsp+8   the function's number
//! rsp+0   return address of this call
//! ```
//!
//! It comes back with "equal" where the function is a signal handler whose call was recorded.

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_ring::AgentEntries;
use ada_ring::record::{HAS_DETAIL, IS_UNCAUGHT, RecordKind};
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, ecx, qword_ptr, rax, rcx, rdx, rsp};

use super::agent_call::way_into_agent;
use super::capture::Details;
use super::frame::{self, FRAME, RECORD};
use super::record::{FUNCTION, TOP_AND_KIND, kind_bits, reserve, stamp};
use super::saved;
use super::thread_state::{FLOOR_COMPLEMENT, RECORD_LIMIT, SHADOW_LIMIT, SHADOW_TOP, SIGNAL_RETURN, field};
use super::uncaught::{ask_for_room, catch_handlers};
use crate::StubOptions;

/// What lies below what the stub has saved: the function's number, and the way back.
const BELOW: i32 = 16;
const NUMBER: i32 = 8;
const SLOT: i32 = saved::SLOT + BELOW;

/// The way into the agent that puts the shadow stack in order before a call.
pub(super) fn way_to_fix(a: &mut CodeAssembler, table: RuntimeAddr) -> Result<CodeLabel, IcedError> {
    let mut way = a.create_label();
    a.set_label(&mut way)?;
    way_into_agent(a, RuntimeAddr(table.0 + offset_of!(AgentEntries, fix) as u64), false, BELOW)?;
    Ok(way)
}

/// Records a call, and pushes its frame.
pub(super) fn record_call(
    a: &mut CodeAssembler,
    [chunk, way_to_fix]: [CodeLabel; 2],
    details: &Details,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut fix, mut fixed, mut caught, mut reserved) =
        (a.create_label(), a.create_label(), a.create_label(), a.create_label());
    let (mut no_room, mut uncaught, mut overwritten) = (a.create_label(), a.create_label(), a.create_label());
    // A newest frame at or below our slot is dead, a probed call that goes on here, or on another stack.
    a.mov(rdx, field(SHADOW_TOP))?;
    slot_word(a)?;
    a.cmp(qword_ptr(rdx + frame::SLOT_WORD), rax)?;
    a.jae(fix)?;
    // What is below all that was seen of this stack may be on another one too.
    a.cmp(rax, field(FLOOR_COMPLEMENT))?;
    a.ja(fix)?;
    a.set_label(&mut fixed)?;
    a.cmp(rdx, field(SHADOW_LIMIT))?;
    a.jae(uncaught)?;
    a.set_label(&mut caught)?;
    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    push_frame(a, overwritten)?;
    // The record tells of the stack before the frame was pushed.
    let detail_bit = if options.detail.is_some() { HAS_DETAIL as i32 } else { 0 };
    a.lea(eax, dword_ptr(rdx + (RecordKind::Call as i32 - FRAME + detail_bit)))?;
    a.mov(dword_ptr(rcx + TOP_AND_KIND), eax)?;
    publish(a, details, options)?;
    a.mov(rax, qword_ptr(rsp + SLOT))?;
    a.cmp(rax, field(SIGNAL_RETURN))?;
    a.ret()?;

    a.set_label(&mut fix)?;
    a.call(way_to_fix)?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.jmp(fixed)?;
    a.set_label(&mut no_room)?;
    a.call(chunk)?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.jmp(reserved)?;
    a.set_label(&mut overwritten)?;
    a.sub(rdx, FRAME)?;
    a.jmp(reserved)?;
    a.set_label(&mut uncaught)?;
    ask_for_room(a, fix)?;
    record_uncaught(a, caught, chunk, details, options)
}

/// Records a call that the shadow stack has no room for, unless it is below the greatest depth. Goes to `caught` for a few signal
/// handlers.
fn record_uncaught(
    a: &mut CodeAssembler,
    caught: CodeLabel,
    chunk: CodeLabel,
    details: &Details,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut no_room, mut reserved, mut too_deep) = (a.create_label(), a.create_label(), a.create_label());
    a.cmp(rdx, field(RECORD_LIMIT))?;
    a.jae(too_deep)?;
    catch_handlers(a, SLOT, caught)?;
    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    a.mov(eax, dword_ptr(rsp + NUMBER))?;
    a.mov(dword_ptr(rcx + FUNCTION), eax)?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.lea(eax, dword_ptr(rdx + (kind_bits(RecordKind::EntryOnly, options) | IS_UNCAUGHT as i32)))?;
    a.mov(dword_ptr(rcx + TOP_AND_KIND), eax)?;
    publish(a, details, options)?;
    a.set_label(&mut too_deep)?;
    // The stack pointer is not 0: "not equal".
    a.test(rsp, rsp)?;
    a.ret()?;
    a.set_label(&mut no_room)?;
    a.call(chunk)?;
    a.jmp(reserved)
}

/// Pushes the frame of the function above the newest one in rdx, for the record reserved in rcx, and says in both which function it
/// is; leaves the frame's address in rdx. Goes to `overwritten` where a signal handler has used the memory before the top was moved:
/// see [`super::entry`].
fn push_frame(a: &mut CodeAssembler, overwritten: CodeLabel) -> Result<(), IcedError> {
    slot_word(a)?;
    a.mov(qword_ptr(rdx + FRAME + frame::SLOT_WORD), rax)?;
    a.mov(rax, qword_ptr(rsp + SLOT))?;
    a.mov(qword_ptr(rdx + FRAME + frame::RETURN_ADDRESS), rax)?;
    a.mov(eax, dword_ptr(rsp + NUMBER))?;
    a.mov(dword_ptr(rdx + FRAME + frame::FUNCTION), eax)?;
    a.mov(dword_ptr(rcx + FUNCTION), eax)?;
    a.mov(dword_ptr(rdx + FRAME + RECORD), ecx)?;
    slot_word(a)?;
    a.add(rdx, FRAME)?;
    a.mov(field(SHADOW_TOP), rdx)?;
    a.cmp(qword_ptr(rdx + frame::SLOT_WORD), rax)?;
    a.jne(overwritten)
}

/// Leaves in rax how a frame has its slot.
fn slot_word(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.lea(rax, qword_ptr(rsp + SLOT))?;
    a.not(rax)
}

/// Publishes the record in rcx, with registers where there are to be any.
fn publish(a: &mut CodeAssembler, details: &Details, options: &StubOptions) -> Result<(), IcedError> {
    match &options.detail {
        Some(_) => details.capture_call(a, BELOW - NUMBER),
        None => stamp(a),
    }
}
