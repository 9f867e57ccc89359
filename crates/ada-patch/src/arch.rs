//! The seam to the processor. Each architecture has a folder with the same file names and the same items.

#[cfg(target_arch = "x86_64")]
pub(crate) use crate::x86_64::{
    AssemblyError, Branch, External, JUMP_BYTES, SHORT_JUMP_BYTES, SharedCode, Site, StubTemplate, flags_are_dead,
    has_pushed_arguments, is_signal_return, marker_bytes, nop_bytes, push_jump, read_piece, short_jump,
};
#[cfg(target_arch = "x86_64")]
pub use crate::x86_64::{Displaced, Relays};
