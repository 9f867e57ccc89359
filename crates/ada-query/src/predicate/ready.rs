//! Conditions made ready for a process: block after block, column after column.

use ada_span::table::{BlockEntry, Column};
use ada_span::{Outcome, Reason};
use rusqlite::types::Value;

use super::{Field, Measure, Subject, Test};
use crate::batch::{Batch, EVENT_KINDS};
use crate::relation::{Op, number_range};
use crate::trace::{Trace, TraceProcess};

/// A condition on the frame spans, or on the events, of one process.
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

/// Makes a condition ready for a process.
pub(crate) fn prepare(test: &Test, subject: Subject, trace: &Trace, process: &TraceProcess) -> Ready {
    let all = |tests: &[Test]| tests.iter().map(|test| prepare(test, subject, trace, process)).collect();
    let ready = match test {
        Test::All(tests) => Ready::All(all(tests)),
        Test::Any(tests) => Ready::Any(all(tests)),
        Test::Compare(field, ..) | Test::Not(field, ..) | Test::IsNull(field) | Test::IsNotNull(field) => {
            leaf(test, *field, subject, trace, process)
        }
    };
    ready.simplified()
}

fn leaf(test: &Test, field: Field, subject: Subject, trace: &Trace, process: &TraceProcess) -> Ready {
    let holds = |value: Value| test.matches(&|_| value.clone());
    let by_label = |of: fn(&crate::FunctionLabel) -> &String| {
        let labels = process.labels().map(|label| holds(Value::Text(of(label).clone())));
        // Some events have no function: their index is one too large.
        let nothing = (subject == Subject::Events).then(|| holds(Value::Null));
        Ready::Function(labels.chain(nothing).collect())
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
        Field::Kind => {
            let kinds = EVENT_KINDS.iter().map(|kind| kind.name().is_some_and(|name| holds(Value::Text(name.into()))));
            Ready::Outcome(kinds.collect())
        }
        Field::Start
        | Field::End
        | Field::Duration
        | Field::SelfTime
        | Field::Depth
        | Field::Time
        | Field::Seq
        | Field::HasDetail => field.measure().map_or(Ready::Always(false), |measure| by_range(test, measure)),
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
                    Measure::Seq | Measure::Detail => (0, u64::MAX),
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
            Self::Range(measure, ..) => measure.needs(column),
            Self::All(parts) | Self::Any(parts) => parts.iter().any(|part| part.needs(column)),
        }
    }

    /// Whether the condition looks at threads.
    pub(crate) fn looks_at_threads(&self) -> bool {
        match self {
            Self::Thread(_) => true,
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::looks_at_threads),
            _ => false,
        }
    }

    /// Which rows match: one flag a row.
    pub(crate) fn select(&self, batch: &impl Batch, flags: &mut Vec<bool>) {
        flags.clear();
        let by_index = |column: Column, holds: &[bool], flags: &mut Vec<bool>| {
            flags.extend(batch.column(column).iter().map(|&at| holds.get(at as usize).copied().unwrap_or(false)));
        };
        match self {
            Self::Always(holds) => flags.resize(batch.rows(), *holds),
            Self::Thread(holds) => {
                flags.resize(batch.rows(), holds.get(batch.thread().as_usize()).copied().unwrap_or(false));
            }
            Self::Function(holds) => by_index(Column::Function, holds, flags),
            Self::Outcome(holds) => by_index(Column::Outcome, holds, flags),
            Self::Range(measure, low, high) => {
                let range = *low..=*high;
                let values = batch.column(measure.column()).iter();
                if *measure == Measure::End {
                    let ends = values.zip(batch.column(Column::Duration)).map(|(start, it)| start.saturating_add(*it));
                    flags.extend(ends.map(|end| range.contains(&end)));
                } else {
                    flags.extend(values.map(|value| range.contains(value)));
                }
            }
            Self::All(parts) | Self::Any(parts) => {
                let is_all = matches!(self, Self::All(_));
                flags.resize(batch.rows(), is_all);
                let mut of_part = Vec::new();
                for part in parts {
                    part.select(batch, &mut of_part);
                    for (flag, other) in flags.iter_mut().zip(&of_part) {
                        *flag = if is_all { *flag & *other } else { *flag | *other };
                    }
                }
            }
        }
    }

    /// The times between which all that matches lies, both included.
    pub(crate) fn times(&self) -> (u64, u64) {
        match self {
            Self::Range(Measure::Start, low, high) => (*low, *high),
            Self::All(parts) => parts
                .iter()
                .map(Self::times)
                .fold((0, u64::MAX), |(low, high), (from, until)| (low.max(from), high.min(until))),
            _ => (0, u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unequal_numbers_are_two_ranges() {
        let test = Test::Not(Field::Depth, Op::Eq, Value::Integer(0));
        assert!(matches!(by_range(&test, Measure::Depth).simplified(), Ready::Range(Measure::Depth, 1, u64::MAX)));
    }
}
