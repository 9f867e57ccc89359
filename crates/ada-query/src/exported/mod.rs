//! Folders that `ada export --to parquet` has written, as tables again.

mod cursor;
mod folder;

pub use folder::ParquetFolder;

use std::sync::LazyLock;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::cancel::Cancel;
use crate::doc::{ColumnDoc, TableDoc};
use crate::error::QueryError;
use crate::fleet::{ORIGIN, SESSIONS};
use crate::relation::{Ask, Condition, Op, Relation};
use crate::shared::Shared;
use crate::tables::{exported, register_schema};
use crate::virtual_table::register;

use cursor::PartCursor;
use folder::PartFile;

/// Makes the files of such folders tables, and describes them.
pub(crate) fn register_exported(
    connection: &Connection,
    folders: &[ParquetFolder],
    shared: &Shared,
) -> rusqlite::Result<()> {
    for table in exported().chain([SESSIONS]) {
        register::<Exported>(connection, &ExportedTable::new(table, folders, shared.cancel.clone()))?;
    }
    register_schema(connection, shared)
}

/// A table in such folders.
#[derive(Clone)]
pub(crate) struct ExportedTable {
    doc: &'static TableDoc,
    files: std::sync::Arc<Vec<PartFile>>,
    cancel: Cancel,
}

impl ExportedTable {
    pub(crate) fn new(doc: &'static TableDoc, folders: &[ParquetFolder], cancel: Cancel) -> Self {
        let files: Vec<PartFile> = folders.iter().flat_map(|folder| folder.files(doc.name)).collect();
        let is_of_fleet = files.iter().any(|file| ORIGIN.iter().any(|it| file.value(it.name).is_some()));
        let doc = if is_of_fleet { of_fleet(doc) } else { doc };
        Self { doc, files: std::sync::Arc::new(files), cancel }
    }

    /// Whether a file can have rows that match a condition, by its folders' names.
    fn can_have(&self, file: &PartFile, condition: &Condition) -> bool {
        let doc = self.doc.columns.get(condition.column).filter(|_| condition.op == Op::Eq);
        match (doc.and_then(|doc| file.value(doc.name)), &condition.value) {
            (Some(Some(has)), Value::Text(wanted)) => has == wanted,
            (Some(Some(has)), Value::Integer(wanted)) => has.parse() == Ok(*wanted),
            (Some(None), Value::Text(_) | Value::Integer(_)) => false,
            _ => true,
        }
    }
}

/// A table with the columns that say where a session of a fleet comes from.
fn of_fleet(doc: &'static TableDoc) -> &'static TableDoc {
    static MADE: LazyLock<Vec<TableDoc>> = LazyLock::new(|| {
        let with_origin = |doc: &'static TableDoc| {
            let columns: Vec<ColumnDoc> = doc.columns.iter().chain(&ORIGIN).copied().collect();
            TableDoc { columns: columns.leak(), ..*doc }
        };
        exported().chain([SESSIONS]).map(with_origin).collect()
    });
    MADE.iter().find(|it| it.name == doc.name).unwrap_or(doc)
}

/// The relation of all of them.
pub(crate) struct Exported;

impl Relation for Exported {
    type Cursor = PartCursor;
    type Source = ExportedTable;

    fn doc(source: &ExportedTable) -> &'static TableDoc {
        source.doc
    }

    fn open(source: &ExportedTable, ask: &Ask) -> Result<PartCursor, QueryError> {
        PartCursor::open(source.clone(), ask.clone())
    }

    fn expect(_: &ExportedTable, conditions: &[(usize, Op)]) -> f64 {
        1e6 / (1 + conditions.len()) as f64
    }
}
