//! Reads spans in an order, without reading more than it has to.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ada_event::{EventSeq, ProcessId, ThreadId};
use ada_span::table::{Column, Columns};
use ada_span::{SpanError, ThreadIndex};

use super::filter::Filter;
use super::order::{Cursor, Position, Sort};
use crate::analysis::{FrameSpan, OpenedSession, Span};

/// The first `limit` wanted rows behind the cursor.
pub(super) fn first(
    opened: &OpenedSession,
    filter: &Filter,
    sort: Sort,
    cursor: Option<Cursor>,
    limit: usize,
) -> anyhow::Result<Vec<Span>> {
    if sort == Sort::Start {
        let mut rows = Vec::new();
        each_by_start(opened, filter, cursor, |row| {
            rows.push(row);
            Ok(rows.len() < limit)
        })?;
        return Ok(rows);
    }
    let mut best = Best { sort, cursor, limit, heap: BinaryHeap::new() };
    for row in logical(opened, filter) {
        best.offer(opened, row);
    }
    if filter.wants_frames() {
        longest_frames(opened, filter, &mut best)?;
    }
    Ok(best.heap.into_sorted_vec().into_iter().map(|it| it.row).collect())
}

/// Frame spans that took long. Blocks in which none is long enough are not read.
fn longest_frames(opened: &OpenedSession, filter: &Filter, best: &mut Best) -> Result<(), SpanError> {
    let mut columns = Columns::new();
    for (number, process) in opened.processes().iter().enumerate() {
        for (at, block) in process.tables.meta().blocks.iter().enumerate() {
            let thread = block.thread;
            let is_wanted = filter.wants_thread(process.tables.meta().threads[thread.as_usize()].id);
            // No span is longer in itself than it is.
            if !is_wanted || !filter.wants_block(block) || best.is_beyond(u64::MAX - block.max_duration) {
                continue;
            }
            process.tables.read(at, |_| true, &mut columns)?;
            for row in 0..columns.rows() {
                let value = match best.sort {
                    Sort::SelfTime => columns.at(Column::SelfTime, row),
                    _ => columns.at(Column::Duration, row),
                };
                if best.is_beyond(u64::MAX - value) || !is_wanted_frame(filter, number, &columns, row) {
                    continue;
                }
                let frame = FrameSpan::of_row(thread, &columns, row);
                if !filter.hides(opened, number, thread, frame.seq())
                    && filter.wants_values(opened, number, thread, &columns, row)
                {
                    best.offer(opened, Span::frame(number, frame));
                }
            }
        }
    }
    Ok(())
}

fn is_wanted_frame(filter: &Filter, process: usize, columns: &Columns, row: usize) -> bool {
    let (duration, outcome) = (columns.at(Column::Duration, row), columns.at(Column::Outcome, row));
    filter.wants_frame(process, columns.function(row), columns.start(row), duration, outcome)
}

/// The wanted logical spans, in no order.
pub(crate) fn logical<'a>(opened: &'a OpenedSession, filter: &'a Filter) -> impl Iterator<Item = Span> + 'a {
    let processes = (0..opened.processes().len()).filter(|_| filter.wants_logical());
    let all = processes.flat_map(|process| Span::logical(opened, process));
    all.filter(|span| filter.wants_logical_span(opened, span))
}

/// The best rows so far, the worst of them on top.
struct Best {
    sort: Sort,
    cursor: Option<Cursor>,
    limit: usize,
    heap: BinaryHeap<Ranked>,
}

struct Ranked {
    position: Position,
    row: Span,
}

impl Best {
    /// Whether rows with this key need not be looked at.
    #[inline]
    fn is_beyond(&self, key: u64) -> bool {
        self.heap.len() >= self.limit && self.heap.peek().is_some_and(|worst| key > worst.position.key)
    }

    fn offer(&mut self, opened: &OpenedSession, row: Span) {
        let position = Position::of(self.sort, opened, &row);
        if self.cursor.is_some_and(|cursor| position <= cursor.position) {
            return;
        }
        self.heap.push(Ranked { position, row });
        if self.heap.len() > self.limit {
            self.heap.pop();
        }
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.position.cmp(&other.position)
    }
}

/// All wanted rows behind the cursor in the order of their start, until `each` says no.
pub(super) fn each_by_start(
    opened: &OpenedSession,
    filter: &Filter,
    cursor: Option<Cursor>,
    mut each: impl FnMut(Span) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let mut logical: Vec<(Position, Span)> =
        logical(opened, filter).map(|row| (Position::of(Sort::Start, opened, &row), row)).collect();
    logical.retain(|(position, _)| cursor.is_none_or(|cursor| *position > cursor.position));
    logical.sort_by_key(|(position, _)| Reverse(*position));
    let mut lanes: Vec<Lane> = Vec::new();
    if filter.wants_frames() {
        for (process, it) in opened.processes().iter().enumerate() {
            for (thread, entry) in ThreadIndex::all(it.tables.meta().threads.len()).zip(&it.tables.meta().threads) {
                if filter.wants_thread(entry.id) {
                    lanes.push(Lane::new(process, thread, it.tables.blocks_of(thread)));
                }
            }
        }
    }
    // Lanes wait by their next row, or by their next block's beginning as long as that is not read.
    let mut waiting: BinaryHeap<Reverse<(Position, usize)>> = BinaryHeap::new();
    for (number, lane) in lanes.iter_mut().enumerate() {
        if let Some(position) = lane.next_position(opened, filter, cursor)? {
            waiting.push(Reverse((position, number)));
        }
    }
    loop {
        let frame = waiting.peek().map(|Reverse((position, _))| *position);
        let next_logical = logical.last().map(|(position, _)| *position);
        match (frame, next_logical) {
            (None, None) => return Ok(()),
            (frame, Some(position)) if frame.is_none_or(|frame| position < frame) => {
                let Some((_, row)) = logical.pop() else { return Ok(()) };
                if !each(row)? {
                    return Ok(());
                }
            }
            _ => {
                let Some(Reverse((_, number))) = waiting.pop() else { return Ok(()) };
                let lane = &mut lanes[number];
                if let Some(span) = lane.take()
                    && !each(span)?
                {
                    return Ok(());
                }
                if let Some(position) = lane.next_position(opened, filter, cursor)? {
                    waiting.push(Reverse((position, number)));
                }
            }
        }
    }
}

/// A thread's frame spans.
struct Lane {
    process: usize,
    thread: ThreadIndex,
    blocks: std::ops::Range<usize>,
    columns: Option<Box<Columns>>,
    row: usize,
    /// Whether the next block is to be read when the lane's turn comes.
    is_before_block: bool,
}

impl Lane {
    fn new(process: usize, thread: ThreadIndex, blocks: std::ops::Range<usize>) -> Self {
        Self { process, thread, blocks, columns: None, row: 0, is_before_block: false }
    }

    /// Goes to the next wanted row, and gives its position; or that of the next block.
    fn next_position(
        &mut self,
        opened: &OpenedSession,
        filter: &Filter,
        cursor: Option<Cursor>,
    ) -> Result<Option<Position>, SpanError> {
        let process = &opened.processes()[self.process];
        let id = process.tables.meta().threads[self.thread.as_usize()].id;
        loop {
            if let Some(columns) = &self.columns {
                while self.row < columns.rows() {
                    let (row, seq) = (self.row, columns.seq(self.row));
                    if is_wanted_frame(filter, self.process, columns, row)
                        && !filter.hides(opened, self.process, self.thread, seq)
                        && filter.wants_values(opened, self.process, self.thread, columns, row)
                    {
                        let key = columns.start(row).0;
                        let target = crate::analysis::Target::Frame(id, seq);
                        let position = Position { key, pid: process.pid, target };
                        if cursor.is_none_or(|cursor| position > cursor.position) {
                            return Ok(Some(position));
                        }
                    }
                    self.row += 1;
                }
                self.columns = None;
            }
            if self.is_before_block {
                self.is_before_block = false;
                let mut columns = Box::new(Columns::new());
                let Some(block) = self.blocks.next() else { return Ok(None) };
                process.tables.read(block, |_| true, &mut columns)?;
                (self.columns, self.row) = (Some(columns), 0);
                continue;
            }
            // Blocks without a wanted row are passed over; one with rows waits for its turn before it is read.
            let Some(block) = self.blocks.clone().next() else { return Ok(None) };
            let entry = process.tables.block(block);
            let is_behind = cursor.is_some_and(|cursor| entry.max_start.0 < cursor.position.key);
            if is_behind || !filter.wants_block(entry) {
                self.blocks.next();
                continue;
            }
            self.is_before_block = true;
            let target = crate::analysis::Target::Frame(ThreadId(0), EventSeq(0));
            return Ok(Some(Position { key: entry.min_start.0, pid: ProcessId(0), target }));
        }
    }

    /// The row that [`Self::next_position`] has gone to; none before a block.
    fn take(&mut self) -> Option<Span> {
        let frame = FrameSpan::of_row(self.thread, self.columns.as_ref()?, self.row);
        self.row += 1;
        Some(Span::frame(self.process, frame))
    }
}
