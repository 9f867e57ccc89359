//! SQLite over a trace, read-only.

use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode};

use crate::cancel::Cancel;
use crate::doc::TableDoc;
use crate::error::QueryError;
use crate::exported::{ParquetFolder, register_exported};
use crate::grouping::{AnswerSlot, Answers, Running, rewrite};
use crate::heap;
use crate::limits::Limits;
use crate::mistake::{Mistake, What};
use crate::rows::Rows;
use crate::shared::Shared;
use crate::sql_functions;
use crate::stats::with_names;
use crate::tables::{documented, register_all};
use crate::trace::Trace;
use crate::virtual_table::register;

/// Instructions of SQLite's between two looks at the clock and at whether somebody has cancelled.
const BETWEEN_LOOKS: i32 = 4000;

/// Answers SQL.
pub struct Engine {
    connection: Connection,
    shared: Shared,
    /// Where groups are put that were made beside SQLite; none over files without a trace.
    groups: Option<AnswerSlot>,
}

impl Engine {
    /// An engine over a trace.
    pub fn new(trace: Arc<Trace>, cancel: Cancel) -> Result<Self, QueryError> {
        let shared = Shared { trace, cancel };
        let slot = AnswerSlot::default();
        let engine = Self::with_tables(shared, |connection, shared| {
            register::<Answers>(connection, &slot)?;
            register_all(connection, shared)
        })?;
        Ok(Self { groups: Some(slot), ..engine })
    }

    /// An engine over folders that were exported: the tables, but not the functions that walk through spans.
    pub fn over_parquet(folders: &[ParquetFolder], cancel: Cancel) -> Result<Self, QueryError> {
        let shared = Shared { trace: Arc::new(Trace::new(Vec::new())), cancel };
        Self::with_tables(shared, |connection, shared| register_exported(connection, folders, shared))
    }

    fn with_tables(
        shared: Shared,
        register: impl FnOnce(&Connection, &Shared) -> rusqlite::Result<()>,
    ) -> Result<Self, QueryError> {
        let mut connection = Connection::open_in_memory().map_err(QueryError::Sqlite)?;
        register(&connection, &shared).map_err(QueryError::Sqlite)?;
        set_up(&mut connection, &shared).map_err(QueryError::Sqlite)?;
        Ok(Self { connection, shared, groups: None })
    }

    /// The trace.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.shared.trace
    }

    /// What cancels questions.
    pub fn cancel(&self) -> &Cancel {
        &self.shared.cancel
    }

    /// Asks, and hands the rows to whoever wants them. One statement; `DESCRIBE TABLE` is known too.
    pub fn ask<T>(
        &self,
        sql: &str,
        limits: &Limits,
        read: impl FnOnce(&mut Rows<'_>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        self.shared.cancel.begin(limits.time);
        let described = match describe(sql) {
            Some(described) => Some(described),
            None => self.group(sql, limits)?.or_else(|| with_names(sql)),
        };
        let text = described.as_deref().unwrap_or(sql);
        heap::limit(limits.memory);
        // What is wrong is said of what was asked.
        let prepared = self.connection.prepare(text).or_else(|_| self.connection.prepare(sql));
        let mut statement = prepared.map_err(|error| self.explain(error, sql))?;
        if !statement.readonly() || statement.column_count() == 0 {
            return Err(QueryError::ReadOnly("only SELECT, WITH, VALUES, EXPLAIN and DESCRIBE are answered".into()));
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let rows = statement.query([]).map_err(|error| self.explain(error, sql))?;
        let mut rows = Rows::new(columns, rows, limits.rows);
        let answer = read(&mut rows);
        match rows.failure() {
            Some(error) => Err(self.explain(error, sql)),
            None => answer,
        }
    }

    /// Makes the groups that a question is about, if it is about groups that SQLite need not make, and gives what is then
    /// asked of them.
    fn group(&self, sql: &str, limits: &Limits) -> Result<Option<String>, QueryError> {
        let (Some(slot), Some(rewritten)) = (&self.groups, rewrite(sql)) else { return Ok(None) };
        let answer = Running::begin(&self.shared, rewritten.question, limits.memory)?;
        Ok(answer.map(|answer| {
            slot.put(answer);
            rewritten.sql
        }))
    }

    /// Names for completion: tables, functions and columns.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = documented()
            .iter()
            .flat_map(|table| std::iter::once(table.name).chain(table.columns.iter().map(|it| it.name)))
            .chain(sql_functions::NAMES)
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn explain(&self, error: rusqlite::Error, sql: &str) -> QueryError {
        if let Err(reason) = self.shared.cancel.check()
            && matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::OperationInterrupted) | None | Some(ErrorCode::Unknown)
            )
        {
            return reason;
        }
        let known = |what: What| -> Vec<&'static str> {
            match what {
                What::Column => columns_of(sql),
                What::Table => documented().iter().map(|it| it.name).collect(),
                What::Function => documented()
                    .iter()
                    .filter(|it| !it.parameters.is_empty())
                    .map(|it| it.name)
                    .chain(sql_functions::NAMES)
                    .chain(["count", "sum", "avg", "min", "max", "round", "printf", "json_extract", "group_concat"])
                    .collect(),
            }
        };
        match error {
            rusqlite::Error::SqlInputError { msg, sql: statement, offset, .. } => {
                // Of several statements, the one that is complained of comes last.
                let begin = sql.strip_suffix(&statement).map_or(0, str::len);
                let offset = usize::try_from(offset).ok().map(|offset| begin + offset);
                QueryError::Mistake(Mistake::new(msg, sql, offset).with_suggestion(known))
            }
            rusqlite::Error::SqliteFailure(failure, words) => match failure.code {
                ErrorCode::OperationInterrupted => QueryError::Cancelled,
                ErrorCode::OutOfMemory => QueryError::TooLarge,
                ErrorCode::AuthorizationForStatementDenied => {
                    QueryError::ReadOnly(words.unwrap_or_else(|| "not allowed".into()))
                }
                _ => {
                    let words = words.unwrap_or_else(|| failure.to_string());
                    QueryError::Mistake(Mistake::new(words, sql, None).with_suggestion(known))
                }
            },
            rusqlite::Error::MultipleStatement => {
                QueryError::Mistake(Mistake::new("one statement at a time", sql, None))
            }
            other => QueryError::Sqlite(other),
        }
    }
}

/// The columns of the tables that a question names; of all tables where it names none.
fn columns_of(sql: &str) -> Vec<&'static str> {
    let words: Vec<&str> = sql.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let is_named = |table: &TableDoc| words.iter().any(|word| word.eq_ignore_ascii_case(table.name));
    let has_named = documented().iter().any(|table| is_named(table));
    let tables = documented().iter().filter(|table| !has_named || is_named(table));
    tables.flat_map(|table| table.columns).map(|column| column.name).collect()
}

fn set_up(connection: &mut Connection, shared: &Shared) -> rusqlite::Result<()> {
    sql_functions::register(connection)?;
    // Sorting goes to memory, which is limited, and never to files.
    connection.execute_batch("PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; PRAGMA query_only=ON;")?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, 64 << 20)?;
    connection.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, 200)?;
    connection.authorizer(Some(allow))?;
    let cancel = shared.cancel.clone();
    connection.progress_handler(BETWEEN_LOOKS, Some(move || cancel.check().is_err()))?;
    Ok(())
}

/// What statements may do: read. SQLite asks for each part of a statement when it is prepared.
fn allow(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } => match function_name.to_ascii_lowercase().as_str() {
            // They load code, or touch files.
            "load_extension" | "readfile" | "writefile" | "edit" | "fts3_tokenizer" => Authorization::Deny,
            _ => Authorization::Allow,
        },
        AuthAction::Pragma { pragma_name, .. } => match pragma_name.to_ascii_lowercase().as_str() {
            "table_info" | "table_xinfo" | "table_list" | "function_list" | "pragma_list" | "compile_options" => {
                Authorization::Allow
            }
            _ => Authorization::Deny,
        },
        _ => Authorization::Deny,
    }
}

/// `DESCRIBE spans` and `DESCRIBE` as questions to the tables' own description.
fn describe(sql: &str) -> Option<String> {
    let sql = sql.trim().trim_end_matches(';').trim();
    let (word, rest) = sql.split_at_checked(8)?;
    if !word.eq_ignore_ascii_case("describe") {
        return None;
    }
    let table = rest.trim();
    if table.is_empty() {
        return Some("SELECT DISTINCT table_name FROM ada_schema".into());
    }
    let is_name = rest.starts_with(char::is_whitespace) && table.chars().all(|it| it.is_alphanumeric() || it == '_');
    let select = "SELECT column_name, type, about FROM ada_schema WHERE";
    is_name.then(|| {
        let table = table.to_ascii_lowercase();
        format!("{select} table_name = '{table}' OR table_name LIKE '{table}(%'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_asked_for_by_name() {
        assert!(describe("describe spans;").is_some_and(|sql| sql.contains("'spans'")));
        assert!(describe("DESCRIBE").is_some());
        assert_eq!(describe("describe x'; drop"), None);
        assert_eq!(describe("describex"), None);
        assert_eq!(describe("SELECT 1"), None);
    }
}
