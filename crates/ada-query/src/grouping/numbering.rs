//! Numbers for the values that are grouped by, in SQLite's order: nothing, then numbers, then texts.

use std::cmp::Ordering;
use std::collections::HashMap;

use ada_span::table::{BlockEntry, Column};
use ada_span::{Outcome, Reason, ThreadIndex};
use rusqlite::types::Value;

use super::question::Part;
use crate::batch::EVENT_KINDS;
use crate::predicate::{Field, Measure, Subject};
use crate::relation::signed;
use crate::trace::{FunctionLabel, Trace, TraceProcess};

/// How the number of a row's value is found.
pub(super) enum Find {
    /// The same for all rows of a process.
    Always(u64),
    /// By the row's thread.
    Thread(Vec<u64>),
    /// By what a column has.
    Column(Column, Vec<u64>),
    /// The number itself, in steps, and one more: 0 is nothing.
    Measure(Measure, u64),
}

/// The numbers of a part's values.
pub(super) enum Numbering {
    /// These values, in their order.
    Listed(Vec<Value>),
    /// What is measured, in steps; so many at most.
    Measured { step: u64, size: u64 },
}

impl Numbering {
    /// How many numbers there are.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Listed(values) => values.len().max(1) as u64,
            Self::Measured { size, .. } => *size,
        }
    }

    /// What a number stands for.
    pub(super) fn value(&self, number: u64) -> Value {
        match self {
            Self::Listed(values) => values.get(number as usize).cloned().unwrap_or(Value::Null),
            Self::Measured { .. } => number.checked_sub(1).map_or(Value::Null, |it| Value::Integer(signed(it))),
        }
    }

    /// The number of a value that is one of those counted before; of a measured one without its step.
    pub(super) fn number(&self, value: &Value) -> u64 {
        match (self, value) {
            (Self::Listed(values), value) => values.binary_search_by(|it| order(it, value)).unwrap_or(0) as u64,
            (Self::Measured { step, .. }, Value::Integer(value)) => 1 + u64::try_from(*value).unwrap_or(0) / step,
            _ => 0,
        }
    }
}

/// SQLite's order.
pub(super) fn order(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Real(_) => 1,
        _ => 2,
    };
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
        (Value::Real(left), Value::Real(right)) => left.total_cmp(right),
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// The numbers of a part, and for each process how they are found. `others` are values of what is added one by one.
pub(super) fn number(trace: &Trace, subject: Subject, part: Part, others: Vec<Value>) -> (Numbering, Vec<Find>) {
    if let Some(measure) = part.field.measure() {
        let most = trace.processes().iter().map(|process| largest(trace, process, subject, measure)).max().unwrap_or(0);
        let others = others.iter().filter_map(|it| match it {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        });
        let most = others.fold(most, u64::max);
        let numbering = Numbering::Measured { step: part.step, size: (most / part.step).saturating_add(2) };
        return (numbering, trace.processes().iter().map(|_| Find::Measure(measure, part.step)).collect());
    }
    let listed: Vec<Listed> = trace.processes().iter().map(|it| Listed::of(trace, it, subject, part)).collect();
    let mut values: Vec<Value> = listed.iter().flat_map(|it| it.values.iter().cloned()).chain(others).collect();
    values.sort_by(order);
    values.dedup();
    let numbering = Numbering::Listed(values);
    let finds = listed.into_iter().map(|it| it.find(&numbering)).collect();
    (numbering, finds)
}

/// The largest measure that a process has. Events beyond are not counted, and SQLite has to.
pub(super) fn largest(trace: &Trace, process: &TraceProcess, subject: Subject, measure: Measure) -> u64 {
    let meta = process.tables.meta();
    let of_blocks = |of: fn(&BlockEntry) -> u64| meta.blocks.iter().map(of).max().unwrap_or(0);
    match measure {
        Measure::Detail => 1,
        Measure::Seq => meta.threads.iter().map(|it| it.facts.events).max().unwrap_or(0),
        Measure::Start if subject == Subject::Events => {
            let threads = trace.recorded(process).threads.iter();
            let last = threads.filter_map(|it| it.index().events().next_back()).map(|it| it.timestamp.0).max();
            last.unwrap_or(0).max(of_blocks(|it| it.max_end.0))
        }
        Measure::Start => of_blocks(|it| it.max_start.0),
        Measure::End => of_blocks(|it| it.max_end.0),
        Measure::Duration | Measure::SelfTime => of_blocks(|it| it.max_duration),
        // An event of another stack says how many calls are open there, which is one more than the depth of the newest.
        Measure::Depth => of_blocks(|it| it.max_depth.into()) + u64::from(subject == Subject::Events),
    }
}

/// A process's values of a part.
struct Listed {
    by: By,
    values: Vec<Value>,
}

#[derive(Clone, Copy)]
enum By {
    Process,
    Thread,
    Column(Column),
}

impl Listed {
    fn of(trace: &Trace, process: &TraceProcess, subject: Subject, part: Part) -> Self {
        let text = |text: &str| Value::Text(text.to_owned());
        let process_wide = |value: Value| Self { by: By::Process, values: vec![value] };
        let labels = |of: fn(&FunctionLabel) -> &String| {
            let labels = process.labels().map(|it| Value::Text(of(it).clone()));
            // Some events have no function: their index is one too large.
            let nothing = (subject == Subject::Events).then_some(Value::Null);
            Self { by: By::Column(Column::Function), values: labels.chain(nothing).collect() }
        };
        match part.field {
            Field::FunctionId => labels(|it| &it.id),
            Field::Name => labels(|it| &it.name),
            Field::Module => labels(|it| &it.module),
            Field::Session => process_wide(text(&trace.session_of(process).name)),
            Field::Pid => process_wide(stepped(process.pid.0.into(), part.step)),
            Field::Type => process_wide(text("frame")),
            Field::Runtime => process_wide(text(process.runtime)),
            Field::Thread => {
                let threads = process.tables.meta().threads.iter();
                let values = threads.map(|it| stepped(it.id.0.into(), part.step)).collect();
                Self { by: By::Thread, values }
            }
            Field::Kind => {
                let kinds = EVENT_KINDS.iter().map(|kind| kind.name().map_or(Value::Null, text));
                Self { by: By::Column(Column::Outcome), values: kinds.collect() }
            }
            // The rest is measured.
            field => {
                let value = |byte: usize| match (field, Outcome::from_byte(byte as u8)) {
                    (Field::Status, Some(outcome)) => text(outcome.status.word()),
                    (_, Some(outcome)) if outcome.reason != Reason::None => text(outcome.reason.word()),
                    _ => Value::Null,
                };
                Self { by: By::Column(Column::Outcome), values: (0..Outcome::BYTES).map(value).collect() }
            }
        }
    }

    fn find(self, numbering: &Numbering) -> Find {
        // Thousands of functions share a module.
        let mut known: HashMap<&str, u64> = HashMap::new();
        let numbers = self.values.iter().map(|value| match value {
            Value::Text(text) => *known.entry(text).or_insert_with(|| numbering.number(value)),
            value => numbering.number(value),
        });
        let numbers: Vec<u64> = numbers.collect();
        match self.by {
            By::Process => Find::Always(numbers.first().copied().unwrap_or(0)),
            By::Thread => Find::Thread(numbers),
            By::Column(column) => Find::Column(column, numbers),
        }
    }
}

/// A number that does not change from row to row, in steps.
pub(super) fn stepped(number: i64, step: u64) -> Value {
    Value::Integer(number / i64::try_from(step).unwrap_or(i64::MAX))
}

impl Find {
    /// Whether it looks at a column.
    pub(super) fn needs(&self, column: Column) -> bool {
        match self {
            Self::Always(_) | Self::Thread(_) => false,
            Self::Column(looked_at, _) => *looked_at == column,
            Self::Measure(measure, _) => measure.needs(column),
        }
    }

    /// The number for all rows of a thread, where there is one.
    pub(super) fn constant(&self, thread: ThreadIndex) -> Option<u64> {
        match self {
            Self::Always(number) => Some(*number),
            Self::Thread(numbers) => Some(numbers.get(thread.as_usize()).copied().unwrap_or(0)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_the_order_of_sqlite() {
        let text = |it: &str| Value::Text(it.into());
        let mut values = vec![text("b"), Value::Integer(10), Value::Null, text("a"), Value::Integer(9), text("B")];
        values.sort_by(order);
        assert_eq!(values, [Value::Null, Value::Integer(9), Value::Integer(10), text("B"), text("a"), text("b")]);
        let numbering = Numbering::Listed(values);
        assert_eq!((numbering.number(&text("a")), numbering.value(4)), (4, text("a")));
        let measured = Numbering::Measured { step: 10, size: 100 };
        assert_eq!((measured.number(&Value::Integer(25)), measured.value(3)), (3, Value::Integer(2)));
        assert_eq!((measured.number(&Value::Null), measured.value(0)), (0, Value::Null));
    }
}
