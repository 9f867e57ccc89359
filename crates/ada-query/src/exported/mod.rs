//! Folders that `ada export --to parquet` has written, as tables again.

mod cursor;
mod folder;

pub use folder::ParquetFolder;

use rusqlite::Connection;

use crate::cancel::Cancel;
use crate::doc::TableDoc;
use crate::error::QueryError;
use crate::relation::{Ask, Op, Relation};
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
    for table in exported() {
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
        let files = folders.iter().flat_map(|folder| folder.files(doc.name)).collect();
        Self { doc, files: std::sync::Arc::new(files), cancel }
    }
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
