//! What is to be summed, and by what.

use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::nearest::nearest;
use crate::predicate::{Field, Measure, Subject, Test};

/// Columns that can be grouped by at once.
pub(crate) const MOST_PARTS: usize = 4;

/// A column that is grouped by, in steps of a size for numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) field: Field,
    pub(crate) step: u64,
}

/// A sum over the rows of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    /// Of all rows.
    Rows,
    /// Of those that have a value.
    Count(Measure),
    Sum(Measure),
    Total(Measure),
    Mean(Measure),
    Least(Measure),
    Most(Measure),
}

/// A column of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    Key(usize),
    Value(usize),
}

/// The first so many groups in an order; the others are not wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    /// What is compared, and whether the larger comes first.
    pub(crate) terms: Vec<(Term, bool)>,
    pub(crate) count: usize,
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) subject: Subject,
    pub(crate) parts: Vec<Part>,
    pub(crate) test: Test,
    pub(crate) values: Vec<Aggregate>,
    pub(crate) top: Option<Top>,
    /// Whether there is a group even without rows: a question for sums alone.
    pub(crate) is_never_empty: bool,
    /// Whether histograms of durations are wanted, for percentiles.
    pub(crate) wants_quantiles: bool,
}

/// Columns, separated by commas, each with a step where it is a number: `name, start_ns/1000000`.
pub(crate) fn parse_parts(subject: Subject, text: &str) -> Result<Vec<Part>, QueryError> {
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
        let Some(field) = Field::from_name(subject, &name) else {
            let mut mistake = Mistake::new(format!("spans cannot be grouped by {name}"), text, Some(at));
            mistake.suggestion = nearest(&name, Field::names(subject)).map(str::to_owned);
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
