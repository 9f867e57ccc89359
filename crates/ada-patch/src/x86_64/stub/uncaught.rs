//! Calls that the shadow stack has no room for.

use ada_ring::RecordKind;
use ada_ring::record::IS_UNCAUGHT;
use ada_ring::state::HANDLER_FRAMES;
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, qword_ptr, rax, rcx, rdx, rsp};

use super::frame::FRAME;
use super::record::{FUNCTION, TOP_AND_KIND, kind_bits, reserve, stamp};
use super::thread_state::{MAY_GROW, RECORD_LIMIT, SHADOW_LIMIT, SHADOW_TOP, SIGNAL_RETURN, field};
use crate::StubOptions;

/// Goes to `fix`, where the agent looks, if there may be more room. That is asked once, and then no more until the agent says so.
pub(super) fn ask_for_room(a: &mut CodeAssembler, fix: CodeLabel) -> Result<(), IcedError> {
    let mut is_none = a.create_label();
    a.cmp(field(MAY_GROW), 0)?;
    a.je(is_none)?;
    a.mov(field(MAY_GROW), 0)?;
    a.jmp(fix)?;
    a.set_label(&mut is_none)?;
    a.nop()
}

/// Goes to `caught` where the function is a signal handler, and the room that is kept for a few of these remains: what they see is to be
/// put right, and so their exits have to be seen. rdx has the shadow stack's top; the return slot is at rsp + `slot`.
pub(super) fn catch_handlers(a: &mut CodeAssembler, slot: i32, caught: CodeLabel) -> Result<(), IcedError> {
    let mut is_none = a.create_label();
    a.mov(rax, qword_ptr(rsp + slot))?;
    a.cmp(rax, field(SIGNAL_RETURN))?;
    a.jne(is_none)?;
    a.cmp(rdx, field(RECORD_LIMIT))?;
    a.jae(is_none)?;
    a.mov(rax, field(SHADOW_LIMIT))?;
    a.add(rax, HANDLER_FRAMES as i32 * FRAME)?;
    a.cmp(rdx, rax)?;
    a.jb(caught)?;
    a.set_label(&mut is_none)?;
    a.nop()
}

/// Records a call whose return is not caught; `detail` captures registers. The function's number is in eax, the shadow stack's top in rdx. Called from
/// a stub, so the way into the agent finds its return slot one word further up than usual; it does not use it there.
pub(super) fn record_entry_only(
    a: &mut CodeAssembler,
    chunk: CodeLabel,
    detail: CodeLabel,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut no_room, mut reserved, mut too_deep) = (a.create_label(), a.create_label(), a.create_label());
    a.cmp(rdx, field(RECORD_LIMIT))?;
    a.jae(too_deep)?;
    a.push(rax)?;
    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    a.pop(rax)?;
    a.mov(dword_ptr(rcx + FUNCTION), eax)?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.lea(eax, dword_ptr(rdx + (kind_bits(RecordKind::EntryOnly, options) | IS_UNCAUGHT as i32)))?;
    a.mov(dword_ptr(rcx + TOP_AND_KIND), eax)?;
    if options.detail.is_some() {
        a.call(detail)?;
    } else {
        stamp(a)?;
    }
    a.set_label(&mut too_deep)?;
    a.ret()?;
    a.set_label(&mut no_room)?;
    a.call(chunk)?;
    a.jmp(reserved)
}
