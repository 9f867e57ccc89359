//! Groups of spans and their sums.

use std::collections::HashMap;

use ada_event::ThreadId;
use ada_span::table::{Column, Columns};
use ada_span::{Histogram, Outcome, Reason};
use rusqlite::types::Value;

use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::nearest::nearest;
use crate::predicate::{Field, Ready, Test, prepare};
use crate::scan::scan_pieces;
use crate::shared::Shared;
use crate::span::Span;
use crate::trace::{Trace, TraceProcess};

/// Columns that can be grouped by at once.
pub(super) const MOST_PARTS: usize = 4;
/// Groups that are numbered densely, so that a row's group is found without a hash.
const MOST_DENSE: usize = 1 << 20;
/// Groups that have percentiles; a histogram takes 1.4 KB.
const MOST_HISTOGRAMS: usize = 1 << 16;
/// Groups in all.
const MOST_GROUPS: usize = 1 << 24;

/// A column that is grouped by, in steps of a size for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    field: Field,
    step: u64,
}

pub(super) fn parse_parts(text: &str) -> Result<Vec<Part>, QueryError> {
    let mut parts = Vec::new();
    let mut offset = 0;
    for piece in text.split(',') {
        let at = offset + (piece.len() - piece.trim_start().len());
        offset += piece.len() + 1;
        let piece = piece.trim();
        if piece.is_empty() && text.trim().is_empty() {
            continue;
        }
        let mistake = |words: String| QueryError::Mistake(Mistake::new(words, text, Some(at)));
        let (name, step) = piece.split_once('/').unwrap_or((piece, "1"));
        let name = name.trim().to_lowercase();
        let Some(field) = Field::from_name(&name) else {
            let mut mistake = Mistake::new(format!("spans cannot be grouped by {name}"), text, Some(at));
            mistake.suggestion = nearest(&name, Field::names()).map(str::to_owned);
            return Err(QueryError::Mistake(mistake));
        };
        let step = step.trim().parse().ok().filter(|step| *step > 0 && (*step == 1 || field.is_number()));
        let step = step.ok_or_else(|| mistake("behind / comes a number from 1, for columns of numbers".into()))?;
        parts.push(Part { field, step });
    }
    if parts.len() > MOST_PARTS {
        return Err(QueryError::Mistake(Mistake::new("stats groups by four columns at most", text, None)));
    }
    Ok(parts)
}

/// The sums of a group.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub(super) count: u64,
    pub(super) total: u64,
    self_ns: u64,
    /// How many have no time of their own.
    logical: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    durations: Option<Histogram>,
}

impl Default for Sums {
    fn default() -> Self {
        Self { count: 0, total: 0, self_ns: 0, logical: 0, least: u64::MAX, most: 0, durations: None }
    }
}

impl Sums {
    #[inline]
    fn add(&mut self, duration: u64, self_ns: u64) {
        self.count += 1;
        self.total = self.total.wrapping_add(duration);
        self.self_ns = self.self_ns.wrapping_add(self_ns);
        self.least = self.least.min(duration);
        self.most = self.most.max(duration);
        if let Some(durations) = &mut self.durations {
            durations.add(duration);
        }
    }

    fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        self.count += other.count;
        self.total = self.total.wrapping_add(other.total);
        self.self_ns = self.self_ns.wrapping_add(other.self_ns);
        self.logical += other.logical;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        match (&mut self.durations, &other.durations) {
            (Some(durations), Some(more)) => durations.merge(more),
            (durations, _) => *durations = None,
        }
    }

    /// Threads, tasks and the like have no time of their own.
    pub(super) fn self_ns(&self) -> Option<u64> {
        (self.count > self.logical).then_some(self.self_ns)
    }

    pub(super) fn quantile(&self, share: f64) -> Option<u64> {
        let durations = self.durations.as_ref().filter(|_| self.count > 0)?;
        Some(durations.quantile(share).clamp(self.least, self.most))
    }
}

/// Distinct values, numbered.
#[derive(Default)]
struct Dictionary {
    values: Vec<Value>,
    numbers: HashMap<String, u64>,
    nothing: Option<u64>,
}

impl Dictionary {
    fn number(&mut self, value: Value) -> u64 {
        let next = self.values.len() as u64;
        let number = match &value {
            Value::Null => *self.nothing.get_or_insert(next),
            Value::Text(text) => *self.numbers.entry(text.clone()).or_insert(next),
            Value::Integer(number) => *self.numbers.entry(number.to_string()).or_insert(next),
            _ => next,
        };
        if number == next {
            self.values.push(value);
        }
        number
    }
}

/// How the number of a row's value in a part is found.
enum Find {
    Always(u64),
    Function(Vec<u64>),
    Thread(Vec<u64>),
    Outcome(Vec<u64>),
    /// A number itself, in steps.
    Measure(Field, u64),
}

struct Plan {
    ready: Ready,
    finds: Vec<Find>,
}

/// The sums of all groups, with the groups' values.
pub(super) fn aggregate(
    shared: &Shared,
    parts: &[Part],
    test: &Test,
    wants_quantiles: bool,
) -> Result<Vec<(Vec<Value>, Sums)>, QueryError> {
    let trace = &shared.trace;
    let mut dictionaries: Vec<Dictionary> = parts.iter().map(|_| Dictionary::default()).collect();
    let mut plans = Vec::new();
    for process in trace.processes() {
        let finds = parts.iter().zip(&mut dictionaries).map(|(part, them)| find(trace, process, *part, them)).collect();
        plans.push(Plan { ready: prepare(test, trace, process), finds });
    }
    // Threads and callbacks are few, and added one by one; they come first, so that their values are numbered.
    let mut logical: Vec<([u64; MOST_PARTS], u64)> = Vec::new();
    for process in 0..trace.processes().len() {
        for span in Span::logical(trace, process) {
            shared.cancel.check()?;
            if test.matches_span(trace, &span) {
                let mut key = [0; MOST_PARTS];
                for ((part, dictionary), number) in parts.iter().zip(&mut dictionaries).zip(&mut key) {
                    *number = match span.value(trace, part.field.column()).into() {
                        Value::Integer(value) if is_measure(part.field) => {
                            1 + u64::try_from(value).unwrap_or(0) / part.step
                        }
                        Value::Null if is_measure(part.field) => 0,
                        value => dictionary.number(stepped(value, part.step)),
                    };
                }
                logical.push((key, span.duration(trace)));
            }
        }
    }
    let sizes: Option<Vec<usize>> = parts
        .iter()
        .zip(&dictionaries)
        .map(|(part, dictionary)| (!is_measure(part.field)).then_some(dictionary.values.len().max(1)))
        .collect();
    let dense = sizes.filter(|sizes| {
        sizes.iter().try_fold(1_usize, |all, it| all.checked_mul(*it)).is_some_and(|it| it <= MOST_DENSE)
    });
    let shape = Shape { parts: parts.len(), dense, wants_quantiles };
    let mut groups = Groups::new(&shape);
    for (key, duration) in logical {
        let sums = groups.sums(&shape, key)?;
        sums.add(duration, 0);
        sums.logical += 1;
    }
    for (process, plan) in trace.processes().iter().zip(&plans) {
        let blocks: Vec<usize> = (0..process.tables.meta().blocks.len())
            .filter(|&it| plan.ready.can_be_in(process.tables.block(it)))
            .collect();
        let state = || Worker { groups: Groups::new(&shape), columns: Columns::new(), flags: Vec::new() };
        let states = scan_pieces(blocks.len(), &shared.cancel, state, |worker, piece| {
            worker.add_block(&process.tables, blocks[piece], plan, &shape)
        })?;
        for worker in states {
            groups.merge(&shape, worker.groups)?;
        }
    }
    Ok(groups.finish(&shape, parts, &dictionaries))
}

fn is_measure(field: Field) -> bool {
    matches!(field, Field::Start | Field::End | Field::Duration | Field::SelfTime | Field::Depth)
}

fn stepped(value: Value, step: u64) -> Value {
    match value {
        Value::Integer(number) => Value::Integer(number / i64::try_from(step).unwrap_or(i64::MAX)),
        value => value,
    }
}

fn find(trace: &Trace, process: &TraceProcess, part: Part, dictionary: &mut Dictionary) -> Find {
    let mut labels = |of: fn(&crate::FunctionLabel) -> &String| {
        Find::Function(process.labels().map(|it| dictionary.number(Value::Text(of(it).clone()))).collect())
    };
    match part.field {
        Field::FunctionId => labels(|it| &it.id),
        Field::Name => labels(|it| &it.name),
        Field::Module => labels(|it| &it.module),
        Field::Session => Find::Always(dictionary.number(Value::Text(trace.session_of(process).name.clone()))),
        Field::Pid => Find::Always(dictionary.number(stepped(Value::Integer(process.pid.0.into()), part.step))),
        Field::Type => Find::Always(dictionary.number(Value::Text("frame".into()))),
        Field::Runtime => Find::Always(dictionary.number(Value::Text(process.runtime.into()))),
        Field::Thread => {
            let threads = process.tables.meta().threads.iter();
            let number = |id: ThreadId| stepped(Value::Integer(id.0.into()), part.step);
            Find::Thread(threads.map(|it| dictionary.number(number(it.id))).collect())
        }
        Field::Status | Field::Reason => {
            let value = |byte: usize| {
                let outcome = Outcome::from_byte(byte as u8)?;
                Some(match (part.field, outcome.reason) {
                    (Field::Status, _) => Value::Text(outcome.status.word().into()),
                    (_, Reason::None) => Value::Null,
                    (_, reason) => Value::Text(reason.word().into()),
                })
            };
            Find::Outcome((0..Outcome::BYTES).map(|it| value(it).map_or(0, |value| dictionary.number(value))).collect())
        }
        field => Find::Measure(field, part.step),
    }
}

struct Shape {
    parts: usize,
    /// How many values each part has, where that is known and little enough.
    dense: Option<Vec<usize>>,
    wants_quantiles: bool,
}

/// Groups by their keys.
struct Groups {
    dense: Vec<Sums>,
    sparse: HashMap<[u64; MOST_PARTS], Sums>,
    histograms: usize,
}

impl Groups {
    fn new(shape: &Shape) -> Self {
        let dense = shape.dense.as_ref().map_or(0, |sizes| sizes.iter().product());
        Self { dense: vec![Sums::default(); dense], sparse: HashMap::new(), histograms: 0 }
    }

    #[inline]
    fn sums(&mut self, shape: &Shape, key: [u64; MOST_PARTS]) -> Result<&mut Sums, QueryError> {
        let sums = match &shape.dense {
            Some(sizes) => match sizes[..] {
                [_] => &mut self.dense[key[0] as usize],
                _ => {
                    let index = sizes.iter().zip(key).fold(0, |index, (size, number)| index * size + number as usize);
                    &mut self.dense[index]
                }
            },
            None => {
                if self.sparse.len() >= MOST_GROUPS && !self.sparse.contains_key(&key) {
                    return Err(QueryError::TooLarge);
                }
                self.sparse.entry(key).or_default()
            }
        };
        if shape.wants_quantiles && sums.count == 0 && self.histograms < MOST_HISTOGRAMS {
            self.histograms += 1;
            sums.durations = Some(Histogram::default());
        }
        Ok(sums)
    }

    fn merge(&mut self, shape: &Shape, other: Self) -> Result<(), QueryError> {
        for (sums, more) in self.dense.iter_mut().zip(&other.dense).filter(|(_, more)| more.count > 0) {
            sums.merge(more);
        }
        for (key, more) in other.sparse {
            self.sums(shape, key)?.merge(&more);
        }
        Ok(())
    }

    /// The groups that have spans, the ones with most time first.
    fn finish(self, shape: &Shape, parts: &[Part], dictionaries: &[Dictionary]) -> Vec<(Vec<Value>, Sums)> {
        let value = |index: usize, number: u64| match parts[index].field {
            field if is_measure(field) => match number.checked_sub(1) {
                None => Value::Null,
                Some(number) => crate::relation::number(number),
            },
            _ => dictionaries[index].values.get(number as usize).cloned().unwrap_or(Value::Null),
        };
        let mut groups: Vec<(Vec<Value>, Sums)> = Vec::new();
        for (index, sums) in self.dense.into_iter().enumerate().filter(|(_, sums)| sums.count > 0) {
            let mut rest = index;
            let mut keys = Vec::new();
            for (part, size) in shape.dense.as_deref().unwrap_or_default().iter().enumerate().rev() {
                keys.push(value(part, (rest % size) as u64));
                rest /= size;
            }
            keys.reverse();
            groups.push((keys, sums));
        }
        for (key, sums) in self.sparse {
            groups.push(((0..shape.parts).map(|part| value(part, key[part])).collect(), sums));
        }
        groups.sort_by(|(left_key, left), (right_key, right)| {
            let order = right.total.cmp(&left.total).then(right.count.cmp(&left.count));
            order.then_with(|| format!("{left_key:?}").cmp(&format!("{right_key:?}")))
        });
        groups
    }
}

struct Worker {
    groups: Groups,
    columns: Columns,
    flags: Vec<bool>,
}

impl Worker {
    fn add_block(
        &mut self,
        tables: &ada_span::table::Tables,
        block: usize,
        plan: &Plan,
        shape: &Shape,
    ) -> Result<(), QueryError> {
        let entry = tables.block(block);
        let finds = &plan.finds;
        let needs = |column: Column| {
            let found = finds.iter().any(|find| match find {
                Find::Function(_) => column == Column::Function,
                Find::Outcome(_) => column == Column::Outcome,
                Find::Measure(field, _) => match field {
                    Field::Start => column == Column::Start,
                    Field::End => matches!(column, Column::Start | Column::Duration),
                    Field::SelfTime => column == Column::SelfTime,
                    Field::Depth => column == Column::Depth,
                    _ => column == Column::Duration,
                },
                Find::Always(_) | Find::Thread(_) => false,
            });
            found || matches!(column, Column::Duration | Column::SelfTime) || plan.ready.needs(column)
        };
        tables.read(block, needs, &mut self.columns)?;
        let is_all = plan.ready.is_all_of(entry);
        if !is_all {
            plan.ready.select(entry, &self.columns, &mut self.flags);
        }
        let columns = &self.columns;
        let thread = entry.thread.as_usize();
        let (durations, own) = (columns.get(Column::Duration), columns.get(Column::SelfTime));
        // By function, of everything: what is asked most, and needs neither a key nor a look at conditions.
        if let ([Find::Function(numbers)], Some(_), true) = (&finds[..], &shape.dense, is_all) {
            for ((&function, &duration), &self_ns) in columns.get(Column::Function).iter().zip(durations).zip(own) {
                let index = numbers[function as usize];
                self.groups.sums(shape, [index, 0, 0, 0])?.add(duration, self_ns);
            }
            return Ok(());
        }
        for row in 0..columns.rows() {
            if !is_all && !self.flags[row] {
                continue;
            }
            let mut key = [0; MOST_PARTS];
            for (find, number) in finds.iter().zip(&mut key) {
                *number = match find {
                    Find::Always(number) => *number,
                    Find::Function(numbers) => numbers[columns.at(Column::Function, row) as usize],
                    Find::Thread(numbers) => numbers[thread],
                    Find::Outcome(numbers) => numbers[columns.at(Column::Outcome, row) as usize & 255],
                    Find::Measure(field, step) => {
                        let value = match field {
                            Field::Start => columns.at(Column::Start, row),
                            Field::End => columns.at(Column::Start, row).saturating_add(durations[row]),
                            Field::SelfTime => own[row],
                            Field::Depth => columns.at(Column::Depth, row),
                            _ => durations[row],
                        };
                        1 + value / step
                    }
                };
            }
            self.groups.sums(shape, key)?.add(durations[row], own[row]);
        }
        Ok(())
    }
}
