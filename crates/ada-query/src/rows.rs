//! The rows of an answer, one at a time.

use rusqlite::types::ValueRef;

use crate::error::QueryError;

/// Rows, as far as the limit lets them through.
pub struct Rows<'a> {
    columns: Vec<String>,
    rows: rusqlite::Rows<'a>,
    limit: Option<u64>,
    given: u64,
    did_truncate: bool,
    failure: Option<rusqlite::Error>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(columns: Vec<String>, rows: rusqlite::Rows<'a>, limit: Option<u64>) -> Self {
        Self { columns, rows, limit, given: 0, did_truncate: false, failure: None }
    }

    /// The columns' names.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows were given.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// Whether there are more rows than the limit allows.
    pub fn did_truncate(&self) -> bool {
        self.did_truncate
    }

    /// Hands the next row to `read`, cell by cell. False at the end. What fails is returned to whoever
    /// asked, instead of [`QueryError::Failed`].
    pub fn next(&mut self, mut read: impl FnMut(usize, ValueRef<'_>)) -> Result<bool, QueryError> {
        let row = match self.rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(false),
            Err(error) => {
                self.failure = Some(error);
                return Err(QueryError::Failed);
            }
        };
        if self.limit.is_some_and(|limit| self.given >= limit) {
            self.did_truncate = true;
            return Ok(false);
        }
        for column in 0..self.columns.len() {
            match row.get_ref(column) {
                Ok(value) => read(column, value),
                Err(error) => {
                    self.failure = Some(error);
                    return Err(QueryError::Failed);
                }
            }
        }
        self.given += 1;
        Ok(true)
    }

    /// What ended the rows early.
    pub(crate) fn failure(self) -> Option<rusqlite::Error> {
        self.failure
    }
}
