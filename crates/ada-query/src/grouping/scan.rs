//! Goes through all rows with all processors, as often as memory makes it necessary.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ada_format::parallel::{each_in_parallel, in_parallel_with};
use rusqlite::types::Value;

use super::group_table::GroupTable;
use super::groups::Groups;
use super::key::Key;
use super::numbering::{Numbering, number, stepped};
use super::pieces::{Adding, Piece, ProcessPlan, Scratch, Stop};
use super::question::{Part, Question};
use super::shape::Shape;
use super::sums::Layout;
use super::worker::Worker;
use crate::error::QueryError;
use crate::predicate::{Measure, Subject, prepare};
use crate::shared::Shared;
use crate::span::{Span, SpanColumn};
use crate::trace::Trace;

/// Keys that are numbered densely, so that a row's group is found without a hash.
const MOST_DENSE: u64 = 1 << 20;
/// Groups that each worker makes by itself before it is worth giving each a range of keys.
const MOST_OWN: usize = 1 << 20;
/// Keys that are looked at to choose ranges.
const SAMPLE: usize = 1 << 12;

/// All that answering a question needs.
struct Plan {
    shape: Arc<Shape>,
    processes: Vec<ProcessPlan>,
    pieces: Vec<Piece>,
    single: Vec<SingleRow>,
    shared: Shared,
    memory: u64,
}

/// A thread, callback or the like: they are few, and are added one by one.
struct SingleRow {
    key: u128,
    start: u64,
    duration: u64,
    self_ns: Option<u64>,
    depth: Option<u64>,
}

impl SingleRow {
    fn measure(&self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::Start => Some(self.start),
            Measure::End => Some(self.start.saturating_add(self.duration)),
            Measure::Duration => Some(self.duration),
            Measure::SelfTime => self.self_ns,
            Measure::Depth => self.depth,
            Measure::Seq | Measure::Detail => None,
        }
    }
}

/// An answer that is being made: many groups come in several parts.
pub(crate) struct Running {
    plan: Arc<Plan>,
    /// Ranges of keys whose groups are not made yet; the next one is the last.
    remaining: Vec<(u128, Option<u128>)>,
}

impl Running {
    /// Makes the first groups, with about so many bytes of memory. None where only SQLite can answer.
    pub(crate) fn begin(
        shared: &Shared,
        question: Question,
        memory: u64,
    ) -> Result<Option<(Self, Groups)>, QueryError> {
        let Some(plan) = Plan::new(shared, question, memory)? else { return Ok(None) };
        let mut running = Self { plan: Arc::new(plan), remaining: Vec::new() };
        let began = match running.plan.shape.key_count() {
            Some(size) if size <= MOST_DENSE => running.plan.all::<u64>(Some(size as usize)),
            Some(_) => running.plan.all::<u64>(None),
            None => running.plan.all::<u128>(None),
        };
        match began {
            Ok(table) => {
                let groups = Groups::new(running.plan.shape.clone(), vec![table], true);
                Ok(Some((running, groups)))
            }
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Strange) => Ok(None),
            Err(Stop::TooMany { keys, share }) => {
                running.remaining = running.plan.ranges(&keys, share);
                let first = running.next()?;
                Ok(first.map(|groups| (running, groups)))
            }
        }
    }

    /// The next groups; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Groups>, QueryError> {
        if self.remaining.is_empty() {
            return Ok(None);
        }
        let count = self.remaining.len().min(workers());
        let ranges = self.remaining.split_off(self.remaining.len() - count);
        let plan = &self.plan;
        let is_wide = plan.shape.key_count().is_none();
        let made =
            each_in_parallel(
                ranges,
                |range| {
                    if is_wide { plan.within::<u128>(range) } else { plan.within::<u64>(range) }
                },
            );
        let mut tables = Vec::new();
        for made in made {
            let (table, remaining) = made?;
            tables.push(table);
            self.remaining.extend(remaining);
        }
        Ok(Some(Groups::new(self.plan.shape.clone(), tables, false)))
    }
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Plan {
    fn new(shared: &Shared, question: Question, memory: u64) -> Result<Option<Self>, QueryError> {
        let trace = &shared.trace;
        let spans = single_spans(shared, &question)?;
        let (mut numberings, mut finds) = (Vec::new(), Vec::new());
        for part in &question.parts {
            let others = spans.iter().map(|span| value_of(trace, span, *part)).collect();
            let (numbering, of_processes) = number(trace, question.subject, *part, others);
            numberings.push(numbering);
            finds.push(of_processes.into_iter());
        }
        let single = spans.iter().map(|span| single_row(trace, span, &question.parts, &numberings)).collect();
        let sizes = numberings.iter().map(Numbering::size).collect();
        let shape = Shape { layout: Layout::of(&question.values), question, numberings, sizes };
        if !shape.has_keys() {
            return Ok(None);
        }
        let (shape, shared) = (Arc::new(shape), shared.clone());
        let trace = &shared.trace.clone();
        let mut plan = Self { shape, processes: Vec::new(), pieces: Vec::new(), single, shared, memory };
        for (number, process) in trace.processes().iter().enumerate() {
            let subject = plan.shape.question.subject;
            let ready = prepare(&plan.shape.question.test, subject, trace, process);
            let finds = finds.iter_mut().filter_map(Iterator::next).collect();
            let process = ProcessPlan::new(trace, process, subject, (ready, finds), &plan.shape.layout);
            process.pieces(trace, number, &mut plan.pieces);
            plan.processes.push(process);
        }
        Ok(Some(plan))
    }

    fn add<K: Key>(&self, piece: Piece, scratch: &mut Scratch, worker: &mut Worker<K>) -> Result<(), Stop> {
        let adding = Adding {
            trace: &self.shared.trace,
            plan: &self.processes[piece.process],
            sizes: &self.shape.sizes,
            layout: &self.shape.layout,
            wants_quantiles: self.shape.question.wants_quantiles,
        };
        adding.add(piece, scratch, worker)
    }

    /// All groups: each worker adds the rows of some pieces, and the tables are merged.
    fn all<K: Key>(&self, keys: Option<usize>) -> Result<GroupTable, Stop> {
        let wants_quantiles = self.shape.question.wants_quantiles;
        let new = || match keys {
            Some(keys) => GroupTable::dense(keys, &self.shape.layout, wants_quantiles),
            None => GroupTable::hashed::<K>(0, &self.shape.layout, wants_quantiles),
        };
        let count = self.pieces.len();
        // The first pieces are to be like all the others: if there are too many groups, ranges are chosen by them.
        let step = if keys.is_some() { 1 } else { stride(count) };
        let done = AtomicUsize::new(0);
        let state = || (Worker::<K>::new(new(), (K::LEAST, None)), Scratch::default());
        let workers = in_parallel_with(count, state, |(worker, scratch), number| {
            if number.is_multiple_of(16) {
                self.shared.cancel.check()?;
            }
            self.add(self.pieces[number * step % count], scratch, worker)?;
            let done = 1 + done.fetch_add(1, Ordering::Relaxed);
            if worker.table.is_dense() || worker.table.len() <= MOST_OWN || wants_quantiles {
                return Ok(());
            }
            let keys = sample(&worker.table);
            Err(Stop::TooMany { keys, share: done as f64 / (count * workers()) as f64 })
        })?;
        let mut tables = workers.into_iter().map(|(worker, _)| worker.table);
        let mut table = tables.next().unwrap_or_else(new);
        tables.for_each(|other| table.merge::<K>(other, &self.shape.layout));
        self.add_single::<K>(&mut table, (0, None));
        Ok(table)
    }

    /// The groups with keys in a range: one worker adds the rows of all pieces. If there are too many groups, the rest of
    /// the range remains.
    #[expect(clippy::type_complexity, reason = "a range, or none")]
    fn within<K: Key>(
        &self,
        (low, mut high): (u128, Option<u128>),
    ) -> Result<(GroupTable, Option<(u128, Option<u128>)>), QueryError> {
        let room = GroupTable::room_in::<K>(self.memory / workers() as u64, &self.shape.layout);
        let mut worker = Worker::new(
            GroupTable::hashed::<K>(room, &self.shape.layout, false),
            (K::narrowed(low), high.map(K::narrowed)),
        );
        let (mut scratch, mut remaining) = (Scratch::default(), None);
        for (number, piece) in self.pieces.iter().enumerate() {
            if number.is_multiple_of(16) {
                self.shared.cancel.check()?;
            }
            match self.add(*piece, &mut scratch, &mut worker) {
                Ok(()) => {}
                Err(Stop::Failed(error)) => return Err(error),
                // All pieces were read before.
                Err(Stop::Strange | Stop::TooMany { .. }) => return Err(QueryError::TooLarge),
            }
            if worker.table.len() > room - room / 8 {
                let keys = sample(&worker.table);
                let middle = keys[keys.len() / 2];
                worker.table.cut::<K>(middle);
                worker.range.1 = Some(K::narrowed(middle));
                // What was cut before comes behind this.
                remaining = Some((middle, remaining.map_or(high, |(_, end)| end)));
                high = Some(middle);
            }
        }
        self.add_single::<K>(&mut worker.table, (low, high));
        Ok((worker.table, remaining))
    }

    fn add_single<K: Key>(&self, table: &mut GroupTable, (low, high): (u128, Option<u128>)) {
        for row in self.single.iter().filter(|it| it.key >= low && high.is_none_or(|high| it.key < high)) {
            let at = if table.is_dense() { row.key as usize + 1 } else { table.row_of(K::narrowed(row.key)) };
            if let Some(histogram) = table.histogram(at) {
                histogram.add(row.duration);
            }
            self.shape.layout.add_row(table.sums_mut(at), |measure| row.measure(measure));
        }
    }

    /// Ranges with as many groups as there is memory for, by some keys from a share of all pieces.
    fn ranges(&self, keys: &[u128], share: f64) -> Vec<(u128, Option<u128>)> {
        let narrow = GroupTable::room_in::<u64>(self.memory / workers() as u64, &self.shape.layout);
        let groups = MOST_OWN as f64 / share.max(1e-9);
        let least = (groups / (narrow as f64 * 0.75)).ceil() as usize;
        let count = least.next_multiple_of(workers()).clamp(1, keys.len().max(1));
        let mut bounds: Vec<u128> = (1..count).map(|number| keys[number * keys.len() / count]).collect();
        bounds.dedup();
        let lows = std::iter::once(0).chain(bounds.iter().copied());
        let highs = bounds.iter().copied().map(Some).chain([None]);
        let mut ranges: Vec<_> = lows.zip(highs).collect();
        ranges.reverse();
        ranges
    }
}

/// Some keys of a table, in their order.
fn sample(table: &GroupTable) -> Vec<u128> {
    let step = (table.len() / SAMPLE).max(1);
    let mut keys: Vec<u128> = (1..=table.len()).step_by(step).map(|row| table.key(row)).collect();
    keys.sort_unstable();
    keys
}

/// A step that visits each of so many once, and soon some of everywhere.
fn stride(count: usize) -> usize {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    // The golden section spreads best.
    let best = (count as f64 * 0.618) as usize;
    (best.max(1)..).find(|it| common(*it, count) == 1).unwrap_or(1)
}

fn single_spans(shared: &Shared, question: &Question) -> Result<Vec<Span>, QueryError> {
    let trace = &shared.trace;
    let mut spans = Vec::new();
    if question.subject == Subject::Spans {
        for process in 0..trace.processes().len() {
            for span in Span::logical(trace, process) {
                shared.cancel.check()?;
                if question.test.matches_span(trace, &span) {
                    spans.push(span);
                }
            }
        }
    }
    Ok(spans)
}

/// The value of a part; in steps where it is not measured.
fn value_of(trace: &Trace, span: &Span, part: Part) -> Value {
    let value = part.field.column().map_or(Value::Null, |column| span.value(trace, column).into());
    match value {
        Value::Integer(number) if part.field.measure().is_none() => stepped(number, part.step),
        value => value,
    }
}

fn single_row(trace: &Trace, span: &Span, parts: &[Part], numberings: &[Numbering]) -> SingleRow {
    let key = parts.iter().zip(numberings).fold(0_u128, |key, (part, numbering)| {
        key.with_digit(numbering.size(), numbering.number(&value_of(trace, span, *part)))
    });
    let depth = match span.value(trace, SpanColumn::Depth).into() {
        Value::Integer(depth) => u64::try_from(depth).ok(),
        _ => None,
    };
    let (start, duration) = (span.start(trace).0, span.duration(trace));
    SingleRow { key, start, duration, self_ns: span.self_ns(trace), depth }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stride_visits_all() {
        for count in [1, 2, 3, 10, 97, 1000] {
            let mut seen: Vec<usize> = (0..count).map(|number| number * stride(count) % count).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }
}
