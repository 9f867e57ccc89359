//! Rows of one thread, column after column: the spans of a block, or the events of a piece.

use ada_event::EventKind;
use ada_span::ThreadIndex;
use ada_span::table::{Column, Columns};

/// The kinds of events by their numbers in a batch.
pub(crate) const EVENT_KINDS: [EventKind; 6] =
    [EventKind::CALL, EventKind::RETURN, EventKind::EXCEPTION, EventKind::ENTRY, EventKind::TAIL, EventKind::STACK];

/// Some rows. Columns have the names of a span's: of an event, `Start` is its time, `OpenSeq` its position, `Outcome` the
/// index of its kind in [`EVENT_KINDS`], and `Context` 1 if it has detail.
pub(crate) trait Batch {
    fn rows(&self) -> usize;

    fn thread(&self) -> ThreadIndex;

    /// A column; empty if nobody has asked for it.
    fn column(&self, column: Column) -> &[u64];
}

/// Spans of a block.
pub(crate) struct SpanBatch<'a> {
    pub(crate) thread: ThreadIndex,
    pub(crate) columns: &'a Columns,
}

impl Batch for SpanBatch<'_> {
    fn rows(&self) -> usize {
        self.columns.rows()
    }

    fn thread(&self) -> ThreadIndex {
        self.thread
    }

    fn column(&self, column: Column) -> &[u64] {
        self.columns.get(column)
    }
}
