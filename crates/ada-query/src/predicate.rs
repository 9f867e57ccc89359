//! Conditions on spans, made ready for a process: block after block, column after column.

use ada_span::table::{BlockEntry, Column, Columns};
use ada_span::{Outcome, Reason};
use rusqlite::types::Value;

use crate::doc::Kind;
use crate::pattern::{glob, like};
use crate::relation::{Op, number_range};
use crate::span::{Span, SpanColumn};
use crate::trace::{Trace, TraceProcess};

/// What conditions can be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    Session,
    Pid,
    Type,
    Runtime,
    FunctionId,
    Name,
    Module,
    Start,
    End,
    Duration,
    SelfTime,
    Depth,
    Thread,
    Status,
    Reason,
}

impl Field {
    /// All of them, in the order of the columns.
    const ALL: [Self; 15] = [
        Self::Session,
        Self::Pid,
        Self::Type,
        Self::Runtime,
        Self::FunctionId,
        Self::Name,
        Self::Module,
        Self::Start,
        Self::End,
        Self::Duration,
        Self::SelfTime,
        Self::Depth,
        Self::Thread,
        Self::Status,
        Self::Reason,
    ];

    /// The column of `spans` that it is.
    pub(crate) const fn column(self) -> SpanColumn {
        match self {
            Self::Session => SpanColumn::Session,
            Self::Pid => SpanColumn::Pid,
            Self::Type => SpanColumn::Type,
            Self::Runtime => SpanColumn::Runtime,
            Self::FunctionId => SpanColumn::FunctionId,
            Self::Name => SpanColumn::Name,
            Self::Module => SpanColumn::Module,
            Self::Start => SpanColumn::Start,
            Self::End => SpanColumn::End,
            Self::Duration => SpanColumn::Duration,
            Self::SelfTime => SpanColumn::SelfTime,
            Self::Depth => SpanColumn::Depth,
            Self::Thread => SpanColumn::Thread,
            Self::Status => SpanColumn::Status,
            Self::Reason => SpanColumn::Reason,
        }
    }

    /// By the column; none of one that takes no conditions.
    pub(crate) fn of(column: SpanColumn) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.column() == column)
    }

    /// By the column's name in `spans`, or by what people call it.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "function" => Some(Self::Name),
            "thread" => Some(Self::Thread),
            name => Self::ALL.into_iter().find(|field| field.column().name() == name),
        }
    }

    /// The columns' names.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(|field| field.column().name())
    }

    /// Whether its values are numbers.
    pub(crate) fn is_number(self) -> bool {
        self.column().doc().kind == Kind::Integer
    }
}

/// A condition. Negation is pushed to the leaves, because nothing is neither equal nor unequal to what is missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    Compare(Field, Op, Value),
    /// Not equal, not like.
    Not(Field, Op, Value),
    IsNull(Field),
    IsNotNull(Field),
    All(Vec<Test>),
    Any(Vec<Test>),
}

impl Test {
    /// The opposite, as SQL sees it.
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Compare(field, Op::Gt, value) => Self::Compare(field, Op::Le, value),
            Self::Compare(field, Op::Ge, value) => Self::Compare(field, Op::Lt, value),
            Self::Compare(field, Op::Lt, value) => Self::Compare(field, Op::Ge, value),
            Self::Compare(field, Op::Le, value) => Self::Compare(field, Op::Gt, value),
            Self::Compare(field, op, value) => Self::Not(field, op, value),
            Self::Not(field, op, value) => Self::Compare(field, op, value),
            Self::IsNull(field) => Self::IsNotNull(field),
            Self::IsNotNull(field) => Self::IsNull(field),
            Self::All(tests) => Self::Any(tests.into_iter().map(Self::negated).collect()),
            Self::Any(tests) => Self::All(tests.into_iter().map(Self::negated).collect()),
        }
    }

    /// Whether a span matches.
    pub(crate) fn matches_span(&self, trace: &Trace, span: &Span) -> bool {
        self.matches(&|field| span.value(trace, field.column()).into())
    }

    /// Whether one row matches, by its values.
    pub(crate) fn matches(&self, of: &dyn Fn(Field) -> Value) -> bool {
        match self {
            Self::Compare(field, op, value) => compares(&of(*field), *op, value) == Some(true),
            Self::Not(field, op, value) => compares(&of(*field), *op, value) == Some(false),
            Self::IsNull(field) => of(*field) == Value::Null,
            Self::IsNotNull(field) => of(*field) != Value::Null,
            Self::All(tests) => tests.iter().all(|test| test.matches(of)),
            Self::Any(tests) => tests.iter().any(|test| test.matches(of)),
        }
    }
}

/// Compares as SQLite does. None where there is nothing to compare.
fn compares(left: &Value, op: Op, right: &Value) -> Option<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    if let (Value::Text(left), Value::Text(right)) = (left, right) {
        match op {
            Op::Like => return Some(like(right, left)),
            Op::Glob => return glob(right, left),
            _ => (),
        }
    }
    let order = match (left, right) {
        (Value::Text(left), Value::Text(right)) => left.as_str().cmp(right),
        (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
        (Value::Integer(left), Value::Real(right)) => (*left as f64).partial_cmp(right)?,
        (Value::Real(left), Value::Integer(right)) => left.partial_cmp(&(*right as f64))?,
        (Value::Real(left), Value::Real(right)) => left.partial_cmp(right)?,
        // Numbers come before texts.
        (Value::Integer(_) | Value::Real(_), Value::Text(_)) => Less,
        (Value::Text(_), Value::Integer(_) | Value::Real(_)) => Greater,
        _ => return None,
    };
    match op {
        Op::Eq => Some(order == Equal),
        Op::Gt => Some(order == Greater),
        Op::Ge => Some(order != Less),
        Op::Lt => Some(order == Less),
        Op::Le => Some(order != Greater),
        Op::Like | Op::Glob => None,
    }
}

/// A condition on the frame spans of one process.
#[derive(Clone, Debug)]
pub(crate) enum Ready {
    Always(bool),
    /// By the function's index.
    Function(Vec<bool>),
    /// By the thread's index.
    Thread(Vec<bool>),
    /// By the outcome's byte.
    Outcome(Vec<bool>),
    /// Both ends included.
    Range(Measure, u64, u64),
    All(Vec<Ready>),
    Any(Vec<Ready>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    Start,
    End,
    Duration,
    SelfTime,
    Depth,
}

/// Makes a condition ready for a process.
pub(crate) fn prepare(test: &Test, trace: &Trace, process: &TraceProcess) -> Ready {
    let ready = match test {
        Test::All(tests) => Ready::All(tests.iter().map(|test| prepare(test, trace, process)).collect()),
        Test::Any(tests) => Ready::Any(tests.iter().map(|test| prepare(test, trace, process)).collect()),
        Test::Compare(field, ..) | Test::Not(field, ..) | Test::IsNull(field) | Test::IsNotNull(field) => {
            leaf(test, *field, trace, process)
        }
    };
    ready.simplified()
}

fn leaf(test: &Test, field: Field, trace: &Trace, process: &TraceProcess) -> Ready {
    let holds = |value: Value| test.matches(&|_| value.clone());
    let by_label = |of: fn(&crate::FunctionLabel) -> &String| {
        Ready::Function(process.labels().map(|label| holds(Value::Text(of(label).clone()))).collect())
    };
    let by_outcome = |of: fn(Outcome) -> Value| {
        let holds_for = |byte: usize| Outcome::from_byte(byte as u8).is_some_and(|outcome| holds(of(outcome)));
        Ready::Outcome((0..Outcome::BYTES).map(holds_for).collect())
    };
    match field {
        Field::Session => Ready::Always(holds(Value::Text(trace.session_of(process).name.clone()))),
        Field::Pid => Ready::Always(holds(Value::Integer(process.pid.0.into()))),
        Field::Type => Ready::Always(holds(Value::Text("frame".into()))),
        Field::Runtime => Ready::Always(holds(Value::Text(process.runtime.into()))),
        Field::FunctionId => by_label(|label| &label.id),
        Field::Name => by_label(|label| &label.name),
        Field::Module => by_label(|label| &label.module),
        Field::Thread => {
            let threads = process.tables.meta().threads.iter();
            Ready::Thread(threads.map(|thread| holds(Value::Integer(thread.id.0.into()))).collect())
        }
        Field::Status => by_outcome(|outcome| Value::Text(outcome.status.word().into())),
        Field::Reason => by_outcome(|outcome| match outcome.reason {
            Reason::None => Value::Null,
            reason => Value::Text(reason.word().into()),
        }),
        Field::Start => by_range(test, Measure::Start),
        Field::End => by_range(test, Measure::End),
        Field::Duration => by_range(test, Measure::Duration),
        Field::SelfTime => by_range(test, Measure::SelfTime),
        Field::Depth => by_range(test, Measure::Depth),
    }
}

/// Measures are always there, and are numbers.
fn by_range(test: &Test, measure: Measure) -> Ready {
    match test {
        Test::IsNull(_) => Ready::Always(false),
        Test::IsNotNull(_) => Ready::Always(true),
        Test::Compare(_, op, value) => match number_range(*op, value) {
            Some((low, high)) if low <= high => Ready::Range(measure, low, high),
            Some(_) => Ready::Always(false),
            // Numbers come before texts.
            None => Ready::Always(matches!((op, value), (Op::Lt | Op::Le, Value::Text(_)))),
        },
        Test::Not(_, Op::Eq, value) => match number_range(Op::Eq, value) {
            Some((low, high)) if low <= high => Ready::Any(vec![
                low.checked_sub(1).map_or(Ready::Always(false), |below| Ready::Range(measure, 0, below)),
                high.checked_add(1).map_or(Ready::Always(false), |above| Ready::Range(measure, above, u64::MAX)),
            ]),
            Some(_) => Ready::Always(true),
            None => Ready::Always(matches!(value, Value::Text(_))),
        },
        _ => Ready::Always(false),
    }
}

impl Ready {
    pub(crate) fn simplified(self) -> Self {
        let all_alike = |flags: &[bool]| {
            let first = flags.first().copied();
            first.filter(|first| flags.iter().all(|flag| flag == first))
        };
        match self {
            Self::Function(flags) | Self::Thread(flags) if flags.is_empty() => Self::Always(false),
            Self::Function(flags) => all_alike(&flags).map_or(Self::Function(flags), Self::Always),
            Self::Thread(flags) => all_alike(&flags).map_or(Self::Thread(flags), Self::Always),
            Self::Range(_, 0, u64::MAX) => Self::Always(true),
            Self::All(mut parts) => {
                parts.retain(|part| !matches!(part, Self::Always(true)));
                match parts.len() {
                    _ if parts.iter().any(|part| matches!(part, Self::Always(false))) => Self::Always(false),
                    0 => Self::Always(true),
                    1 => parts.remove(0),
                    _ => Self::All(parts),
                }
            }
            Self::Any(mut parts) => {
                parts.retain(|part| !matches!(part, Self::Always(false)));
                match parts.len() {
                    _ if parts.iter().any(|part| matches!(part, Self::Always(true))) => Self::Always(true),
                    0 => Self::Always(false),
                    1 => parts.remove(0),
                    _ => Self::Any(parts),
                }
            }
            other => other,
        }
    }

    /// Whether a block can have a row that matches.
    pub(crate) fn can_be_in(&self, block: &BlockEntry) -> bool {
        match self {
            Self::Always(holds) => *holds,
            Self::Function(_) | Self::Outcome(_) => true,
            Self::Thread(flags) => flags.get(block.thread.as_usize()).copied().unwrap_or(false),
            Self::Range(measure, low, high) => {
                let (least, most) = match measure {
                    Measure::Start => (block.min_start.0, block.max_start.0),
                    Measure::End => (block.min_start.0, block.max_end.0),
                    Measure::Duration | Measure::SelfTime => (0, block.max_duration),
                    Measure::Depth => (block.min_depth.into(), block.max_depth.into()),
                };
                *low <= most && *high >= least
            }
            Self::All(parts) => parts.iter().all(|part| part.can_be_in(block)),
            Self::Any(parts) => parts.iter().any(|part| part.can_be_in(block)),
        }
    }

    /// Whether all rows of such a block match, so that they need not be looked at.
    pub(crate) fn is_all_of(&self, block: &BlockEntry) -> bool {
        match self {
            Self::Always(holds) => *holds,
            Self::Thread(flags) => flags.get(block.thread.as_usize()).copied().unwrap_or(false),
            Self::Range(Measure::Start, low, high) => *low <= block.min_start.0 && block.max_start.0 <= *high,
            Self::Range(Measure::Depth, low, high) => {
                *low <= block.min_depth.into() && u64::from(block.max_depth) <= *high
            }
            Self::All(parts) => parts.iter().all(|part| part.is_all_of(block)),
            Self::Any(parts) => parts.iter().any(|part| part.is_all_of(block)),
            _ => false,
        }
    }

    /// Whether the condition looks at a column.
    pub(crate) fn needs(&self, column: Column) -> bool {
        match self {
            Self::Always(_) | Self::Thread(_) => false,
            Self::Function(_) => column == Column::Function,
            Self::Outcome(_) => column == Column::Outcome,
            Self::Range(measure, ..) => match measure {
                Measure::Start => column == Column::Start,
                Measure::End => matches!(column, Column::Start | Column::Duration),
                Measure::Duration => column == Column::Duration,
                Measure::SelfTime => column == Column::SelfTime,
                Measure::Depth => column == Column::Depth,
            },
            Self::All(parts) | Self::Any(parts) => parts.iter().any(|part| part.needs(column)),
        }
    }

    /// Which rows of a block match: one flag a row.
    pub(crate) fn select(&self, block: &BlockEntry, columns: &Columns, flags: &mut Vec<bool>) {
        flags.clear();
        let by_index = |column: Column, holds: &[bool], flags: &mut Vec<bool>| {
            flags.extend(columns.get(column).iter().map(|&at| holds.get(at as usize).copied().unwrap_or(false)));
        };
        match self {
            Self::Always(holds) => flags.resize(columns.rows(), *holds),
            Self::Thread(holds) => {
                flags.resize(columns.rows(), holds.get(block.thread.as_usize()).copied().unwrap_or(false));
            }
            Self::Function(holds) => by_index(Column::Function, holds, flags),
            Self::Outcome(holds) => by_index(Column::Outcome, holds, flags),
            Self::Range(measure, low, high) => {
                let range = *low..=*high;
                let column = match measure {
                    Measure::Start | Measure::End => Column::Start,
                    Measure::Duration => Column::Duration,
                    Measure::SelfTime => Column::SelfTime,
                    Measure::Depth => Column::Depth,
                };
                let values = columns.get(column).iter();
                if *measure == Measure::End {
                    let ends = values.zip(columns.get(Column::Duration)).map(|(start, it)| start.saturating_add(*it));
                    flags.extend(ends.map(|end| range.contains(&end)));
                } else {
                    flags.extend(values.map(|value| range.contains(value)));
                }
            }
            Self::All(parts) | Self::Any(parts) => {
                let is_all = matches!(self, Self::All(_));
                flags.resize(columns.rows(), is_all);
                let mut of_part = Vec::new();
                for part in parts {
                    part.select(block, columns, &mut of_part);
                    for (flag, other) in flags.iter_mut().zip(&of_part) {
                        *flag = if is_all { *flag & *other } else { *flag | *other };
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_neither_equal_nor_unequal() {
        let test = Test::Compare(Field::Reason, Op::Eq, Value::Text("crash".into()));
        let missing = |_: Field| Value::Null;
        assert!(!test.matches(&missing) && !test.clone().negated().matches(&missing));
        let other = |_: Field| Value::Text("unwind".into());
        assert!(!test.matches(&other) && test.clone().negated().matches(&other));
        let both = Test::All(vec![test.clone(), Test::IsNotNull(Field::Reason)]).negated();
        assert!(both.matches(&missing) && both.matches(&other));
    }

    #[test]
    fn unequal_numbers_are_two_ranges() {
        let test = Test::Not(Field::Depth, Op::Eq, Value::Integer(0));
        assert!(matches!(by_range(&test, Measure::Depth).simplified(), Ready::Range(Measure::Depth, 1, u64::MAX)));
    }
}
