//! Events of a piece as columns.

use ada_event::{Event, EventKind, EventSeq, FunctionId};
use ada_format::atf::EventVisitor;
use ada_span::ThreadIndex;
use ada_span::table::{Column, Meta};

use crate::batch::{Batch, EVENT_KINDS};

/// The columns that events have.
const COLUMNS: [Column; 5] = [Column::Start, Column::Function, Column::Outcome, Column::Depth, Column::Context];
/// A symbol of which nothing is known yet.
const UNKNOWN: u64 = u64::MAX;

/// What the tables know of a process's events.
pub(super) struct KnownEvents {
    /// The functions' indexes by their ids: a hash table.
    slots: Vec<(u64, u64)>,
    count: u64,
    most_time: u64,
    most_depth: u32,
}

impl KnownEvents {
    pub(super) fn of(meta: &Meta, most_time: u64, most_depth: u64) -> Self {
        let size = (meta.functions.len() * 4).next_power_of_two().max(16);
        let mut slots = vec![(0, UNKNOWN); size];
        for (stats, index) in meta.functions.iter().zip(0..) {
            let mut slot = hash(stats.function) & (size - 1);
            while slots[slot].1 != UNKNOWN {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = (stats.function.0, index);
        }
        let most_depth = u32::try_from(most_depth).unwrap_or(u32::MAX);
        Self { slots, count: meta.functions.len() as u64, most_time, most_depth }
    }

    #[inline]
    fn get(&self, function: FunctionId) -> Option<u64> {
        let mask = self.slots.len() - 1;
        let mut slot = hash(function) & mask;
        loop {
            match self.slots[slot] {
                (_, UNKNOWN) => return None,
                (id, index) if id == function.0 => return Some(index),
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

fn hash(function: FunctionId) -> usize {
    (function.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// Kinds and their numbers in a batch, each in a slot of its own: no branch has to be guessed.
const KINDS: [(EventKind, u64); 8] = {
    let mut slots = [(EVENT_KINDS[0], 0); 8];
    let mut index = 0;
    while index < EVENT_KINDS.len() {
        slots[slot_of(EVENT_KINDS[index])] = (EVENT_KINDS[index], index as u64);
        index += 1;
    }
    slots
};

#[inline(always)]
const fn slot_of(kind: EventKind) -> usize {
    ((kind.0 ^ kind.0 >> 14) & 7) as usize
}

/// The memory of a batch, kept for the next one.
#[derive(Default)]
pub(super) struct EventColumns {
    columns: [Vec<u64>; COLUMNS.len()],
    seqs: Vec<u64>,
    by_symbol: Vec<u64>,
}

/// Events of one thread that follow each other.
pub(super) struct EventBatch<'a> {
    columns: &'a mut EventColumns,
    known: &'a KnownEvents,
    thread: ThreadIndex,
    wants: [bool; COLUMNS.len()],
    wants_seqs: bool,
    rows: usize,
    /// How many events are of a kind, function, time or depth that the tables do not know. It is a word, since a flag that is written
    /// for each event would hold up the reading of the flags beside it.
    strange: u64,
}

impl<'a> EventBatch<'a> {
    pub(super) fn new(
        columns: &'a mut EventColumns,
        known: &'a KnownEvents,
        thread: ThreadIndex,
        wants: impl Fn(Column) -> bool,
    ) -> Self {
        let wants_seqs = wants(Column::OpenSeq);
        let wants = COLUMNS.map(wants);
        Self { columns, known, thread, wants, wants_seqs, rows: 0, strange: 0 }
    }

    /// Whether there is an event that the tables do not know.
    pub(super) fn is_strange(&self) -> bool {
        self.strange > 0
    }

    #[inline(always)]
    fn push(&mut self, event: Event, function: u64) {
        let (known, index) = KINDS[slot_of(event.kind)];
        let kind = if known == event.kind { index } else { self.unknown_kind() };
        self.strange += u64::from(event.timestamp.0 > self.known.most_time || event.depth > self.known.most_depth);
        let row = self.rows;
        let values = [event.timestamp.0, function, kind, event.depth.into(), event.detail.get().is_some().into()];
        for ((column, value), wants) in self.columns.columns.iter_mut().zip(values).zip(self.wants) {
            if wants && let Some(slot) = column.get_mut(row) {
                *slot = value;
            }
        }
        self.rows += 1;
    }

    #[cold]
    fn unknown_kind(&mut self) -> u64 {
        self.strange += 1;
        0
    }

    /// The function's index, where an event has one.
    #[inline]
    fn index_of(&mut self, event: &Event) -> u64 {
        if event.kind == EventKind::STACK {
            return self.known.count;
        }
        let index = self.known.get(event.function);
        self.strange += u64::from(index.is_none());
        index.unwrap_or(0)
    }
}

impl EventVisitor for EventBatch<'_> {
    const HAS_CODE_BY_KIND: bool = false;

    fn begin(&mut self, first: EventSeq, count: u64) {
        let count = count as usize;
        for (column, wants) in self.columns.columns.iter_mut().zip(self.wants) {
            column.resize(if wants { count } else { 0 }, 0);
        }
        self.columns.seqs.clear();
        if self.wants_seqs {
            self.columns.seqs.extend((first.0..).take(count));
        }
        self.columns.by_symbol.clear();
        self.rows = 0;
    }

    #[inline]
    fn event(&mut self, event: Event) {
        let function = self.index_of(&event);
        self.push(event, function);
    }

    #[inline(always)]
    fn event_of(&mut self, symbol: u16, event: Event) {
        let symbol = usize::from(symbol);
        let function = match self.columns.by_symbol.get(symbol) {
            Some(&index) if index != UNKNOWN => index,
            _ => {
                let index = self.index_of(&event);
                if self.columns.by_symbol.len() <= symbol {
                    self.columns.by_symbol.resize(symbol + 1, UNKNOWN);
                }
                self.columns.by_symbol[symbol] = index;
                index
            }
        };
        self.push(event, function);
    }
}

impl Batch for EventBatch<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn thread(&self) -> ThreadIndex {
        self.thread
    }

    fn column(&self, column: Column) -> &[u64] {
        let values = match COLUMNS.iter().position(|it| *it == column) {
            Some(at) => &self.columns.columns[at],
            None if column == Column::OpenSeq => &self.columns.seqs,
            None => return &[],
        };
        &values[..self.rows.min(values.len())]
    }
}
