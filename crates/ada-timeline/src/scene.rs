//! What a view of a thread has in it.

use std::sync::Arc;

use ada_event::{EventSeq, TraceNanos};
use ada_span::table::{FunctionIndex, Tables};
use ada_span::{SpanError, ThreadIndex};

use crate::blocks::{Block, Blocks};
use crate::item::{Item, LAST_ROW};
use crate::lens_rows::LensRows;
use crate::range::Range;
use crate::summary::Summary;

/// Where the summary is fine enough, only this part of the spans is looked at one by one that could be.
const FINE: u64 = 8;
/// Callers that are followed upwards; those beyond are long enough for the summary to have them.
const MOST_CALLERS: usize = 512;

/// The items of one row, by their starts.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Calls below it; [`LAST_ROW`] has everything deeper too.
    pub row: u32,
    /// What is in it: no two overlap, but for the last row.
    pub items: Vec<Item>,
}

/// A process's spans and what was summed up of them.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The spans.
    pub tables: &'a Tables,
    /// The summary.
    pub summary: &'a Summary,
    /// Blocks that were read before.
    pub blocks: &'a Blocks,
    /// Which calls are shown, where not all are; the summary is of these then.
    pub lens: Option<&'a LensRows>,
}

impl Scene<'_> {
    /// The rows from `first` to `last` of a thread that have something in the range. For each pixel of a row, the
    /// longest call that begins in it is there, the longest odd one, and the call that reaches into it from before.
    /// Where the summary is taken instead of the spans, which are at most `most_spans`, a longer call that begins less
    /// than a pixel away may hide the longest of a pixel; if none of its levels is fine enough, one in its stretch.
    pub fn rows(
        &self,
        thread: ThreadIndex,
        range: Range,
        (first, last): (u32, u32),
        most_spans: u64,
    ) -> Result<Vec<Row>, SpanError> {
        let mut rows = Rows { rows: Vec::new(), first, last: last.min(LAST_ROW) };
        if self.tables.meta().threads.get(thread.as_usize()).is_none_or(|it| it.spans == 0) || range.start >= range.end
        {
            return Ok(Vec::new());
        }
        let spans = self.spans_between(thread, range.start, range.end);
        match self.summary.level(thread, range.pixel()) {
            Some((width, level)) if spans > most_spans || (width <= range.pixel() && spans > most_spans / FINE) => {
                self.take_from_summary(thread, level, range, &mut rows);
            }
            _ => self.take_from_spans(thread, range, &mut rows)?,
        }
        Ok(rows.rows.into_iter().filter(|row| !row.items.is_empty()).collect())
    }

    /// At most so many spans begin there.
    pub fn spans_between(&self, thread: ThreadIndex, start: TraceNanos, end: TraceNanos) -> u64 {
        let blocks = &self.tables.meta().blocks[self.tables.blocks_of(thread)];
        let first = blocks.partition_point(|block| block.max_start < start);
        let last = blocks.partition_point(|block| block.min_start < end);
        blocks.get(first..last).unwrap_or_default().iter().map(|block| u64::from(block.rows)).sum()
    }

    fn take_from_summary(&self, thread: ThreadIndex, level: usize, range: Range, rows: &mut Rows) {
        for row in rows.first..=rows.last {
            if row as usize >= self.summary.rows(thread, level) {
                break;
            }
            let items = self.summary.items(thread, level, row as usize);
            let first = items.first_from(range.start);
            for index in first.saturating_sub(1)..items.len() {
                let item = items.get(index);
                if item.start >= range.end {
                    break;
                }
                if item.end() > range.start || item.start >= range.start {
                    rows.push(row, item);
                }
            }
        }
    }

    fn take_from_spans(&self, thread: ThreadIndex, range: Range, rows: &mut Rows) -> Result<(), SpanError> {
        self.callers(thread, range, rows)?;
        each_span(self, thread, range.start, range.end, |block, row| {
            if let Some(at) = self.row_of(block, row) {
                rows.push(at, block.item(row));
            }
            true
        })
    }

    /// What is open when the range begins: the last call that began before, and its callers.
    fn callers(&self, thread: ThreadIndex, range: Range, rows: &mut Rows) -> Result<(), SpanError> {
        let open = open_at(self, thread, range.start)?;
        let found: Vec<(u32, Item)> = open.calls.iter().rev().map(|it| (it.row, it.item)).collect();
        if open.is_cut
            && let Some((_, level)) = self.summary.level(thread, 0)
        {
            // Callers of callers are found by the summary, where they are the longest of their stretch.
            for row in rows.first..=rows.last.min(found.first().map_or(0, |(row, _)| *row)) {
                if row as usize >= self.summary.rows(thread, level) {
                    break;
                }
                let items = self.summary.items(thread, level, row as usize);
                if let Some(index) = items.first_from(range.start).checked_sub(1) {
                    let item = items.get(index);
                    if item.end() > range.start && found.iter().all(|(known, _)| *known != row) {
                        rows.push(row, Item { count: 1, ..item });
                    }
                }
            }
        }
        for (row, item) in found {
            rows.push(row, item);
        }
        Ok(())
    }

    /// The row of a call, if it is shown.
    pub(crate) fn row_of(&self, block: &Block, at: usize) -> Option<u32> {
        match self.lens {
            None => Some(block.depths[at].min(LAST_ROW)),
            Some(lens) => lens.row(block.index, at, block.functions[at]),
        }
    }
}

/// The calls of a thread that are shown and open at a time.
#[derive(Default)]
pub(crate) struct OpenCalls {
    /// Innermost first.
    pub(crate) calls: Vec<OpenAt>,
    /// Whether there may be more above: [`MOST_CALLERS`] were looked at.
    is_cut: bool,
}

/// An open call.
pub(crate) struct OpenAt {
    pub(crate) depth: u32,
    row: u32,
    pub(crate) item: Item,
}

/// What is shown of the calls that are open at a time.
pub(crate) fn open_at(scene: &Scene<'_>, thread: ThreadIndex, time: TraceNanos) -> Result<OpenCalls, SpanError> {
    let tables = scene.tables;
    let all = tables.blocks_of(thread);
    let blocks = &tables.meta().blocks[all.clone()];
    let mut open = OpenCalls::default();
    // The block that has the last call before the time.
    let Some(index) = blocks.partition_point(|block| block.min_start < time).checked_sub(1) else { return Ok(open) };
    let mut block: Arc<Block> = scene.blocks.get(tables, all.start + index)?;
    let Some(mut row) = block.starts.partition_point(|&start| start < time).checked_sub(1) else { return Ok(open) };
    for _ in 0..MOST_CALLERS {
        let item = block.item(row);
        if item.end() > time
            && let Some(at) = scene.row_of(&block, row)
        {
            open.calls.push(OpenAt { depth: block.depths[row], row: at, item });
        }
        let delta = block.parents[row];
        let Some(parent) = item.seq.checked_sub(delta).filter(|_| delta > 0).map(EventSeq) else { return Ok(open) };
        match block.seqs.binary_search(&parent) {
            Ok(found) => row = found,
            Err(_) => {
                let Some(index) = tables.block_of(thread, parent) else { return Ok(open) };
                block = scene.blocks.get(tables, index)?;
                let Ok(found) = block.seqs.binary_search(&parent) else { return Ok(open) };
                row = found;
            }
        }
    }
    open.is_cut = true;
    Ok(open)
}

/// The calls of a thread that begin in a time, in their order, until `each` says no.
pub(crate) fn each_span(
    scene: &Scene<'_>,
    thread: ThreadIndex,
    start: TraceNanos,
    end: TraceNanos,
    mut each: impl FnMut(&Block, usize) -> bool,
) -> Result<(), SpanError> {
    let all = scene.tables.blocks_of(thread);
    let blocks = &scene.tables.meta().blocks[all.clone()];
    let first = blocks.partition_point(|block| block.max_start < start);
    for (index, entry) in (all.start + first..all.end).zip(&blocks[first..]) {
        if entry.min_start >= end {
            return Ok(());
        }
        let block = scene.blocks.get(scene.tables, index)?;
        let from = block.starts.partition_point(|&it| it < start);
        for row in from..block.len() {
            if block.starts[row] >= end || !each(&block, row) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Rows that are being filled.
struct Rows {
    rows: Vec<Row>,
    first: u32,
    last: u32,
}

impl Rows {
    fn push(&mut self, row: u32, item: Item) {
        if row < self.first || row > self.last {
            return;
        }
        let index = (row - self.first) as usize;
        while self.rows.len() <= index {
            self.rows.push(Row { row: self.first + self.rows.len() as u32, items: Vec::new() });
        }
        self.rows[index].items.push(item);
    }
}

impl Scene<'_> {
    /// The innermost call of a thread that is open at a time.
    pub fn innermost(&self, thread: ThreadIndex, time: TraceNanos) -> Result<Option<Item>, SpanError> {
        Ok(open_at(self, thread, time)?.calls.first().map(|it| it.item))
    }

    /// The first call of a function among so many calls of a thread.
    pub fn first_of(
        &self,
        thread: ThreadIndex,
        function: FunctionIndex,
        among: u64,
    ) -> Result<Option<Item>, SpanError> {
        let (mut found, mut remaining) = (None, among);
        each_span(self, thread, TraceNanos(0), TraceNanos::MAX, |block, row| {
            remaining = remaining.saturating_sub(1);
            if block.functions[row] == function {
                found = Some(block.item(row));
            }
            found.is_none() && remaining > 0
        })?;
        Ok(found)
    }

    /// The row of a call, by its thread and opening event, and whether it is shown there: of one that is not, the row of the
    /// nearest call above it that is.
    pub fn place(&self, thread: ThreadIndex, seq: EventSeq) -> Result<Option<(u32, bool)>, SpanError> {
        let Some(index) = self.tables.block_of(thread, seq) else { return Ok(None) };
        let block = self.blocks.get(self.tables, index)?;
        let Ok(at) = block.seqs.binary_search(&seq) else { return Ok(None) };
        Ok(Some(match (self.row_of(&block, at), self.lens) {
            (None, Some(lens)) => (lens.nearest_row(index, at, block.functions[at]), false),
            (row, _) => (row.unwrap_or_default(), true),
        }))
    }
}
