//! The tables for other programs.

mod dataset;
mod origin;
mod parquet_folder;
mod sqlite_file;

pub use dataset::{Append, Appended, append_parquet};
pub use origin::Origin;
pub use parquet_folder::to_parquet;
pub use sqlite_file::to_sqlite;

use crate::doc::TableDoc;
use crate::error::QueryError;
use crate::output::ParquetFile;
use crate::rows::Rows;

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its name.
    pub table: &'static str,
    /// How many rows.
    pub rows: u64,
    /// In how many files.
    pub files: u64,
}

/// A name or value in quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The columns of a table, but for those that folders are named by.
fn columns_within(table: &TableDoc) -> impl Iterator<Item = &'static crate::ColumnDoc> {
    table.columns.iter().filter(|it| !matches!(it.name, "session" | "pid"))
}

/// Copies a row into a file; false if there is none.
fn put_row(rows: &mut Rows<'_>, file: &mut ParquetFile) -> Result<bool, QueryError> {
    let mut failure = None;
    let has_row = rows.next(|column, value| {
        if failure.is_none() {
            failure = file.put(column, value).err();
        }
    })?;
    match failure {
        Some(failure) => return Err(failure),
        None if has_row => file.end_row()?,
        None => (),
    }
    Ok(has_row)
}
