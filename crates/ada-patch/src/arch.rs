//! The seam to the processor. Each architecture has a folder with the same file names and the same items.

#[cfg(target_arch = "x86_64")]
pub(crate) use crate::x86_64::{
    AssemblyError, Branch, CodeReads, External, JUMP_BYTES, MARKER_BYTES, MOST_INSTRUCTIONS, SHORT_JUMP_BYTES,
    SharedCode, Site, StubTemplate, address_push, branch_targets, can_be_shared, fenced, flags_are_dead,
    has_pushed_arguments, instruction_number, is_import_stub, is_signal_return, leaves_by_jump, marker_bytes,
    nop_bytes, padding_lengths, push_jump, read_piece, relocate, short_jump, spins, stack_check, stack_check_bytes,
    stub_bytes,
};
#[cfg(target_arch = "x86_64")]
pub use crate::x86_64::{
    CodeFacts, Displaced, Relays, addresses_taken, errno_place, error_use, futex_call, thread_result_distance,
};
