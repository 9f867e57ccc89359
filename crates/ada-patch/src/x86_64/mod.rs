//! What is x86-64 in planning and patching.

mod code_facts;
mod code_reads;
mod displaced;
mod errno;
mod exits;
mod flags;
mod futex;
mod jump;
mod known_code;
mod leaves;
mod listing;
mod pieces;
mod relays;
mod site;
mod stack_check;
mod stub;
mod task_completion;
mod thread_result;

pub use code_facts::CodeFacts;
pub(crate) use code_reads::CodeReads;
pub use displaced::Displaced;
pub(crate) use displaced::address_push;
pub use errno::errno_place;
pub(crate) use exits::{MOST_INSTRUCTIONS, can_be_shared, instruction_number, relocate};
pub(crate) use flags::flags_are_dead;
pub use futex::futex_call;
pub(crate) use jump::{JUMP_BYTES, SHORT_JUMP_BYTES, push_jump, short_jump};
pub(crate) use known_code::{
    MARKER_BYTES, fenced, has_pushed_arguments, is_import_stub, is_signal_return, marker_bytes, nop_bytes,
    padding_lengths, spins,
};
pub(crate) use pieces::{Branch, read_piece};
pub use relays::Relays;
pub(crate) use site::{Site, stack_check};
pub(crate) use stack_check::{branch_targets, leaves_by_jump, stack_check_bytes};
pub(crate) use stub::{External, SharedCode, StubTemplate, stub_bytes};
pub use task_completion::{addresses_taken, error_use};
pub use thread_result::thread_result_distance;

/// Why code could not be assembled.
pub(crate) type AssemblyError = iced_x86::IcedError;
