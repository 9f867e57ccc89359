//! The segments of a ring on disk, oldest first.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ada_event::{ProcessId, TraceNanos};
use ada_format::atf::{RingFigures, SessionWriter, Store, SyncPolicy, ThreadEntry, ThreadWriter};
use ada_format::private::create_folders;

use super::sweeper::Sweeper;
use crate::arch::platform::PLATFORM;
use crate::error::ControlError;

/// Into how many segments the room is divided: so much, at most, is let go at once.
const PARTS: u64 = 8;

/// What a process takes of the disk beside its events: a folder, and some files of a block each.
const PROCESS_BYTES: u64 = 16 << 10;

/// The segments of a recording, the newest of which is being written.
pub(crate) struct Segments {
    folder: PathBuf,
    limit: u64,
    store: Store,
    next_number: u64,
    closed: VecDeque<Segment>,
    /// The processes of the newest segment; it has no folder before its first event.
    open: HashMap<ProcessId, SessionWriter>,
    /// Bytes of its threads that have ended.
    open_bytes: u64,
    let_go: HashMap<ProcessId, RingFigures>,
    /// One thread of each process of which something was let go.
    let_go_threads: HashMap<ProcessId, ThreadEntry>,
    /// How many closed segments have something of a process.
    parts: HashMap<ProcessId, usize>,
    /// Processes of which all was let go and that had ended.
    gone: Gone,
    sweeper: Sweeper,
}

/// Processes of which nothing is left, and their events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) processes: u64,
    pub(crate) events: u64,
}

struct Segment {
    path: PathBuf,
    bytes: u64,
    processes: Vec<ProcessPart>,
}

/// What a segment has of a process.
struct ProcessPart {
    pid: ProcessId,
    events: u64,
    start: TraceNanos,
    end: TraceNanos,
    /// One of its threads, the first if it is there.
    thread: Option<ThreadEntry>,
}

impl Segments {
    /// Segments in a session's folder, with so many bytes in all.
    pub(crate) fn new(session: &Path, limit: u64, store: Store) -> Self {
        Self {
            folder: session.join("ring"),
            limit,
            store,
            next_number: 1,
            closed: VecDeque::new(),
            open: HashMap::new(),
            open_bytes: 0,
            let_go: HashMap::new(),
            let_go_threads: HashMap::new(),
            parts: HashMap::new(),
            gone: Gone::default(),
            sweeper: Sweeper::new(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A process's files in the newest segment.
    pub(crate) fn process(&mut self, pid: ProcessId) -> Result<&mut SessionWriter, ControlError> {
        match self.open.entry(pid) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let path = self.folder.join(format!("{:06}", self.next_number));
                let made = create_folders(&path);
                made.map_err(|error| ControlError::Session(format!("{}: {error}", path.display())))?;
                let mut process = SessionWriter::join(path, pid, PLATFORM, SyncPolicy::Never)?;
                process.set_store(self.store);
                process.save_manifest()?;
                self.open_bytes += PROCESS_BYTES;
                Ok(new.insert(process))
            }
        }
    }

    /// Finishes a thread's files in the newest segment.
    pub(crate) fn finish_thread(&mut self, pid: ProcessId, writer: ThreadWriter) -> Result<(), ControlError> {
        self.open_bytes += writer.byte_count();
        self.process(pid)?.finish_thread(writer).map_err(ControlError::from)
    }

    /// Hands what threads share to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), ControlError> {
        self.open.values_mut().try_for_each(|process| process.flush_bundle().map_err(ControlError::from))
    }

    /// Whether the newest segment is large enough, with so many bytes of threads that go on.
    pub(crate) fn is_full(&self, bytes: u64) -> bool {
        self.open_bytes + bytes >= self.limit / PARTS
    }

    /// Closes the newest segment, whose threads are all finished, and lets go of the oldest where room is needed. Gives
    /// the time before which nothing is kept.
    pub(crate) fn turn(&mut self) -> Result<Option<TraceNanos>, ControlError> {
        if !self.open.is_empty() {
            let path = self.folder.join(format!("{:06}", self.next_number));
            self.next_number += 1;
            let mut segment = Segment { path, bytes: std::mem::take(&mut self.open_bytes), processes: Vec::new() };
            for (pid, mut process) in self.open.drain() {
                let manifest = process.manifest_mut();
                segment.processes.push(ProcessPart {
                    pid,
                    events: manifest.threads.iter().filter_map(|thread| thread.event_count).sum(),
                    start: manifest.time_start_ns,
                    end: manifest.time_end_ns,
                    thread: manifest
                        .threads
                        .iter()
                        .min_by_key(|thread| (thread.id != pid.first_thread(), thread.id))
                        .cloned(),
                });
                *self.parts.entry(pid).or_default() += 1;
                process.finish()?;
            }
            self.closed.push_back(segment);
        }
        let room = self.limit - self.limit / PARTS;
        let mut kept_from = None;
        while self.closed.iter().map(|segment| segment.bytes).sum::<u64>() > room
            && let Some(oldest) = self.closed.pop_front()
        {
            self.let_go(&oldest);
            kept_from = oldest.processes.iter().map(|part| part.end).max();
            self.sweeper.delete_segment(oldest.path, oldest.processes.len())?;
        }
        Ok(kept_from)
    }

    fn let_go(&mut self, segment: &Segment) {
        for part in &segment.processes {
            if let Entry::Occupied(mut parts) = self.parts.entry(part.pid) {
                *parts.get_mut() -= 1;
                if *parts.get() == 0 {
                    parts.remove();
                }
            }
        }
        for part in segment.processes.iter().filter(|part| part.events > 0) {
            let figures = self.let_go.entry(part.pid).or_default();
            figures.let_go_events += part.events;
            figures.let_go_start_ns.get_or_insert(part.start);
            figures.let_go_end_ns = figures.let_go_end_ns.max(Some(part.end));
            let known = self.let_go_threads.get(&part.pid);
            if let Some(thread) =
                part.thread.as_ref().filter(|_| known.is_none_or(|known| known.id != part.pid.first_thread()))
            {
                self.let_go_threads.insert(part.pid, thread.clone());
            }
        }
    }

    /// The processes that have ended and of which all was let go, and that there is no room for either, the oldest.
    pub(crate) fn too_many(&self, has_ended: impl Fn(ProcessId) -> bool) -> HashSet<ProcessId> {
        let is_over = |pid| !self.parts.contains_key(&pid) && !self.open.contains_key(&pid) && has_ended(pid);
        let over = self.let_go.iter().filter(|(pid, _)| is_over(**pid));
        let mut over: Vec<_> = over.map(|(pid, figures)| (figures.let_go_end_ns, *pid)).collect();
        over.sort_unstable();
        let room = self.limit / PARTS / PROCESS_BYTES;
        over.truncate(over.len().saturating_sub(room as usize));
        over.into_iter().map(|(_, pid)| pid).collect()
    }

    /// Has nothing more to say of a process that has ended, whose folder goes too, if it has one.
    pub(crate) fn forget(&mut self, pid: ProcessId, folder: Option<PathBuf>) -> Result<(), ControlError> {
        let figures = self.let_go.remove(&pid).unwrap_or_default();
        self.let_go_threads.remove(&pid);
        self.gone.processes += 1;
        self.gone.events += figures.let_go_events;
        folder.map_or(Ok(()), |folder| self.sweeper.delete(folder))
    }

    /// The processes that were forgotten.
    pub(crate) fn gone(&self) -> Gone {
        self.gone
    }

    /// Waits until all that was let go is deleted, and deletes what is left of the ring.
    pub(crate) fn finish(self) -> Result<(), ControlError> {
        let finished = self.sweeper.finish();
        let _ = fs::remove_dir_all(self.folder);
        finished
    }

    /// What was let go of a process.
    pub(crate) fn figures(&self, pid: ProcessId) -> RingFigures {
        RingFigures { limit_bytes: self.limit, ..self.let_go.get(&pid).cloned().unwrap_or_default() }
    }

    /// One thread of each process of which something was let go: perhaps nothing else is kept of it.
    pub(crate) fn let_go_threads(&self) -> HashMap<ProcessId, ThreadEntry> {
        self.let_go_threads.clone()
    }

    /// The closed segments, oldest first.
    pub(crate) fn closed(&self) -> Vec<PathBuf> {
        self.closed.iter().map(|segment| segment.path.clone()).collect()
    }

    /// Gives all closed segments a second name, under which they stay when they are let go.
    pub(crate) fn link_into(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.closed.iter().map(|segment| link_folder(&segment.path, folder)).collect()
    }
}

/// Makes a folder of the same name, with second names for all files in it.
fn link_folder(from: &Path, into: &Path) -> io::Result<PathBuf> {
    let folder = into.join(from.file_name().unwrap_or_default());
    create_folders(&folder)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            link_folder(&entry.path(), &folder)?;
        } else {
            fs::hard_link(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    Ok(folder)
}
