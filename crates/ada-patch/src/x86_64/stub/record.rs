//! Index records, as stubs write them: room is reserved first, the time stamp stored last.

use std::mem::offset_of;

use ada_ring::chunk::PAST_END_MASK;
use ada_ring::record::HAS_DETAIL;
use ada_ring::{RawRecord, RecordKind};
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, ecx, qword_ptr, rax, rcx, rdx};

use super::thread_state::{INDEX_POSITION, field};
use crate::StubOptions;

const TIME: i32 = offset_of!(RawRecord, tsc) as i32;
pub(super) const FUNCTION: i32 = offset_of!(RawRecord, function) as i32;
pub(super) const TOP_AND_KIND: i32 = offset_of!(RawRecord, top_and_kind) as i32;

/// Leaves the address of the next record in rcx; jumps to `no_room` where the chunk is full. Clobbers rax.
pub(super) fn reserve(a: &mut CodeAssembler, no_room: CodeLabel) -> Result<(), IcedError> {
    a.mov(ecx, RawRecord::SIZE as i32)?;
    a.xadd(field(INDEX_POSITION), rcx)?;
    test_room(a)?;
    a.je(no_room)
}

/// Sets "equal" where the reservation in rcx lies in its chunk's last page, past the records. Clobbers rax.
pub(super) fn test_room(a: &mut CodeAssembler) -> Result<(), IcedError> {
    // A page further on, bits that were all set are all clear.
    a.lea(eax, dword_ptr(rcx + (1 << PAST_END_MASK.trailing_zeros())))?;
    a.test(eax, PAST_END_MASK as i32)
}

/// Reads the clock and publishes the record at rcx with it. Clobbers rax and rdx.
pub(super) fn stamp(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.rdtsc()?;
    a.shl(rdx, 32)?;
    a.or(rax, rdx)?;
    a.mov(qword_ptr(rcx + TIME), rax)
}

/// A record's kind, with the mark that says whether registers come with it.
pub(super) fn kind_bits(kind: RecordKind, options: &StubOptions) -> i32 {
    if options.detail.is_some() { kind as i32 | HAS_DETAIL as i32 } else { kind as i32 }
}
