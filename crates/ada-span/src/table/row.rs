//! A span as the replay leaves it: in one line of the cache, so that its beginning and its end touch no other.

use ada_event::{EventSeq, TraceNanos};

use super::block::Column;
use super::late::LATE_FIELDS;
use crate::replay::{Closed, Opened};

/// Bits of a function's number; the outcome stands above.
const FUNCTION_BITS: u32 = 24;
/// Functions that have a number of their own.
pub(crate) const MOST_FUNCTIONS: usize = 4_000_000;
const _: () = assert!(MOST_FUNCTIONS < 1 << FUNCTION_BITS && size_of::<Row>() == 64);

/// A row of a table that is being filled.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Row {
    seq: EventSeq,
    start: TraceNanos,
    parent_delta: u64,
    depth: u32,
    function_and_outcome: u32,
    duration: u64,
    self_ns: u64,
    close_delta: u64,
    context: u64,
}

impl Row {
    #[inline]
    pub(crate) fn open(opened: &Opened) -> Self {
        Self {
            seq: opened.seq,
            start: opened.start,
            parent_delta: opened.parent.map_or(0, |parent| opened.seq - parent),
            depth: opened.depth,
            function_and_outcome: opened.function.0,
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn close(&mut self, closed: &Closed) {
        let [duration, self_ns, close_delta, outcome, context] = late_fields(closed);
        self.function_and_outcome = closed.function.0 | (outcome as u32) << FUNCTION_BITS;
        (self.duration, self.self_ns, self.close_delta, self.context) = (duration, self_ns, close_delta, context);
    }

    #[inline(always)]
    pub(crate) fn seq(&self) -> EventSeq {
        self.seq
    }

    #[inline(always)]
    pub(crate) fn start(&self) -> TraceNanos {
        self.start
    }

    #[inline(always)]
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    #[inline(always)]
    pub(crate) fn end(&self) -> TraceNanos {
        self.start.saturating_add(self.duration)
    }

    /// Adds the bits that a row's columns have: position and time as seen from a first row.
    #[inline(always)]
    pub(crate) fn add_bits(&mut self, row: &Self, first: &Self) {
        self.seq.0 |= row.seq.0.wrapping_sub(first.seq.0);
        self.start.0 |= row.start.0.wrapping_sub(first.start.0);
        self.parent_delta |= row.parent_delta;
        self.depth |= row.depth;
        self.function_and_outcome |= row.function_and_outcome;
        self.duration |= row.duration;
        self.self_ns |= row.self_ns;
        self.close_delta |= row.close_delta;
        self.context |= row.context;
    }

    /// A column's value.
    #[inline(always)]
    pub(crate) fn value(&self, column: Column) -> u64 {
        match column {
            Column::OpenSeq => self.seq.0,
            Column::Start => self.start.0,
            Column::Function => (self.function_and_outcome & ((1 << FUNCTION_BITS) - 1)).into(),
            Column::Depth => self.depth.into(),
            Column::ParentDelta => self.parent_delta,
            Column::Duration => self.duration,
            Column::SelfTime => self.self_ns,
            Column::CloseDelta => self.close_delta,
            Column::Outcome => (self.function_and_outcome >> FUNCTION_BITS).into(),
            Column::Context => self.context,
        }
    }
}

/// The columns that are known at the end, in their order.
#[inline]
pub(crate) fn late_fields(closed: &Closed) -> [u64; LATE_FIELDS] {
    [
        closed.duration,
        closed.self_ns,
        closed.close_seq.map_or(0, |seq| seq - closed.seq),
        closed.outcome.to_byte().into(),
        closed.context.map_or(0, |seq| seq.0 + 1),
    ]
}
