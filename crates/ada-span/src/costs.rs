//! What recording took in spans, as counts: how many ends and events are inside them, and how long they waited.

use ada_event::{EventSeq, TraceNanos};

use crate::outcome::{Reason, Status};
use crate::table::{Columns, FunctionIndex};

/// The ends of a span in the tables: what its costs follow from.
#[derive(Clone, Copy, Debug)]
pub struct SpanEnds {
    /// Its opening event.
    pub seq: EventSeq,
    /// The opening event of the span that encloses it.
    pub parent: Option<EventSeq>,
    /// The event that closed it.
    pub close: Option<EventSeq>,
    /// Its function.
    pub function: FunctionIndex,
    /// When it began.
    pub start: TraceNanos,
    /// When it ended.
    pub end: TraceNanos,
    /// Whether an event says that it went on in another function, and what that called was recorded.
    pub is_tail_call: bool,
    is_entry_only: bool,
}

impl SpanEnds {
    /// Those of a row, of which all columns but depth, self time and context were read.
    #[inline]
    pub fn read(columns: &Columns, row: usize) -> Self {
        let (outcome, end) = (columns.outcome(row), columns.end(row));
        let is_tail_call = outcome.status == Status::Completed && outcome.reason == Reason::TailCall;
        Self {
            seq: columns.seq(row),
            parent: columns.parent_seq(row),
            close: columns.close_seq(row),
            function: columns.function(row),
            start: columns.start(row),
            end,
            is_tail_call: is_tail_call && end < columns.tail_calls_until,
            is_entry_only: outcome.status == Status::EntryOnly,
        }
    }

    /// Whether its function went on in the call that an event opens: that is shown below it, though it is over.
    #[inline]
    pub fn goes_on_in(&self, seq: EventSeq) -> bool {
        self.is_tail_call && self.close.is_some_and(|close| close.next() == seq)
    }

    /// Whether it is more than one event.
    #[inline]
    pub fn has_length(&self) -> bool {
        !self.is_entry_only && (self.close.is_some() || self.end > self.start)
    }

    /// How many of its ends have hooks that lie partly inside it.
    #[inline]
    pub(crate) fn ends(&self) -> u64 {
        1 + u64::from(self.close.is_some())
    }

    /// What recording took in it, if it ended before an event.
    pub fn costs(&self, until: EventSeq, waited_ns: u64) -> Costs {
        let events = self.close.unwrap_or(until).since(self.seq.next());
        Costs { ends: self.ends(), events, waited_ns }
    }
}

/// What recording took within a number of spans: counts, whose prices the [`Correction`](crate::Correction) knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Ends of spans whose hooks lie partly inside them: two of one that returned, one of another.
    pub ends: u64,
    /// Events between those, of calls that they made at any depth.
    pub events: u64,
    /// Nanoseconds of waits in them.
    pub waited_ns: u64,
}

/// What recording took within spans, without the spans that these enclose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfCosts {
    /// As [`Costs::ends`].
    pub ends: u64,
    /// The same of the spans that they enclose directly: what lies outside those lies in here.
    pub ends_below: u64,
    /// Events of calls without a length that they made.
    pub entries: u64,
    /// Nanoseconds of waits; those of enclosed spans are taken off.
    pub waited_ns: i64,
}

impl SelfCosts {
    /// Of the spans of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            ends: self.ends + other.ends,
            ends_below: self.ends_below + other.ends_below,
            entries: self.entries + other.entries,
            waited_ns: self.waited_ns.saturating_add(other.waited_ns),
        }
    }

    /// Adds a span.
    pub fn add(&mut self, span: &SpanEnds, waited_ns: u64) {
        if span.has_length() {
            self.ends += span.ends();
            self.waited_ns = self.waited_ns.saturating_add_unsigned(waited_ns);
        }
    }

    /// Adds a span that one of these encloses directly.
    pub fn add_below(&mut self, span: &SpanEnds, waited_ns: u64) {
        if span.has_length() {
            self.ends_below += span.ends();
            self.waited_ns = self.waited_ns.saturating_sub_unsigned(waited_ns);
        } else {
            self.entries += 1;
        }
    }
}

impl Costs {
    /// Adds those of another span.
    pub fn add(&mut self, other: &Self) {
        self.ends += other.ends;
        self.events = self.events.saturating_add(other.events);
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
    }
}
