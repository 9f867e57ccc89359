//! Where the tables of a process are kept: beside its trace, or, where that cannot be written, among temporary files.

use std::fs;
use std::path::{Path, PathBuf};

use super::file_names::meta_file;
use super::tables::Tables;
use crate::error::SpanError;

/// The folder beside a process's trace.
pub const DERIVED_FOLDER: &str = "derived";

/// The tables of one process, there or yet to be made.
pub struct DerivedFolder {
    folder: PathBuf,
    key: u64,
}

/// What was found where the tables should be.
pub enum Cached {
    /// The tables.
    Good(Box<Tables>),
    /// Nothing.
    Missing,
    /// Tables of another content, analysis or option.
    Stale,
    /// Something that cannot be read.
    Damaged,
}

impl DerivedFolder {
    /// The folder of a process's trace, and the key that its tables must have.
    pub fn new(process: &Path, key: u64) -> Self {
        Self { folder: process.join(DERIVED_FOLDER), key }
    }

    /// A folder for tables, where the one beside the trace cannot be written.
    pub fn elsewhere(&self) -> Self {
        let name = format!("ada-derived-{:016x}", self.key);
        Self { folder: std::env::temp_dir().join(name), key: self.key }
    }

    /// The key.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Where the tables are.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Looks for the tables.
    pub fn find(&self) -> Cached {
        if !self.folder.join(meta_file()).exists() {
            return Cached::Missing;
        }
        match Tables::open(&self.folder) {
            Ok(tables) if tables.meta().key == self.key => Cached::Good(Box::new(tables)),
            Ok(_) => Cached::Stale,
            Err(_) => Cached::Damaged,
        }
    }

    /// An empty folder to make the tables in.
    pub fn begin(&self) -> Result<PathBuf, SpanError> {
        let unfinished = self.folder.with_file_name(format!(
            "{}.{}",
            self.folder.file_name().unwrap_or_default().to_string_lossy(),
            std::process::id()
        ));
        self.remove_leftovers();
        let _ = fs::remove_dir_all(&unfinished);
        fs::create_dir(&unfinished).map_err(SpanError::at(&unfinished))?;
        Ok(unfinished)
    }

    /// Removes what others have begun who did not live to finish it.
    fn remove_leftovers(&self) {
        let (Some(parent), Some(name)) = (self.folder.parent(), self.folder.file_name()) else { return };
        let prefix = format!("{}.", name.to_string_lossy());
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let pid = entry.file_name().to_string_lossy().strip_prefix(&prefix).and_then(|pid| pid.parse::<u32>().ok());
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Puts finished tables where they are looked for, instead of those that were there.
    pub fn finish(&self, unfinished: &Path) -> Result<Tables, SpanError> {
        let _ = fs::remove_dir_all(&self.folder);
        match fs::rename(unfinished, &self.folder) {
            Ok(()) => Tables::open(&self.folder),
            // Another process was faster. Its tables are as good, if they have the same key.
            Err(error) => match self.find() {
                Cached::Good(tables) => {
                    let _ = fs::remove_dir_all(unfinished);
                    Ok(*tables)
                }
                _ => Err(SpanError::at(&self.folder)(error)),
            },
        }
    }
}
