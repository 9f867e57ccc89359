//! Conditions on spans and events.

mod condition;
mod field;
mod ready;

pub(crate) use condition::parse as parse_condition;
pub(crate) use field::{Field, Measure, Subject};
pub(crate) use ready::{Ready, prepare};

use rusqlite::types::Value;

use crate::pattern::{glob, like};
use crate::relation::Op;
use crate::span::Span;
use crate::trace::Trace;

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
        self.matches(&|field| match field.column() {
            Some(column) => span.value(trace, column).into(),
            None => Value::Null,
        })
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
}
