//! The rows of a trace in pieces: blocks of spans, or pieces of threads' events.

use ada_event::{EventSeq, TraceNanos};
use ada_format::atf::PieceReader;
use ada_span::table::{Column, Columns};
use ada_span::{AnomalyKind, ThreadIndex};

use super::counted_events::CountedEvents;
use super::event_batch::{EventBatch, EventColumns, KnownEvents};
use super::key::Key;
use super::numbering::{Find, largest};
use super::sums::Layout;
use super::worker::Worker;
use crate::batch::{Batch, SpanBatch};
use crate::error::QueryError;
use crate::predicate::{Measure, Ready, Subject};
use crate::trace::{Trace, TraceProcess};

/// Rows that are read at once.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) process: usize,
    thread: ThreadIndex,
    /// The block's index, or the piece's in the thread.
    at: usize,
}

/// How the rows of a process are read.
pub(super) struct ProcessPlan {
    pub(super) ready: Ready,
    pub(super) finds: Vec<Find>,
    /// Of events alone.
    known: Option<KnownEvents>,
    counted: Option<CountedEvents>,
}

impl ProcessPlan {
    pub(super) fn new(
        trace: &Trace,
        process: &TraceProcess,
        subject: Subject,
        (ready, finds): (Ready, Vec<Find>),
        layout: &Layout,
    ) -> Self {
        let most = |measure| largest(trace, process, subject, measure);
        let meta = process.tables.meta();
        let is_of_events = subject == Subject::Events;
        let known = is_of_events.then(|| KnownEvents::of(meta, most(Measure::Start), most(Measure::Depth)));
        let counted = is_of_events.then(|| CountedEvents::of(meta, &ready, &finds, layout)).flatten();
        Self { ready, finds, known, counted }
    }

    /// The pieces that can have rows that match.
    pub(super) fn pieces(&self, trace: &Trace, number: usize, pieces: &mut Vec<Piece>) {
        let process = &trace.processes()[number];
        if matches!(self.ready, Ready::Always(false)) {
            return;
        }
        if self.counted.is_some() {
            pieces.push(Piece { process: number, thread: ThreadIndex(0), at: 0 });
            return;
        }
        if self.known.is_none() {
            let blocks = (0..process.tables.meta().blocks.len()).map(|at| (at, process.tables.block(at)));
            let blocks = blocks.filter(|(_, entry)| self.ready.can_be_in(entry));
            pieces.extend(blocks.map(|(at, entry)| Piece { process: number, thread: entry.thread, at }));
            return;
        }
        let (from, until) = self.ready.times();
        for thread in ThreadIndex::all(process.tables.meta().threads.len()) {
            let recorded = &trace.recorded(process).threads[thread.as_usize()];
            let index = recorded.index();
            let anomalies = &process.tables.meta().anomalies;
            let is_backwards =
                anomalies.iter().any(|it| it.thread == thread && it.kind == AnomalyKind::TimeBackwards as u32);
            let mut wanted = EventSeq(0)..EventSeq(index.len());
            if !is_backwards && (from, until) != (0, u64::MAX) {
                wanted.start = index.first_at(TraceNanos(from));
                wanted.end = until.checked_add(1).map_or(wanted.end, |behind| index.first_at(TraceNanos(behind)));
            }
            let all = (0..recorded.piece_count()).map(|at| (at, recorded.piece_events(at)));
            let all = all.filter(|(_, events)| events.start < wanted.end.0 && events.end > wanted.start.0);
            pieces.extend(all.map(|(at, _)| Piece { process: number, thread, at }));
        }
    }
}

/// Why a piece could not be added.
pub(super) enum Stop {
    Failed(QueryError),
    /// There are events that the tables know nothing of.
    Strange,
    /// There are too many groups. These are some of their keys in order, and the share of the pieces that they are from.
    TooMany {
        keys: Vec<u128>,
        share: f64,
    },
}

impl From<QueryError> for Stop {
    fn from(error: QueryError) -> Self {
        Self::Failed(error)
    }
}

/// The memory for reading pieces.
#[derive(Default)]
pub(super) struct Scratch {
    columns: Columns,
    events: EventColumns,
    reader: PieceReader,
    flags: Vec<bool>,
}

/// What is done with a piece's rows.
pub(super) struct Adding<'a> {
    pub(super) trace: &'a Trace,
    pub(super) plan: &'a ProcessPlan,
    pub(super) sizes: &'a [u64],
    pub(super) layout: &'a Layout,
    pub(super) wants_quantiles: bool,
}

impl Adding<'_> {
    /// Adds the rows of a piece.
    pub(super) fn add<K: Key>(&self, piece: Piece, scratch: &mut Scratch, worker: &mut Worker<K>) -> Result<(), Stop> {
        let process = &self.trace.processes()[piece.process];
        let needs = |column: Column| {
            self.plan.ready.needs(column)
                || self.plan.finds.iter().any(|find| find.needs(column))
                || self.layout.measures().any(|measure| measure.needs(column))
                || self.wants_quantiles && column == Column::Duration
        };
        let Scratch { columns, events, reader, flags } = scratch;
        if let Some(counted) = &self.plan.counted {
            let chosen = self.chosen(counted, matches!(self.plan.ready, Ready::Always(true)), flags);
            worker.add_counted(counted, &counted.counts, chosen, (&self.plan.finds, self.sizes));
            return Ok(());
        }
        let Some(known) = &self.plan.known else {
            let entry = process.tables.block(piece.at);
            process.tables.read(piece.at, needs, columns).map_err(QueryError::Tables)?;
            let batch = SpanBatch { thread: entry.thread, columns };
            self.add_batch(&batch, self.plan.ready.is_all_of(entry), flags, worker);
            return Ok(());
        };
        let mut batch = EventBatch::new(events, known, piece.thread, needs);
        self.trace.recorded(process).threads[piece.thread.as_usize()].visit_piece(piece.at, reader, &mut batch);
        if batch.is_strange() {
            return Err(Stop::Strange);
        }
        self.add_batch(&batch, matches!(self.plan.ready, Ready::Always(true)), flags, worker);
        Ok(())
    }

    /// A flag for each row that is wanted; none where all are.
    fn chosen<'f>(&self, batch: &impl Batch, is_all: bool, flags: &'f mut Vec<bool>) -> Option<&'f [bool]> {
        (!is_all).then(|| {
            self.plan.ready.select(batch, flags);
            &flags[..]
        })
    }

    fn add_batch<K: Key>(&self, batch: &impl Batch, is_all: bool, flags: &mut Vec<bool>, worker: &mut Worker<K>) {
        let chosen = self.chosen(batch, is_all, flags);
        worker.add(batch, chosen, (&self.plan.finds, self.sizes), self.layout, self.wants_quantiles);
    }
}
