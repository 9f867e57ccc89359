//! What a stub captures beside an event when detail is on: registers, and on a call a window of the stack.
//!
//! Records of one session have one size, the *stride*, so that any of them can be found without reading the others.
//! They are written like index records: everything else first, the mark last.

use crate::arch::{CallRegisters, VECTOR_BYTES};
use crate::probe::RawProbe;

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

/// What the detail records of a session hold beside [`RawDetail`]: the stack window, then vector registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DetailShape {
    /// Bytes of the stack that are captured with a call.
    pub window: usize,
    /// Whether vector registers are captured.
    pub vectors: bool,
    /// Whether records of probes hold the same behind their words. All records of probes are written, so they do not where the
    /// detail of other functions is written only around triggers.
    pub probes_too: bool,
}

/// Where things lie in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    /// Bytes of the stack that are captured with a call, …
    pub window: usize,
    /// … and where.
    pub window_at: usize,
    /// Where vector registers are, if they are captured.
    pub vectors_at: Option<usize>,
    /// Bytes from one record to the next.
    pub stride: usize,
}

impl DetailShape {
    /// Of detail records.
    pub const fn layout(&self) -> RecordLayout {
        RecordLayout::behind(RawDetail::SIZE, self.window, self.vectors)
    }

    /// Of probes' records.
    pub const fn probe_layout(&self) -> RecordLayout {
        let window = if self.probes_too { self.window } else { 0 };
        RecordLayout::behind(RawProbe::SIZE, window, self.vectors && self.probes_too)
    }
}

impl RecordLayout {
    const fn behind(fixed: usize, window: usize, vectors: bool) -> Self {
        let end = (fixed + window.next_multiple_of(8)).next_multiple_of(16);
        let (vectors_at, stride) = if vectors { (Some(end), end + VECTOR_BYTES) } else { (None, end) };
        Self { window, window_at: fixed, vectors_at, stride }
    }

    /// Bytes behind what every record has.
    pub const fn tail(&self) -> usize {
        self.stride - self.window_at
    }
}

const _: () = {
    assert!(RawDetail::SIZE == 104);
    // A reader takes the first word for the mark, which is in its low half.
    assert!(core::mem::offset_of!(RawDetail, mark) == 0);
    // A record that starts before a chunk's slack ends before its header.
    let largest = DetailShape { window: MAX_WINDOW, vectors: true, probes_too: true };
    assert!(crate::chunk::RECORDS_END + largest.layout().stride <= crate::chunk::HEADER_OFFSET);
    assert!(crate::chunk::RECORDS_END + largest.probe_layout().stride <= crate::chunk::HEADER_OFFSET);
    assert!(DetailShape { window: 0, vectors: false, probes_too: true }.probe_layout().tail() == 0);
};
