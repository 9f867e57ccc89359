//! Where the tables of a process are kept: beside its trace, or, where that cannot be written or others can write too,
//! among the user's temporary files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ada_format::private;

use super::file_names::meta_file;
use super::meta::Meta;
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
    /// Tables of another content, analysis or option, or of another version of ada.
    Stale,
    /// Something that cannot be read.
    Damaged,
}

impl DerivedFolder {
    /// The folder of a process's trace, and the key that its tables must have.
    pub fn new(process: &Path, key: u64) -> Self {
        Self { folder: process.join(DERIVED_FOLDER), key }
    }

    /// A folder for tables, where the one beside the trace cannot be written. It lies in one that nobody but the user can
    /// enter, since anybody may know the key and be there first.
    pub fn elsewhere(&self) -> Result<Self, SpanError> {
        self.elsewhere_in(&std::env::temp_dir())
    }

    fn elsewhere_in(&self, temporary: &Path) -> Result<Self, SpanError> {
        let own = temporary.join(format!("ada-derived-{}", private::user()));
        private::own_folder(&own).map_err(SpanError::at(&own))?;
        Ok(Self { folder: own.join(format!("{:016x}", self.key)), key: self.key })
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
            // Another process is exchanging them.
            Err(SpanError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Cached::Missing,
            Err(_) if self.is_of_another() => Cached::Stale,
            Err(_) => Cached::Damaged,
        }
    }

    /// Whether tables that cannot be read are sound, and were made by another version of ada or of something else: these
    /// may have any form, but have kept the place of their key and checksum.
    fn is_of_another(&self) -> bool {
        fs::read(self.folder.join(meta_file())).is_ok_and(|bytes| Meta::is_of_another(&bytes, self.key))
    }

    /// An empty folder to make the tables in. Where others can write too they could lay links while tables are made,
    /// so there is none.
    pub fn begin(&self) -> Result<PathBuf, SpanError> {
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        if !fs::metadata(parent).is_ok_and(|found| private::only_user_writes(&found)) {
            let error = io::Error::new(io::ErrorKind::PermissionDenied, "others write there too");
            return Err(SpanError::at(parent)(error));
        }
        let unfinished = self.folder.with_file_name(format!(
            "{}.{}",
            self.folder.file_name().unwrap_or_default().to_string_lossy(),
            std::process::id()
        ));
        self.remove_leftovers();
        let _ = fs::remove_dir_all(&unfinished);
        private::create_folder(&unfinished).map_err(SpanError::at(&unfinished))?;
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
        const TRIES: u32 = 8;
        // Opened before: another process that finishes the same ones now takes these away again.
        let tables = Tables::open(unfinished)?.moved(&self.folder);
        for tried in 1.. {
            let _ = fs::remove_dir_all(&self.folder);
            let Err(error) = fs::rename(unfinished, &self.folder) else { break };
            // Another process was faster. Its tables are as good, if they have the same key.
            if let Cached::Good(tables) = self.find() {
                let _ = fs::remove_dir_all(unfinished);
                return Ok(*tables);
            }
            if tried == TRIES {
                return Err(SpanError::at(&self.folder)(error));
            }
        }
        Ok(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn tables_are_not_made_where_others_write() {
        let process = tempfile::tempdir().unwrap();
        let folder = DerivedFolder::new(process.path(), 7);
        assert!(folder.begin().is_ok());
        fs::set_permissions(process.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(folder.begin().is_err());
    }

    /// An older ada's tables end where this one's have more, or begin with another word.
    #[test]
    fn tables_of_another_version_are_stale_and_not_damaged() {
        let process = tempfile::tempdir().unwrap();
        let folder = DerivedFolder::new(process.path(), 7);
        fs::create_dir(folder.path()).unwrap();
        let put = |content: &[u8], crc: u32| {
            let bytes = [content, &crc.to_le_bytes()].concat();
            fs::write(folder.path().join(meta_file()), bytes).unwrap();
        };
        let sound = |content: &[u8]| put(content, crc32fast::hash(content));
        let with_key = |key: u64| [b"ADASPAN3".as_slice(), &key.to_le_bytes(), &[9; 40]].concat();
        sound(&with_key(6));
        assert!(matches!(folder.find(), Cached::Stale));
        sound(b"ADASPAN2, and whatever it had");
        assert!(matches!(folder.find(), Cached::Stale));
        // What claims to be what is looked for, and is not, or has a wrong checksum.
        sound(&with_key(7));
        assert!(matches!(folder.find(), Cached::Damaged));
        put(&with_key(6), 1);
        assert!(matches!(folder.find(), Cached::Damaged));
        fs::write(folder.path().join(meta_file()), b"x").unwrap();
        assert!(matches!(folder.find(), Cached::Damaged));
    }

    #[test]
    fn a_temporary_folder_that_somebody_else_laid_is_not_used() {
        let [temporary, bait] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let folder = DerivedFolder::new(Path::new("/nowhere"), 7);
        let own = temporary.path().join(format!("ada-derived-{}", private::user()));
        symlink(bait.path(), &own).unwrap();
        assert!(folder.elsewhere_in(temporary.path()).is_err());
        fs::remove_file(&own).unwrap();
        let elsewhere = folder.elsewhere_in(temporary.path()).unwrap();
        assert_eq!(elsewhere.path(), own.join("0000000000000007"));
        assert!(elsewhere.begin().is_ok());
    }
}
