//! A session on disk: its processes, their threads, and all events in one order.

mod block_cache;
mod detail;
mod finding;
mod folder;
mod function_lists;
mod index;
mod pieces;
mod thread;
mod verify;

pub use detail::{HeldRecord, HeldRecords, ThreadDetail};
pub use finding::{Finding, Problem};
pub use function_lists::FunctionList;
pub use index::{Events, ThreadEvents};
pub use pieces::PieceReader;
pub use thread::ThreadTrace;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ada_event::{ModuleId, ProcessId};

use folder::numbered_folders;
use function_lists::FunctionLists;

use super::bundle::BUNDLE_FILE;
use super::{EventChunks, Manifest, Merge, SessionError, functions_file};

/// A session, open for reading. Its files are mapped, so it costs little memory whatever its size.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    processes: Vec<Process>,
    findings: Vec<Finding>,
}

/// One process of a session.
#[derive(Debug)]
pub struct Process {
    /// Its folder.
    pub path: PathBuf,
    /// Its id, as the folder's name or the manifest has it.
    pub pid: Option<ProcessId>,
    /// Its manifest, if there is a readable one.
    pub manifest: Option<Manifest>,
    /// Its threads that could be read, by id.
    pub threads: Vec<ThreadTrace>,
    /// Whether it is still being recorded: there is more every moment.
    pub is_live: bool,
    /// The file that small threads share.
    bundle: Option<Arc<Path>>,
    lists: Arc<FunctionLists>,
}

impl Process {
    /// The functions of a module; none where their list cannot be read.
    pub fn functions(&self, module: ModuleId) -> Arc<FunctionList> {
        self.lists.get(&self.path.join(functions_file(module)))
    }

    /// The files that hold its threads.
    pub fn thread_files(&self) -> impl Iterator<Item = &Path> {
        self.threads.iter().flat_map(ThreadTrace::files).chain(self.bundle.as_deref())
    }
}

impl Session {
    /// Opens a session's folder, or the folder of one of its processes. Files that cannot be read do not stop the
    /// others from being read: [`Self::findings`] has them.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SessionError> {
        let path = path.as_ref();
        let unreadable = |source| SessionError::Io { path: path.to_owned(), source };
        let mut folders: Vec<(Option<ProcessId>, PathBuf)> = numbered_folders(path, "pid_")
            .map_err(unreadable)?
            .into_iter()
            .map(|(pid, folder)| (Some(ProcessId(pid)), folder))
            .collect();
        if folders.is_empty() {
            let is_process = ["manifest.json", BUNDLE_FILE].iter().any(|name| path.join(name).is_file())
                || !numbered_folders(path, "thread_").map_err(unreadable)?.is_empty();
            if !is_process {
                return Err(SessionError::NotASession { path: path.to_owned() });
            }
            folders.push((folder::number_of(path, "pid_").map(ProcessId), path.to_owned()));
        }
        let mut session = Self { path: path.to_owned(), processes: Vec::new(), findings: Vec::new() };
        let caches = thread::Caches::default();
        for (pid, folder) in folders {
            let process = folder::open_process(folder, pid, &caches, &mut session.findings)?;
            session.processes.push(process);
        }
        Ok(session)
    }

    /// The folder that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The processes, by id.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// All threads, by process and then by id: the lanes of [`Self::merge`].
    pub fn threads(&self) -> impl Iterator<Item = &ThreadTrace> + Clone {
        self.processes.iter().flat_map(|process| &process.threads)
    }

    /// Whether it is still being recorded.
    pub fn is_live(&self) -> bool {
        self.processes.iter().any(|process| process.is_live)
    }

    /// What was wrong when the session was opened. Nothing of the events was read for that.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// All events of all threads, ordered by time, thread and position. Pages that were read are given back on the
    /// way, so that memory stays flat.
    pub fn merge(&self) -> Merge<'_> {
        Merge::new(self.merge_lanes(|_| true))
    }

    /// Like [`Self::merge`], for some of the threads. Lanes keep their numbers; the others are empty.
    pub fn merge_some(&self, wanted: impl Fn(&ThreadTrace) -> bool) -> Merge<'_> {
        Merge::new(self.merge_lanes(wanted))
    }

    fn merge_lanes(&self, wanted: impl Fn(&ThreadTrace) -> bool) -> impl Iterator<Item = EventChunks<'_>> {
        let beside = self.threads().filter(|thread| wanted(thread)).count().saturating_sub(1);
        let scratch = Arc::default();
        self.threads().map(move |thread| match wanted(thread) {
            true => thread.chunks_beside(beside, &scratch),
            false => EventChunks::of(&[]),
        })
    }
}
