//! A thread's state, as stubs address it: through GS, by the offsets of its fields.

use std::mem::offset_of;

use ada_ring::ThreadState;
use ada_ring::state::OWNER_DISTANCE;
use iced_x86::IcedError;
use iced_x86::code_asm::{AsmMemoryOperand, AsmRegister64, CodeAssembler, qword_ptr};

use crate::StubOptions;

pub(super) const SHADOW_TOP: i32 = offset_of!(ThreadState, shadow_top) as i32;
pub(super) const SHADOW_LIMIT: i32 = offset_of!(ThreadState, shadow_limit) as i32;
pub(super) const MAY_GROW: i32 = offset_of!(ThreadState, may_grow) as i32;
pub(super) const RECORD_LIMIT: i32 = offset_of!(ThreadState, record_limit) as i32;
pub(super) const INDEX_POSITION: i32 = offset_of!(ThreadState, index_position) as i32;
pub(super) const DETAIL_POSITION: i32 = offset_of!(ThreadState, detail_position) as i32;
pub(super) const PROBE_POSITION: i32 = offset_of!(ThreadState, probe_position) as i32;
pub(super) const STACK_LOW: i32 = offset_of!(ThreadState, stack_low) as i32;
pub(super) const STACK_HIGH: i32 = offset_of!(ThreadState, stack_high) as i32;
pub(super) const SIGNAL_RETURN: i32 = offset_of!(ThreadState, signal_return) as i32;
pub(super) const FLOOR_COMPLEMENT: i32 = offset_of!(ThreadState, floor_complement) as i32;
pub(super) const COUNTERS: i32 = offset_of!(ThreadState, counters) as i32;
pub(super) const AGENT_STACK: i32 = offset_of!(ThreadState, agent_stack) as i32;
pub(super) const AGENT_STACK_BUSY: i32 = offset_of!(ThreadState, agent_stack_busy) as i32;
pub(super) const KEPT_STRETCH: i32 = offset_of!(ThreadState, kept_stretch) as i32;
pub(super) const KEPT_ROOM: i32 = offset_of!(ThreadState, kept_room) as i32;
pub(super) const PROGRAM_STACK: i32 = offset_of!(ThreadState, program_stack) as i32;
pub(super) const OWN_STACK_LOW: i32 = offset_of!(ThreadState, own_stack_low) as i32;
pub(super) const OWN_STACK_HIGH: i32 = offset_of!(ThreadState, own_stack_high) as i32;
pub(super) const LASTING: i32 = offset_of!(ThreadState, lasting) as i32;
pub(super) const READ_AS: i32 = offset_of!(ThreadState, read_as) as i32;
pub(super) const PROBES: i32 = offset_of!(ThreadState, probes) as i32;
pub(super) const CONTENTION: i32 = offset_of!(ThreadState, contention) as i32;
pub(super) const ERRNO_DISTANCE: i32 = offset_of!(ThreadState, errno_distance) as i32;
/// How many probed calls have been made, and those that have not returned.
pub(super) const PROBE_COUNT: i32 = offset_of!(ThreadState, probe_calls) as i32;
pub(super) const OPEN_PROBES: i32 = offset_of!(ThreadState, open_probes) as i32;
pub(super) const OWNER: i32 = -(OWNER_DISTANCE as i32);

/// A field of the thread's state.
pub(super) fn field(offset: i32) -> AsmMemoryOperand {
    qword_ptr(offset).gs()
}

/// Compares the thread with its state's owner.
pub(super) fn compare_owner(
    a: &mut CodeAssembler,
    scratch: AsmRegister64,
    options: &StubOptions,
) -> Result<(), IcedError> {
    if options.owner_by_word {
        a.mov(scratch, qword_ptr(0).fs())?;
    } else {
        a.rdfsbase(scratch)?;
    }
    a.cmp(scratch, field(OWNER))
}
