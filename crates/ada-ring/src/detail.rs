//! What a stub captures beside an event when detail is on: registers, and on a call a window of the stack.
//!
//! Records of one session have one size, the *stride*, so that any of them can be found without reading the others.
//! They are written like index records: everything else first, the mark last.

use crate::arch::CallRegisters;

/// A record's fixed part, as the stubs write it; stack bytes follow a call's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RawDetail {
    /// [`CALL`], [`RETURN`] or [`MORE`]; 0 means that the record is reserved and not written yet.
    pub mark: u32,
    /// The function's number in its process.
    pub function: u32,
    /// The time stamp of the event that the record belongs to; no two events of a thread have the same.
    pub tsc: u64,
    /// On a call [`CallRegisters`]; on a return [`crate::arch::ReturnRegisters`].
    pub registers: [u64; CallRegisters::WORDS],
    /// Where the function returns to.
    pub return_address: u64,
    /// The frame pointer.
    pub frame_pointer: u64,
    /// On a call the address of the return slot, on a return what the stack pointer is afterwards.
    pub stack_pointer: u64,
    /// How many stack bytes are there: fewer than asked for where the stack ends. Of a probe, perhaps [`WITHOUT_VECTORS`].
    pub stack_bytes: u64,
}

/// The mark of a call.
pub const CALL: u32 = 1;
/// The mark of a return.
pub const RETURN: u32 = 2;
/// The mark of words that the probe's record before has no room for.
pub const MORE: u32 = 3;

/// Beside the stack bytes of a probe: its vector registers are not known.
pub const WITHOUT_VECTORS: u64 = 1 << 32;

/// The largest stack window.
pub const MAX_WINDOW: usize = 512;

impl RawDetail {
    /// Bytes before the stack's.
    pub const SIZE: usize = size_of::<Self>();
}

const _: () = {
    assert!(RawDetail::SIZE == 104);
    // A reader takes the first word for the mark, which is in its low half.
    assert!(core::mem::offset_of!(RawDetail, mark) == 0);
};
