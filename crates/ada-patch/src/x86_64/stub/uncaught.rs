//! Calls that the shadow stack has no room for.

use ada_ring::RecordKind;
use ada_ring::record::IS_UNCAUGHT;
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, rax, rcx, rdx};

use super::record::{FUNCTION, TOP_AND_KIND, kind_bits, reserve, stamp};
use super::thread_state::{RECORD_LIMIT, SHADOW_TOP, field};
use crate::StubOptions;

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
