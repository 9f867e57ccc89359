//! What records of registers hold behind their fixed part, and where.

use crate::RawDetail;
use crate::arch::VECTOR_BYTES;
use crate::chunk::{HEADER_OFFSET, RECORDS_END};
use crate::detail::MAX_WINDOW;
use crate::probe::RawProbe;

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
    // A record that starts before a chunk's slack ends before its header.
    let largest = DetailShape { window: MAX_WINDOW, vectors: true, probes_too: true };
    assert!(RECORDS_END + largest.layout().stride <= HEADER_OFFSET);
    assert!(RECORDS_END + largest.probe_layout().stride <= HEADER_OFFSET);
    assert!(DetailShape { window: 0, vectors: false, probes_too: true }.probe_layout().tail() == 0);
};
