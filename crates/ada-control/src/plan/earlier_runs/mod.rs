//! What earlier runs of a program have taught: which of its functions are too hot for a budget.
//!
//! A run of a tenth of a second is over before anybody has looked at what it calls. So a run with a budget keeps how often its
//! program has called which function, and the next one begins with that: what was too hot is counted, or has no hooks, from the
//! start. The lists lie beside the plans. One that cannot be read or written costs time and nothing else.

mod hot_functions;
mod known_calls;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ada_event::ProcessId;
use ada_process::procfs::ProcessDir;

use crate::file_id::FileId;
use crate::plan::image_file::ImageFile;
use crate::plan::plan_cache::{Folder, HOT};

pub(crate) use hot_functions::HotFunctions;
pub(crate) use known_calls::{KnownCalls, KnownFunction};

/// No list is longer.
const MOST_BYTES: usize = 4 << 20;

/// The lists of earlier runs, if they are to be used.
pub(crate) struct EarlierRuns {
    folder: Option<Folder>,
    max_overhead: f64,
    /// What was chosen for each program of this session.
    chosen: Mutex<HashMap<FileId, Arc<HotFunctions>>>,
}

/// A program, and what to do with its functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownProgram {
    pub(crate) id: Option<FileId>,
    pub(crate) hot: Arc<HotFunctions>,
}

impl EarlierRuns {
    /// The lists in this folder, for a budget; without either there are none.
    pub(crate) fn new(folder: Option<PathBuf>, max_overhead: Option<f64>) -> Self {
        let folder = folder.filter(|_| max_overhead.is_some()).map(Folder::new);
        Self { folder, max_overhead: max_overhead.unwrap_or_default(), chosen: Mutex::default() }
    }

    /// What is known of the program that a process runs, which has loaded these files, with their build-ids.
    pub(crate) fn of<'a>(
        &self,
        pid: ProcessId,
        mut files: impl Iterator<Item = (&'a Path, Option<&'a [u8]>)>,
    ) -> KnownProgram {
        if self.folder.is_none() {
            return KnownProgram::default();
        }
        let identity = |path: &Path| fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
        let executable = identity(&ProcessDir::of(pid).executable());
        let is_executable = |path: &Path| executable.is_some() && identity(path) == executable;
        let file = files.find(|(file, _)| is_executable(file));
        let Some(id) = file.and_then(|(path, build_id)| id_of(path, build_id)) else {
            return KnownProgram::default();
        };
        let mut chosen = self.chosen.lock().expect("nobody panics with the lock");
        let choose = || {
            let known = self.read(&id).unwrap_or_default();
            Arc::new(HotFunctions::choose(&known, self.max_overhead))
        };
        let hot = chosen.entry(id.clone()).or_insert_with(choose).clone();
        KnownProgram { id: Some(id), hot }
    }

    /// Takes in what a run of a program has shown. `was_seen` is false of functions that had no hooks in it.
    pub(crate) fn learn(&self, program: &FileId, news: KnownCalls, was_seen: impl Fn(&FileId, u64) -> bool) {
        let Some(folder) = &self.folder else { return };
        let mut known = self.read(program).unwrap_or_default();
        known.learn(news, was_seen);
        if let Ok(text) = serde_json::to_vec(&known) {
            // What cannot be written is learnt again.
            let _ = folder.write(&file_name(program), &text);
            folder.make_room();
        }
    }

    fn read(&self, program: &FileId) -> Option<KnownCalls> {
        let text = self.folder.as_ref()?.read(&file_name(program))?;
        serde_json::from_slice(text.get(..MOST_BYTES.min(text.len()))?).ok()
    }
}

/// The file of a program's list.
fn file_name(program: &FileId) -> String {
    format!("{}.{HOT}", program.as_str())
}

/// The id of a loaded file.
pub(crate) fn id_of(path: &Path, build_id: Option<&[u8]>) -> Option<FileId> {
    match build_id {
        Some(_) => Some(FileId::of(build_id, &[])),
        None => Some(FileId::of(None, ImageFile::open(path).ok()?.bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_teaches_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let (program, library) = (FileId::of(Some(&[1]), b""), FileId::of(Some(&[2]), b""));
        let of_library = || Some(library.clone());
        let runs = |max_overhead| EarlierRuns::new(Some(folder.path().join("plans")), max_overhead);
        let own = std::env::current_exe().unwrap();
        let files = || [(Path::new("/nowhere"), None), (own.as_path(), Some(&[1_u8][..]))].into_iter();
        let of_self = |runs: EarlierRuns| runs.of(ada_process::this_process(), files());
        let nothing = of_self(runs(Some(0.1)));
        assert_eq!((nothing.id.as_ref(), nothing.hot.of(of_library)), (Some(&program), None));
        let files_of_run = [(library.clone(), vec![KnownFunction(0x40, 1e9)])].into();
        let news = KnownCalls { recorded_ns: 100.0, counted_ns: 2.0, files: files_of_run, ..KnownCalls::default() };
        runs(Some(0.1)).learn(&program, news, |_, _| true);
        let known = of_self(runs(Some(0.1)));
        assert!(known.hot.of(of_library).unwrap().left_out.contains(&0x40));
        // A larger budget counts it, and without one nothing is looked for.
        assert_eq!(of_self(runs(Some(9.0))).hot.of(of_library).unwrap().counted, [0x40]);
        assert!(of_self(runs(None)).id.is_none());
    }

    #[test]
    fn lists_that_are_none_teach_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let program = FileId::of(Some(&[1]), b"");
        let runs = EarlierRuns::new(Some(folder.path().join("plans")), Some(0.1));
        for text in ["", "{", "[]", "{\"files\": 7}", "{\"path\": \"x\", \"runs\": -1}", "\u{0}"] {
            runs.folder.as_ref().unwrap().write(&file_name(&program), text.as_bytes()).unwrap();
            assert_eq!(runs.read(&program), None, "{text}");
        }
    }
}
