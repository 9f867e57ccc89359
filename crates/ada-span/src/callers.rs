//! Looks up who made a call, span by span: where few calls of a long thread are asked for, going through all of them takes longer.

use std::collections::{HashMap, VecDeque};

use ada_event::{EventSeq, TraceNanos};

use crate::costs::SpanEnds;
use crate::error::SpanError;
use crate::table::{Column, Columns, FunctionIndex, Tables};
use crate::thread_index::ThreadIndex;

/// Blocks that are kept: callers of calls that are near each other are too.
const MOST_BLOCKS: usize = 64;

/// A thread's spans, and the nearest functions of some kind around those that were looked at.
pub struct Callers<'a> {
    tables: &'a Tables,
    thread: ThreadIndex,
    /// Whether a function is of that kind, by its index.
    wanted: &'a [bool],
    blocks: HashMap<usize, Columns>,
    oldest: VecDeque<usize>,
    known: HashMap<EventSeq, Option<FunctionIndex>>,
}

#[derive(Clone, Copy)]
struct Found {
    ends: SpanEnds,
    block: usize,
    row: usize,
}

impl<'a> Callers<'a> {
    /// Nothing is read yet. `wanted` says by their indexes which functions are of the kind.
    pub fn new(tables: &'a Tables, thread: ThreadIndex, wanted: &'a [bool]) -> Self {
        let (blocks, oldest, known) = Default::default();
        Self { tables, thread, wanted, blocks, oldest, known }
    }

    /// Whether a thread's callers can be looked up. Where it changes stacks, the span before need not be on the same.
    pub fn can_look_up(tables: &Tables, thread: ThreadIndex) -> bool {
        tables.meta().threads[thread.as_usize()].facts.stack_changes == 0
    }

    /// What a call called, and the nearest function of the kind above it.
    pub fn of(&mut self, seq: EventSeq) -> Result<Option<(FunctionIndex, Option<FunctionIndex>)>, SpanError> {
        let Some(call) = self.find(seq)? else { return Ok(None) };
        let nearest = match self.above(call)? {
            Some(above) => self.nearest(above)?,
            None => None,
        };
        Ok(Some((call.ends.function, nearest)))
    }

    /// The function of the innermost call that had begun before a time, and had not ended.
    pub fn open_at(&mut self, time: TraceNanos) -> Result<Option<FunctionIndex>, SpanError> {
        let blocks = self.tables.blocks_of(self.thread);
        let begun = self.tables.meta().blocks[blocks.clone()].partition_point(|block| block.min_start < time);
        let Some(block) = begun.checked_sub(1).map(|last| blocks.start + last) else { return Ok(None) };
        let columns = self.block(block)?;
        let (mut row, mut end) = (0, columns.rows());
        while end - row > 1 {
            let middle = row.midpoint(end);
            if columns.start(middle) < time {
                row = middle;
            } else {
                end = middle;
            }
        }
        // Whatever was open then is the newest call of all that had begun, or encloses it.
        let mut newest = Some(self.at(block, row)?);
        while let Some(call) = newest.filter(|call| call.ends.end < time) {
            // What a damaged table says to enclose itself encloses nothing.
            newest = match call.ends.parent.filter(|parent| *parent < call.ends.seq) {
                Some(parent) => self.find(parent)?,
                None => None,
            };
        }
        Ok(newest.map(|call| call.ends.function))
    }

    /// The nearest function of the kind, the call's own among them.
    fn nearest(&mut self, call: Found) -> Result<Option<FunctionIndex>, SpanError> {
        let (mut at, mut path) = (Some(call), Vec::new());
        let nearest = loop {
            let Some(call) = at else { break None };
            if let Some(known) = self.known.get(&call.ends.seq) {
                break *known;
            }
            path.push(call.ends.seq);
            if self.wanted.get(call.ends.function.as_usize()) == Some(&true) {
                break Some(call.ends.function);
            }
            at = self.above(call)?;
        };
        self.known.extend(path.into_iter().map(|seq| (seq, nearest)));
        Ok(nearest)
    }

    /// Who made a call: what encloses it, or what jumped to it.
    fn above(&mut self, call: Found) -> Result<Option<Found>, SpanError> {
        let parent = call.ends.parent;
        let mut at = self.before(call)?;
        while let Some(before) = at {
            if before.ends.parent == parent {
                if before.ends.goes_on_in(call.ends.seq) {
                    return Ok(Some(before));
                }
                break;
            }
            // Up from the span before, as long as that may still lead to one beside the call.
            at = match before.ends.parent.filter(|above| parent.is_none_or(|parent| *above > parent)) {
                Some(above) => self.find(above)?,
                None => None,
            };
        }
        match parent {
            Some(parent) => self.find(parent),
            None => Ok(None),
        }
    }

    /// The span that began before another.
    fn before(&mut self, call: Found) -> Result<Option<Found>, SpanError> {
        if let Some(row) = call.row.checked_sub(1) {
            return self.at(call.block, row).map(Some);
        }
        if call.block == self.tables.blocks_of(self.thread).start {
            return Ok(None);
        }
        let block = call.block - 1;
        let rows = self.block(block)?.rows();
        rows.checked_sub(1).map(|row| self.at(block, row)).transpose()
    }

    fn find(&mut self, seq: EventSeq) -> Result<Option<Found>, SpanError> {
        let Some(block) = self.tables.block_of(self.thread, seq) else { return Ok(None) };
        match self.block(block)?.row_of(seq) {
            Some(row) => self.at(block, row).map(Some),
            None => Ok(None),
        }
    }

    fn at(&mut self, block: usize, row: usize) -> Result<Found, SpanError> {
        Ok(Found { ends: SpanEnds::read(self.block(block)?, row), block, row })
    }

    fn block(&mut self, block: usize) -> Result<&Columns, SpanError> {
        if !self.blocks.contains_key(&block) {
            let oldest = if self.oldest.len() == MOST_BLOCKS { self.oldest.pop_front() } else { None };
            let mut columns = oldest.and_then(|oldest| self.blocks.remove(&oldest)).unwrap_or_default();
            let wanted = |column| !matches!(column, Column::SelfTime | Column::Depth | Column::Context);
            self.tables.read(block, wanted, &mut columns)?;
            self.blocks.insert(block, columns);
            self.oldest.push_back(block);
        }
        Ok(&self.blocks[&block])
    }
}
