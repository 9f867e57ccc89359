//! The table that SQLite reads groups from: what it selects, orders and limits was grouped before.

use std::sync::{Arc, Mutex};

use rusqlite::types::Value;
use rusqlite::vtab::Context;

use super::groups::Groups;
use super::question::MOST_PARTS;
use super::scan::Running;
use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::relation::{Ask, Op, Relation, RowCursor};

/// Sums that can be asked for at once.
pub(super) const MOST_VALUES: usize = 12;

/// Groups for the next statement that reads them.
#[derive(Clone, Default)]
pub(crate) struct AnswerSlot(Arc<Mutex<Option<(Running, Groups)>>>);

impl AnswerSlot {
    pub(crate) fn put(&self, answer: (Running, Groups)) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(answer);
    }

    fn take(&self) -> Option<(Running, Groups)> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }
}

/// The table. Nobody sees its name.
pub(crate) struct Answers;

impl Relation for Answers {
    type Cursor = AnswerCursor;
    type Source = AnswerSlot;

    fn doc(_: &AnswerSlot) -> &'static TableDoc {
        const { &TableDoc { name: "ada_groups", about: "groups of rows", columns: COLUMNS, parameters: &[] } }
    }

    fn open(slot: &AnswerSlot, _: &Ask) -> Result<AnswerCursor, QueryError> {
        let mut cursor = AnswerCursor { answer: slot.take(), at: 0, given: 0 };
        cursor.skip_empty()?;
        Ok(cursor)
    }

    fn expect(_: &AnswerSlot, _: &[(usize, Op)]) -> f64 {
        1000.0
    }
}

const COLUMNS: &[crate::doc::ColumnDoc] = &[
    plain("key1", Kind::Text, ""),
    plain("key2", Kind::Text, ""),
    plain("key3", Kind::Text, ""),
    plain("key4", Kind::Text, ""),
    plain("value1", Kind::Real, ""),
    plain("value2", Kind::Real, ""),
    plain("value3", Kind::Real, ""),
    plain("value4", Kind::Real, ""),
    plain("value5", Kind::Real, ""),
    plain("value6", Kind::Real, ""),
    plain("value7", Kind::Real, ""),
    plain("value8", Kind::Real, ""),
    plain("value9", Kind::Real, ""),
    plain("value10", Kind::Real, ""),
    plain("value11", Kind::Real, ""),
    plain("value12", Kind::Real, ""),
];
const _: () = assert!(COLUMNS.len() == MOST_PARTS + MOST_VALUES);

pub(crate) struct AnswerCursor {
    answer: Option<(Running, Groups)>,
    at: usize,
    given: i64,
}

impl AnswerCursor {
    fn skip_empty(&mut self) -> Result<(), QueryError> {
        while let Some((running, groups)) = &mut self.answer
            && self.at >= groups.len()
        {
            self.at = 0;
            match running.next()? {
                Some(next) => *groups = next,
                None => self.answer = None,
            }
        }
        Ok(())
    }
}

impl RowCursor for AnswerCursor {
    #[inline]
    fn is_done(&self) -> bool {
        self.answer.is_none()
    }

    #[inline]
    fn advance(&mut self) -> Result<(), QueryError> {
        self.at += 1;
        self.given += 1;
        self.skip_empty()
    }

    fn id(&self) -> i64 {
        self.given
    }

    fn put(&self, column: usize, out: &mut Context) -> rusqlite::Result<()> {
        let value = match &self.answer {
            None => Value::Null,
            Some((_, groups)) if column < MOST_PARTS => groups.key_value(self.at, column),
            Some((_, groups)) => groups.value(self.at, column - MOST_PARTS).ok_or_else(overflow)?,
        };
        out.set_result(&value)
    }
}

/// What SQLite says of a sum that is too large.
fn overflow() -> QueryError {
    QueryError::Mistake(Mistake::new("integer overflow", "", None))
}
