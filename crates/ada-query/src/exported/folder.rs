//! Finds the files: `spans/session=…/pid=…/part-00000.parquet`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tables::exported;

/// A folder with exported tables.
#[derive(Clone, Debug)]
pub struct ParquetFolder(PathBuf);

/// A file of a table, and what its folders' names say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartFile {
    pub(super) path: PathBuf,
    pub(super) session: String,
    pub(super) pid: i64,
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
        for (session, folder) in valued(&self.0.join(table), "session=") {
            for (pid, folder) in valued(&folder, "pid=") {
                let Ok(pid) = pid.parse() else { continue };
                let entries = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
                let parts = entries.filter(|path| path.extension().is_some_and(|it| it == "parquet"));
                found.extend(parts.map(|path| PartFile { path, session: session.clone(), pid }));
            }
        }
        found.sort_by(|left, right| left.path.cmp(&right.path));
        found
    }
}

/// Subfolders whose names begin so, with the rest of their names as it was meant.
fn valued(folder: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let value = |path: &PathBuf| Some(unescaped(path.file_name()?.to_str()?.strip_prefix(prefix)?));
    entries.filter_map(|path| Some((value(&path)?, path))).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.first_chunk::<2>().filter(|_| *first == b'%');
        let value = escaped.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 16).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_they_were_meant() {
        assert_eq!(unescaped("session_20261115"), "session_20261115");
        assert_eq!(unescaped("a%3Db%2Fc%232"), "a=b/c#2");
        assert_eq!(unescaped("50%"), "50%");
    }
}
