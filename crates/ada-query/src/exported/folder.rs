//! Finds the files: `spans/session=…/pid=…/part-00000.parquet`, or below whatever other values folders are named by.

use std::fs;
use std::path::{Path, PathBuf};

use crate::hive::parse_folder_name;
use crate::tables::exported;

/// More folders within each other are nobody's export.
const MOST_VALUES: usize = 16;

/// A folder with exported tables.
#[derive(Clone, Debug)]
pub struct ParquetFolder(PathBuf);

/// A file of a table, and what its folders' names say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartFile {
    pub(super) path: PathBuf,
    values: Vec<(String, Option<String>)>,
}

impl PartFile {
    /// The value of a column, where folders are named by it; none within where it is not known.
    pub(super) fn value(&self, column: &str) -> Option<Option<&str>> {
        self.values.iter().find(|(name, _)| name == column).map(|(_, value)| value.as_deref())
    }
}

impl ParquetFolder {
    /// The folder, if it has a table.
    pub fn find(path: &Path) -> Option<Self> {
        let folder = Self(path.to_owned());
        exported().any(|table| !folder.files(table.name).is_empty()).then_some(folder)
    }

    /// The files of a table, in the order of their names.
    pub(super) fn files(&self, table: &str) -> Vec<PartFile> {
        let mut found = Vec::new();
        collect(&self.0.join(table), &mut Vec::new(), &mut found);
        found.sort_by(|left, right| left.path.cmp(&right.path));
        found
    }
}

fn collect(folder: &Path, values: &mut Vec<(String, Option<String>)>, found: &mut Vec<PartFile>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let value = path.file_name().and_then(|it| parse_folder_name(it.to_str()?));
        if let Some(value) = value.filter(|_| values.len() < MOST_VALUES && path.is_dir()) {
            values.push(value);
            collect(&path, values, found);
            values.pop();
        } else if !values.is_empty() && path.extension().is_some_and(|it| it == "parquet") {
            found.push(PartFile { path, values: values.clone() });
        }
    }
}
