//! Calls: spans that are rows of the tables' blocks.

use std::borrow::Cow;

use ada_event::{EventSeq, FunctionId, TraceNanos};
use ada_span::table::{Column, Columns, FunctionIndex, Tables};
use ada_span::{NONE, Outcome, SpanError, ThreadIndex};
use serde_json::{Map, Value};

use super::runtime_span::{Basics, RuntimeSpan};
use crate::trace::{FunctionLabel, Target, TraceProcess};

/// Where the columns of a call are read from.
pub trait FrameColumns {
    /// The value of a column.
    fn at(&self, column: Column) -> u64;
}

/// All values of a call, by the numbers of their columns.
pub(super) type FrameValues = [u64; Column::ALL.len()];

impl FrameColumns for FrameValues {
    #[inline]
    fn at(&self, column: Column) -> u64 {
        self[column as usize]
    }
}

/// A row of a block, as far as its columns were read.
#[derive(Clone, Copy)]
pub(crate) struct BlockRow<'a> {
    /// The block's columns.
    pub(crate) columns: &'a Columns,
    /// The row's index.
    pub(crate) row: usize,
}

impl FrameColumns for BlockRow<'_> {
    #[inline]
    fn at(&self, column: Column) -> u64 {
        self.columns.at(column, self.row)
    }
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<C = FrameValues> {
    /// The thread.
    pub thread: ThreadIndex,
    /// Its columns.
    pub columns: C,
}

/// A call of which all is known.
pub type FrameSpan = Frame<FrameValues>;

impl FrameSpan {
    /// The call in a row of a block of which all columns were read.
    pub fn of_row(thread: ThreadIndex, columns: &Columns, row: usize) -> Self {
        Self { thread, columns: Column::ALL.map(|column| columns.at(column, row)) }
    }

    /// The call of a thread that an event opens.
    pub fn read(tables: &Tables, thread: ThreadIndex, seq: EventSeq) -> Result<Option<Self>, SpanError> {
        let Some(block) = tables.block_of(thread, seq) else { return Ok(None) };
        let mut columns = Columns::new();
        tables.read(block, |_| true, &mut columns)?;
        Ok(columns.row_of(seq).map(|row| Self::of_row(thread, &columns, row)))
    }
}

impl<C: FrameColumns> Frame<C> {
    /// The event that opens it.
    #[inline]
    pub fn seq(&self) -> EventSeq {
        EventSeq(self.columns.at(Column::OpenSeq))
    }

    /// When it began.
    #[inline]
    pub fn start(&self) -> TraceNanos {
        TraceNanos(self.columns.at(Column::Start))
    }

    /// How long it took.
    #[inline]
    pub fn duration(&self) -> u64 {
        self.columns.at(Column::Duration)
    }

    /// When it ended.
    #[inline]
    pub fn end(&self) -> TraceNanos {
        self.start().saturating_add(self.duration())
    }

    /// Time in it alone.
    #[inline]
    pub fn self_ns(&self) -> u64 {
        self.columns.at(Column::SelfTime)
    }

    /// Open calls below it.
    #[inline]
    pub fn depth(&self) -> u64 {
        self.columns.at(Column::Depth)
    }

    /// The function in the tables.
    #[inline]
    pub fn function_index(&self) -> FunctionIndex {
        FunctionIndex(self.columns.at(Column::Function) as u32)
    }

    /// How and why it ended, as a byte.
    #[inline]
    pub fn outcome_byte(&self) -> u64 {
        self.columns.at(Column::Outcome)
    }

    /// The event that opens the call around it.
    #[inline]
    pub fn parent_seq(&self) -> Option<EventSeq> {
        let delta = self.columns.at(Column::ParentDelta);
        (delta > 0).then(|| self.seq().wrapping_sub(delta))
    }

    /// The event that closes it.
    #[inline]
    pub fn close_seq(&self) -> Option<EventSeq> {
        let delta = self.columns.at(Column::CloseDelta);
        (delta > 0).then(|| self.seq().saturating_add(delta))
    }
}

impl<C: FrameColumns> RuntimeSpan for Frame<C> {
    fn stays_on_thread(&self, process: &TraceProcess) -> bool {
        self.open_seq().is_none_or(|seq| !process.is_of_task(self.thread(), seq))
    }

    #[inline]
    fn runtime(&self, process: &TraceProcess) -> &'static str {
        process.runtime
    }

    #[inline]
    fn is_logical(&self) -> bool {
        false
    }

    #[inline]
    fn target(&self, process: &TraceProcess) -> Target {
        Target::Frame(process.thread_id(self.thread), self.seq())
    }

    fn basics(&self) -> Basics {
        Basics {
            thread: self.thread,
            start: Self::start(self),
            end: self.end(),
            outcome: self.outcome(),
            // The tables have an index instead, which `function` looks up.
            function: None,
        }
    }

    // A scan asks for one of these at a time, and only its column was read.
    #[inline]
    fn thread(&self) -> ThreadIndex {
        self.thread
    }

    #[inline]
    fn start(&self) -> TraceNanos {
        Self::start(self)
    }

    #[inline]
    fn duration(&self) -> u64 {
        Self::duration(self)
    }

    #[inline]
    fn self_ns(&self) -> Option<u64> {
        Some(Self::self_ns(self))
    }

    #[inline]
    fn depth(&self) -> Option<u64> {
        Some(Self::depth(self))
    }

    #[inline]
    fn outcome(&self) -> Outcome {
        u8::try_from(self.outcome_byte()).ok().and_then(Outcome::from_byte).unwrap_or_default()
    }

    fn function(&self, process: &TraceProcess) -> Option<FunctionId> {
        Some(process.function(self.function_index())).filter(|function| function.0 != NONE)
    }

    #[inline]
    fn label<'a>(&self, process: &'a TraceProcess) -> Option<Cow<'a, FunctionLabel>> {
        process.label_at(self.function_index()).map(Cow::Borrowed)
    }

    #[inline]
    fn name<'a>(&self, process: &'a TraceProcess) -> Option<Cow<'a, str>> {
        process.label_at(self.function_index()).map(|label| Cow::Borrowed(&*label.name))
    }

    #[inline]
    fn open_seq(&self) -> Option<EventSeq> {
        Some(self.seq())
    }

    #[inline]
    fn close_seq(&self) -> Option<EventSeq> {
        Self::close_seq(self)
    }

    #[inline]
    fn context_seq(&self) -> Option<EventSeq> {
        self.columns.at(Column::Context).checked_sub(1).map(EventSeq)
    }

    fn other(&self, process: &TraceProcess) -> Option<Target> {
        process.logical_of(self.thread, self.seq())
    }

    #[inline]
    fn cause(&self, process: &TraceProcess) -> Option<Target> {
        self.parent_seq().map(|seq| Target::Frame(process.thread_id(self.thread), seq))
    }

    fn evidence(&self, process: &TraceProcess) -> Vec<Target> {
        let event = |seq: EventSeq| Target::Event(process.thread_id(self.thread), seq);
        std::iter::once(self.seq()).chain(Self::close_seq(self)).map(event).collect()
    }

    fn attributes(&self, process: &TraceProcess) -> Map<String, Value> {
        let id = process.thread_id(self.thread);
        let context = self.context_seq().map(|seq| ("context", Target::Event(id, seq)));
        let logical = self.other(process).map(|logical| ("logical_span_id", logical));
        let known = context.into_iter().chain(logical);
        known.map(|(name, target)| (name.to_owned(), process.refer(target).into())).collect()
    }

    fn run(&self) -> Option<(EventSeq, Option<EventSeq>)> {
        Some((self.seq(), Self::close_seq(self)))
    }
}
