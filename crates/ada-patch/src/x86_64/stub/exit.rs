//! The return path: where caught functions come back to.

use ada_event::RuntimeAddr;
use ada_ring::RecordKind;
use ada_ring::shadow_frame::FRAME_RETURNING;
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, qword_ptr, rax, rcx, rdx, rsp};

use super::agent_call::way_into_agent;
use super::capture::Details;
use super::frame::{self, FRAME, RECORD};
use super::record::{FUNCTION, TOP_AND_KIND, kind_bits, reserve, stamp};
use super::saved::{SLOT, restore, save};
use super::thread_state::{SHADOW_TOP, compare_owner, field};
use crate::StubOptions;

/// Where a caught function comes back to: records the return and goes to the real return address.
///
/// rsp is what the callee left. The slot is below it, and is made again so that the final `ret` is predicted.
pub(super) fn return_path(
    a: &mut CodeAssembler,
    chunk: CodeLabel,
    returned: RuntimeAddr,
    details: &Details,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut rare, mut no_room, mut reserved) = (a.create_label(), a.create_label(), a.create_label());
    a.lea(rsp, qword_ptr(rsp - 8))?;
    save(a)?;
    compare_owner(a, rax, options)?;
    a.jne(rare)?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.lea(rax, qword_ptr(rsp + SLOT))?;
    a.not(rax)?;
    a.cmp(qword_ptr(rdx + frame::SLOT_WORD), rax)?;
    a.jne(rare)?;
    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    // From here on the frame tells where its return's record is, should a handler jump away before it is written.
    a.lea(eax, dword_ptr(rcx + FRAME_RETURNING as i32))?;
    a.mov(dword_ptr(rdx + RECORD), eax)?;
    a.mov(eax, dword_ptr(rdx + frame::FUNCTION))?;
    a.mov(dword_ptr(rcx + FUNCTION), eax)?;
    a.lea(eax, dword_ptr(rdx + kind_bits(RecordKind::Return, options)))?;
    a.mov(dword_ptr(rcx + TOP_AND_KIND), eax)?;
    a.mov(rax, qword_ptr(rdx + frame::RETURN_ADDRESS))?;
    a.mov(qword_ptr(rsp + SLOT), rax)?;
    a.sub(rdx, FRAME)?;
    a.mov(field(SHADOW_TOP), rdx)?;
    let mut detail = a.create_label();
    if options.detail.is_some() {
        a.call(detail)?;
    } else {
        stamp(a)?;
    }
    restore(a)?;
    a.ret()?;
    if let Some(shape) = options.detail {
        a.set_label(&mut detail)?;
        details.back(a, &shape)?;
    }
    a.set_label(&mut no_room)?;
    a.call(chunk)?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.jmp(reserved)?;
    a.set_label(&mut rare)?;
    leave_to_agent(a, returned)
}

/// A return path that is the agent's alone.
pub(super) fn agent_return(a: &mut CodeAssembler, returned: RuntimeAddr) -> Result<(), IcedError> {
    a.lea(rsp, qword_ptr(rsp - 8))?;
    save(a)?;
    leave_to_agent(a, returned)
}

/// Has the agent put the real return address into the slot, and goes there.
fn leave_to_agent(a: &mut CodeAssembler, returned: RuntimeAddr) -> Result<(), IcedError> {
    let mut agent = a.create_label();
    a.call(agent)?;
    restore(a)?;
    a.ret()?;
    a.set_label(&mut agent)?;
    way_into_agent(a, returned, false)
}
