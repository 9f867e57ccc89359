//! The tables for other programs.

mod parquet_folder;
mod sqlite_file;

pub use parquet_folder::to_parquet;
pub use sqlite_file::to_sqlite;

use crate::doc::TableDoc;

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
