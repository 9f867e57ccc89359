//! The tables as one ordinary SQLite file.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::Exported;
use crate::doc::TableDoc;
use crate::engine::Engine;
use crate::error::QueryError;
use crate::limits::Limits;
use crate::tables::{documented, exported};

/// What is looked up often enough for an index.
const INDEXES: [(&str, &str); 5] = [
    ("spans", "start_ns"),
    ("spans", "name"),
    ("spans", "span_id"),
    ("spans", "parent_span_id"),
    ("events", "time_ns"),
];

/// Writes the tables with these names, or all, into a new file. `progress` hears of each table.
pub fn to_sqlite(
    engine: &Engine,
    path: &Path,
    wanted: &[String],
    mut progress: impl FnMut(&str, u64),
) -> Result<Vec<Exported>, QueryError> {
    let file = Connection::open(path).map_err(QueryError::Sqlite)?;
    // Nobody needs half a file: without a journal it is written once.
    file.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;").map_err(QueryError::Sqlite)?;
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    let mut all = Vec::new();
    for table in exported().chain(documented().iter().copied().filter(|it| it.name == "ada_schema")) {
        if is_wanted(table.name) || table.name == "ada_schema" {
            let rows = copy(engine, &file, table, &mut |rows| progress(table.name, rows))?;
            all.push(Exported { table: table.name, rows, files: 1 });
        }
    }
    for (table, column) in INDEXES.into_iter().filter(|(table, _)| is_wanted(table)) {
        let sql = format!("CREATE INDEX {table}_{column} ON {table}({column})");
        file.execute_batch(&sql).map_err(QueryError::Sqlite)?;
    }
    Ok(all)
}

fn copy(
    engine: &Engine,
    file: &Connection,
    table: &'static TableDoc,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, QueryError> {
    let columns: Vec<String> = table.columns.iter().map(|it| format!("{} {}", it.name, it.kind.word())).collect();
    file.execute_batch(&format!("CREATE TABLE {}({}); BEGIN", table.name, columns.join(", ")))
        .map_err(QueryError::Sqlite)?;
    let placeholders = vec!["?"; table.columns.len()].join(", ");
    let mut insert =
        file.prepare(&format!("INSERT INTO {} VALUES ({placeholders})", table.name)).map_err(QueryError::Sqlite)?;
    let sql = format!("SELECT * FROM {}", table.name);
    let rows = engine.ask(&sql, &Limits::default(), |rows| {
        loop {
            let mut failure = None;
            let has_row = rows.next(|column, value| {
                let value = Value::try_from(value).unwrap_or(Value::Null);
                if let Err(error) = insert.raw_bind_parameter(column + 1, value) {
                    failure = Some(error);
                }
            })?;
            if let Some(failure) = failure {
                return Err(QueryError::Sqlite(failure));
            }
            if !has_row {
                return Ok(rows.given());
            }
            insert.raw_execute().map_err(QueryError::Sqlite)?;
            if rows.given().is_multiple_of(1 << 16) {
                progress(1 << 16);
            }
        }
    })?;
    drop(insert);
    file.execute_batch("COMMIT").map_err(QueryError::Sqlite)?;
    Ok(rows)
}
