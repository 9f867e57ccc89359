//! Functions whose hooks have changed what a program does, by the file that they are in. Later traces leave them alone.
//!
//! A file is known by its build-id, or by a checksum where it has none: what is rebuilt is hooked again.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;

use ada_event::ImageOffset;
use ada_format::atf::HexAddr;
use serde::{Deserialize, Serialize};

use crate::cache_folder::{CacheFolder, default_path};
use crate::file_id::FileId;

/// No list of a person's is longer.
const MOST_BYTES: u64 = 16 << 20;

/// What is left alone of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantinedFile {
    /// Where the file was.
    pub path: String,
    /// All functions are left alone, whether or not they are listed.
    #[serde(default)]
    pub is_whole: bool,
    /// The functions, by offset.
    pub functions: Vec<QuarantinedFunction>,
}

/// A function that is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantinedFunction {
    /// Where it starts, before the loader's bias.
    pub offset: HexAddr,
    /// Its name, if it has one.
    pub name: String,
    /// What its hooks did.
    pub why: String,
}

impl QuarantinedFile {
    /// Whether a function is left alone.
    pub(crate) fn has(&self, start: ImageOffset) -> bool {
        self.is_whole || self.functions.iter().any(|function| function.offset.0 == start.0)
    }

    /// Adds what another list of the same file has.
    fn add(&mut self, other: Self) {
        self.path = other.path;
        self.is_whole |= other.is_whole;
        for function in other.functions {
            self.functions.retain(|known| known.offset != function.offset);
            self.functions.push(function);
        }
        self.functions.sort_by_key(|function| function.offset.0);
    }
}

/// What a trace leaves alone: all lists that there are.
#[derive(Clone, Debug, Default)]
pub struct Quarantine {
    files: HashMap<FileId, QuarantinedFile>,
}

impl Quarantine {
    /// What is left alone of a file.
    pub(crate) fn of(&self, build_id: Option<&[u8]>, bytes: &[u8]) -> Option<&QuarantinedFile> {
        if self.files.is_empty() { None } else { self.files.get(&FileId::of(build_id, bytes)) }
    }
}

/// Where the lists are kept.
#[derive(Clone, Debug)]
pub struct QuarantineFolder {
    kept: CacheFolder,
}

/// A list that is there, or why it cannot be used.
pub type QuarantineEntry = (FileId, io::Result<QuarantinedFile>);

impl QuarantineFolder {
    /// Beside the plans; nothing where no folder is the user's own.
    pub fn by_default() -> Option<Self> {
        default_path("quarantine").map(Self::at)
    }

    /// In this folder.
    pub fn at(path: PathBuf) -> Self {
        Self { kept: CacheFolder { path } }
    }

    /// Every list, sorted by id.
    pub fn entries(&self) -> io::Result<Vec<QuarantineEntry>> {
        let names = match std::fs::read_dir(&self.kept.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let ids = names.flatten().filter_map(|entry| of_name(entry.file_name().to_str()?));
        let mut entries: Vec<QuarantineEntry> = ids.map(|id| (id.clone(), self.read(&id))).collect();
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(entries)
    }

    /// What a trace leaves alone, and in words what could not be read.
    pub fn load(&self) -> (Quarantine, Vec<String>) {
        let mut problems = Vec::new();
        let entries = self.entries().unwrap_or_else(|error| {
            problems.push(format!("{} cannot be read: {error}", self.kept.path.display()));
            Vec::new()
        });
        let mut files = HashMap::new();
        for (id, file) in entries {
            match file {
                Ok(file) => drop(files.insert(id, file)),
                Err(error) => problems.push(format!(
                    "{} is not used: {error}; `ada quarantine --remove {}` removes it",
                    self.kept.path.join(file_name(&id)).display(),
                    id.as_str()
                )),
            }
        }
        (Quarantine { files }, problems)
    }

    /// Adds functions to what is left alone of a file.
    pub fn add(&self, id: &FileId, file: QuarantinedFile) -> io::Result<()> {
        // A list that cannot be read is replaced.
        let mut all = self.read(id).unwrap_or_default();
        all.add(file);
        self.kept.write(&file_name(id), &serde_json::to_vec_pretty(&all)?)
    }

    /// Forgets a file.
    pub fn remove(&self, id: &FileId) -> io::Result<()> {
        std::fs::remove_file(self.kept.path.join(file_name(id)))
    }

    fn read(&self, id: &FileId) -> io::Result<QuarantinedFile> {
        let (file, _) = self.kept.open(&file_name(id))?;
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// The id that a file of the folder is named for.
fn of_name(name: &str) -> Option<FileId> {
    FileId::parse(name.strip_suffix(".json")?)
}

fn file_name(id: &FileId) -> String {
    format!("{}.json", id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(offsets: &[u64]) -> QuarantinedFile {
        let function = |&offset| QuarantinedFunction {
            offset: HexAddr(offset),
            name: format!("f{offset:x}"),
            why: "exit code 1 instead of 0".into(),
        };
        QuarantinedFile { path: "/bin/x".into(), is_whole: false, functions: offsets.iter().map(function).collect() }
    }

    #[test]
    fn what_is_added_is_left_alone_until_it_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = QuarantineFolder::at(parent.path().join("quarantine"));
        let (by_id, by_content) = (FileId::of(Some(&[0xab, 1]), b""), FileId::of(None, b"content"));
        assert_eq!(by_id.as_str(), "ab01");
        folder.add(&by_id, file(&[0x20, 0x10])).unwrap();
        folder.add(&by_id, file(&[0x18, 0x10])).unwrap();
        folder.add(&by_content, QuarantinedFile { is_whole: true, ..file(&[]) }).unwrap();
        let (quarantine, problems) = folder.load();
        assert!(problems.is_empty(), "{problems:?}");
        let known = quarantine.of(Some(&[0xab, 1]), b"").unwrap();
        assert_eq!(known.functions.iter().map(|function| function.offset.0).collect::<Vec<_>>(), [0x10, 0x18, 0x20]);
        assert!(known.has(ImageOffset(0x18)) && !known.has(ImageOffset(0x19)));
        assert!(quarantine.of(None, b"content").unwrap().has(ImageOffset(0x19)));
        assert!(quarantine.of(None, b"other").is_none() && quarantine.of(Some(&[0xab, 2]), b"").is_none());
        folder.remove(&by_id).unwrap();
        assert!(folder.remove(&by_id).is_err());
        assert_eq!(folder.entries().unwrap().len(), 1);
    }

    #[test]
    fn lists_that_cannot_be_read_are_named() {
        let parent = tempfile::tempdir().unwrap();
        let folder = QuarantineFolder::at(parent.path().join("quarantine"));
        assert!(folder.load().1.is_empty(), "no folder, no problem");
        folder.kept.write("ab01.json", b"{\"path\": 7").unwrap();
        folder.kept.write("../no id.json", b"").unwrap();
        let (quarantine, problems) = folder.load();
        assert!(quarantine.files.is_empty());
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert!(problem.contains("ab01.json is not used") && problem.contains("--remove ab01"), "{problem}");
        folder.add(&FileId::of(Some(&[0xab, 1]), b""), file(&[1])).unwrap();
        assert!(folder.load().1.is_empty());
    }
}
