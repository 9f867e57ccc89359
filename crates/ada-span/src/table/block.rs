//! A block: up to [`ROWS`] spans of one thread, in the order of their opening events, column after column.

use ada_event::{EventSeq, TraceNanos};

use super::column;
use super::function_index::FunctionIndex;
use super::late::LATE_FIELDS;
use crate::outcome::Outcome;
use crate::thread_index::ThreadIndex;

/// Rows of a full block.
pub(crate) const ROWS: usize = 4096;

/// The columns of a frame span, in the order in which blocks hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Column {
    /// The position of the opening event: with the thread, the span's name.
    OpenSeq = 0,
    /// When it began.
    Start = 1,
    /// The function's index in [`super::Meta::functions`].
    Function = 2,
    /// Its depth.
    Depth = 3,
    /// Opening event minus the parent's opening event; 0 without a parent.
    ParentDelta = 4,
    /// How long it took.
    Duration = 5,
    /// The same without the spans that it encloses.
    SelfTime = 6,
    /// Closing event minus opening event; 0 if no event closed it.
    CloseDelta = 7,
    /// [`crate::Outcome::to_byte`].
    Outcome = 8,
    /// One more than the position of the call that made it end so; 0 if there is none.
    Context = 9,
}

impl Column {
    /// All, in their order.
    pub const ALL: [Self; COLUMNS] = [
        Self::OpenSeq,
        Self::Start,
        Self::Function,
        Self::Depth,
        Self::ParentDelta,
        Self::Duration,
        Self::SelfTime,
        Self::CloseDelta,
        Self::Outcome,
        Self::Context,
    ];
}

/// How many columns there are.
pub(crate) const COLUMNS: usize = 10;
/// The first of the columns that late spans get at their end.
pub(crate) const FIRST_LATE: usize = COLUMNS - LATE_FIELDS;

/// What the directory says of a block, enough to pass over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockEntry {
    /// The thread.
    pub thread: ThreadIndex,
    /// The file that holds it.
    pub(crate) shard: u32,
    /// Where in the file.
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) crc: u32,
    /// How many spans.
    pub rows: u32,
    /// How many of them ended after the block was written, and where their ends are.
    pub(crate) late_count: u32,
    pub(crate) late_base: u64,
    /// The smallest opening event.
    pub first_seq: EventSeq,
    /// The largest opening event.
    pub last_seq: EventSeq,
    /// The earliest start, which is the first row's.
    pub min_start: TraceNanos,
    /// The latest start, which is the last row's.
    pub max_start: TraceNanos,
    /// The latest end.
    pub max_end: TraceNanos,
    /// The longest duration.
    pub max_duration: u64,
    /// The smallest depth.
    pub min_depth: u32,
    /// The largest depth.
    pub max_depth: u32,
}

/// Rows of a block, as far as they were asked for: columns that were not are empty.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    values: [Vec<u64>; COLUMNS],
    pub(crate) rows: usize,
    late_rows: Vec<u64>,
    pub(crate) tail_calls_until: TraceNanos,
    pub(crate) bytes: Vec<u8>,
}

impl Columns {
    /// Empty ones, to be reused for many blocks.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many rows the last block had.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A column.
    #[inline]
    pub fn get(&self, column: Column) -> &[u64] {
        &self.values[column as usize]
    }

    /// A value; 0 where its column was not asked for.
    #[inline]
    pub fn at(&self, column: Column, row: usize) -> u64 {
        self.values[column as usize].get(row).copied().unwrap_or(0)
    }

    /// The event that opens the span of a row.
    #[inline]
    pub fn seq(&self, row: usize) -> EventSeq {
        EventSeq(self.at(Column::OpenSeq, row))
    }

    /// The row whose span an event opens; [`Column::OpenSeq`] was asked for.
    pub fn row_of(&self, seq: EventSeq) -> Option<usize> {
        self.get(Column::OpenSeq).binary_search(&seq.0).ok()
    }

    /// The first row whose span no earlier event opens.
    pub fn first_row_from(&self, seq: EventSeq) -> usize {
        self.get(Column::OpenSeq).partition_point(|&it| it < seq.0)
    }

    /// When the span of a row began.
    #[inline]
    pub fn start(&self, row: usize) -> TraceNanos {
        TraceNanos(self.at(Column::Start, row))
    }

    /// When it ended.
    #[inline]
    pub fn end(&self, row: usize) -> TraceNanos {
        self.start(row).saturating_add(self.at(Column::Duration, row))
    }

    /// Its function.
    #[inline]
    pub fn function(&self, row: usize) -> FunctionIndex {
        FunctionIndex(self.at(Column::Function, row) as u32)
    }

    /// The event that opens the span around it, if there is one.
    #[inline]
    pub fn parent_seq(&self, row: usize) -> Option<EventSeq> {
        let delta = self.at(Column::ParentDelta, row);
        (delta > 0).then(|| self.seq(row).wrapping_sub(delta))
    }

    /// The event that closes it, if one does.
    #[inline]
    pub fn close_seq(&self, row: usize) -> Option<EventSeq> {
        let delta = self.at(Column::CloseDelta, row);
        (delta > 0).then(|| self.seq(row).saturating_add(delta))
    }

    /// How and why it ended.
    #[inline]
    pub fn outcome(&self, row: usize) -> Outcome {
        Outcome::from_word(self.at(Column::Outcome, row)).unwrap_or_default()
    }

    /// The event that ended it, where it is surely its own.
    pub fn own_close_seq(&self, row: usize) -> Option<EventSeq> {
        self.outcome(row).own_end(self.close_seq(row))
    }

    pub(crate) fn values_mut(&mut self) -> &mut [Vec<u64>; COLUMNS] {
        &mut self.values
    }

    pub(crate) fn clear(&mut self) {
        self.values.iter_mut().for_each(Vec::clear);
        self.rows = 0;
    }

    /// Reads the block in `self.bytes`. None if it contradicts itself.
    pub(crate) fn decode(&mut self, entry: &BlockEntry, wanted: impl Fn(Column) -> bool) -> Option<()> {
        let rows = entry.rows as usize;
        if rows > ROWS || entry.late_count > entry.rows {
            return None;
        }
        self.clear();
        let mut bytes = &self.bytes[..];
        for (column, values) in Column::ALL.into_iter().zip(&mut self.values) {
            column::take(&mut bytes, rows, wanted(column).then_some(values))?;
        }
        column::take(&mut bytes, entry.late_count as usize, Some(&mut self.late_rows))?;
        self.rows = rows;
        bytes.is_empty().then_some(())
    }

    /// Puts the ends of late spans in. None if a row does not exist.
    pub(crate) fn apply_late(&mut self, slots: &[[u8; 8 * LATE_FIELDS]]) -> Option<()> {
        for (&row, slot) in self.late_rows.iter().zip(slots) {
            for (values, raw) in self.values[FIRST_LATE..].iter_mut().zip(slot.as_chunks().0) {
                if !values.is_empty() {
                    *values.get_mut(usize::try_from(row).ok()?)? = u64::from_le_bytes(*raw);
                }
            }
        }
        Some(())
    }
}
