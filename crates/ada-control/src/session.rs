//! The files of a session as they grow: a folder per process, two files per thread.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ada_event::ThreadId;
use ada_format::atf::{Platform, SessionWriter, SyncPolicy, ThreadWriter, WriteError};

use crate::ControlError;

const PLATFORM: Platform = Platform::LINUX_X86_64;
/// Thread ids have 22 bits at most; the bits above number the threads that had the same one.
const GENERATION_SHIFT: u32 = 22;

/// All files that are being written.
pub(crate) struct SessionFiles {
    path: PathBuf,
    processes: HashMap<u32, SessionWriter>,
    threads: HashMap<(u32, u32), ThreadWriter>,
    generations: HashMap<(u32, u32), u32>,
}

impl SessionFiles {
    pub(crate) fn create(output: &Path, pid: u32) -> Result<Self, ControlError> {
        let process =
            SessionWriter::create(output, SystemTime::now(), pid, PLATFORM, SyncPolicy::Never).map_err(failed)?;
        Ok(Self {
            path: process.path().to_owned(),
            processes: HashMap::from([(pid, process)]),
            threads: HashMap::new(),
            generations: HashMap::new(),
        })
    }

    /// The session's folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A process's files, begun now if this is the first that is heard of it.
    pub(crate) fn process(&mut self, pid: u32) -> Result<&mut SessionWriter, ControlError> {
        match self.processes.entry(pid) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let process = SessionWriter::join(self.path.clone(), pid, PLATFORM, SyncPolicy::Never);
                Ok(new.insert(process.map_err(failed)?))
            }
        }
    }

    /// A thread's files, begun now if need be.
    pub(crate) fn thread(&mut self, pid: u32, tid: u32) -> Result<&mut ThreadWriter, ControlError> {
        if !self.threads.contains_key(&(pid, tid)) {
            let generation = self.generations.entry((pid, tid)).or_default();
            let id = ThreadId(tid | *generation << GENERATION_SHIFT);
            *generation += 1;
            let writer = self.process(pid)?.thread(id).map_err(failed)?;
            self.threads.insert((pid, tid), writer);
        }
        Ok(self.threads.get_mut(&(pid, tid)).expect("it was just made"))
    }

    /// Finishes the files of a thread that has ended.
    pub(crate) fn thread_ended(&mut self, pid: u32, tid: u32) -> Result<(), ControlError> {
        match self.threads.remove(&(pid, tid)) {
            Some(writer) => self.process(pid)?.finish_thread(writer).map_err(failed),
            None => Ok(()),
        }
    }

    /// Hands everything to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), ControlError> {
        self.threads.values_mut().try_for_each(|thread| thread.flush().map_err(failed))
    }

    pub(crate) fn process_count(&self) -> usize {
        self.processes.len()
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.generations.values().map(|count| *count as usize).sum()
    }

    /// Finishes all files, those of other threads and processes also where some fail; `complete` fills in each process's
    /// manifest.
    pub(crate) fn finish(mut self, mut complete: impl FnMut(u32, &mut SessionWriter)) -> Result<(), ControlError> {
        let mut result = Ok(());
        for ((pid, _), writer) in std::mem::take(&mut self.threads) {
            let finished = self.process(pid).and_then(|process| process.finish_thread(writer).map_err(failed));
            result = result.and(finished);
        }
        for (pid, mut process) in self.processes {
            complete(pid, &mut process);
            result = result.and(process.finish().map(drop).map_err(failed));
        }
        result
    }
}

pub(crate) fn failed(error: WriteError) -> ControlError {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    ControlError::Session(format!("{error}{cause}"))
}
