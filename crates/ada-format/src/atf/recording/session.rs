//! Makes a session's folders and its manifest.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ada_event::{ProcessId, ThreadId};

use super::bundle_writer::{BundleWriter, SmallThread};
use super::name::session_name;
use super::{SyncPolicy, ThreadWriter};
use crate::atf::bundle::BUNDLE_FILE;
use crate::atf::{Manifest, Platform, Session, Store, ThreadEntry, ThreadTrace, WriteError};
use crate::private::{Replacement, create_folder, lock_folder};

/// Writes the trace of one process. Threads are written by their own [`ThreadWriter`]s, which may live on other
/// threads than this.
pub struct SessionWriter {
    session: PathBuf,
    process: PathBuf,
    platform: Platform,
    sync: SyncPolicy,
    store: Store,
    manifest: Manifest,
    is_saved: bool,
    saw_events: bool,
    /// Made with the first small thread.
    bundle: Option<BundleWriter>,
    /// The process's folder, locked for as long as it is written.
    _lock: File,
}

impl SessionWriter {
    /// Makes `<output>/session_<now>/pid_<pid>/` with a manifest that says that the session is unfinished. If there
    /// already is a session of this second, the name gets a number.
    pub fn create(
        output: &Path,
        now: SystemTime,
        pid: ProcessId,
        platform: Platform,
        sync: SyncPolicy,
    ) -> Result<Self, WriteError> {
        // Others may see which sessions there are, and never put one in the place of another.
        DirBuilder::new().recursive(true).mode(0o755).create(output).map_err(in_file(output))?;
        let name = session_name(now);
        let mut session = output.join(&name);
        for number in 2.. {
            match create_folder(&session) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    session = output.join(format!("{name}_{number}"));
                }
                Err(error) => return Err(in_file(&session)(error)),
            }
        }
        let mut writer = Self::join(session, pid, platform, sync)?;
        writer.save_manifest()?;
        Ok(writer)
    }

    /// Adds a process to a session that exists, as a program that starts others needs. Its manifest is the caller's to save:
    /// more may be known of the process in a moment, and until then readers find it without.
    pub fn join(session: PathBuf, pid: ProcessId, platform: Platform, sync: SyncPolicy) -> Result<Self, WriteError> {
        let process = session.join(format!("pid_{pid}"));
        create_folder(&process).map_err(in_file(&process))?;
        let lock = lock_folder(&process).map_err(in_file(&process))?;
        let manifest = Manifest::begun(platform, pid);
        let (store, is_saved, saw_events) = (Store::Raw, false, false);
        Ok(Self { session, process, platform, sync, store, manifest, is_saved, saw_events, bundle: None, _lock: lock })
    }

    /// The session's folder.
    pub fn path(&self) -> &Path {
        &self.session
    }

    /// The process's folder.
    pub fn process_path(&self) -> &Path {
        &self.process
    }

    /// Has threads that begin from now on written in this form.
    pub fn set_store(&mut self, store: Store) {
        self.store = store;
    }

    /// What the manifest will say; threads and the time range are filled in by [`Self::finish_thread`].
    pub fn manifest_mut(&mut self) -> &mut Manifest {
        &mut self.manifest
    }

    /// Whether the manifest has been saved.
    pub fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// Replaces the manifest in one step: readers see the old one or the new one.
    pub fn save_manifest(&mut self) -> Result<(), WriteError> {
        self.is_saved = true;
        let path = self.process.join("manifest.json");
        let save = || {
            let (replacement, mut file) = Replacement::begin(&path)?;
            file.write_all(&self.manifest.to_json())?;
            if self.sync == SyncPolicy::OnFinish {
                file.sync_data()?;
            }
            replacement.finish()?;
            if self.sync == SyncPolicy::OnFinish {
                File::open(&self.process)?.sync_all()?;
            }
            Ok(())
        };
        save().map_err(in_file(&path))
    }

    /// Begins a thread's files.
    pub fn thread(&self, thread: ThreadId) -> Result<ThreadWriter, WriteError> {
        ThreadWriter::create(&self.process, thread, self.platform, self.sync, self.store)
    }

    /// Begins a thread that may have so few events that its files are held in memory until they are finished, and then share
    /// one with others. Should there be more of them, [`ThreadWriter::settle`] gives it its own.
    pub fn small_thread(&self, thread: ThreadId) -> Result<ThreadWriter, WriteError> {
        ThreadWriter::small(&self.process, thread, self.platform, self.sync, self.store)
    }

    /// Finishes a thread's files and takes the thread into the manifest; without a count of its events if that fails.
    pub fn finish_thread(&mut self, mut thread: ThreadWriter) -> Result<(), WriteError> {
        let path = thread.path().to_owned();
        let begun = ThreadEntry { id: thread.thread(), ..thread.entry_mut().clone() };
        let finished = match thread.finish() {
            Ok(finished) => finished,
            Err(error) => {
                self.manifest.threads.push(begun);
                return Err(error.at(&path));
            }
        };
        if let Some((start, end)) = finished.times {
            let manifest = &mut self.manifest;
            let known_start = if self.saw_events { manifest.time_start_ns } else { start };
            manifest.time_start_ns = known_start.min(start);
            manifest.time_end_ns = manifest.time_end_ns.max(end);
            self.saw_events = true;
        }
        self.manifest.threads.push(finished.entry);
        finished.small.map_or(Ok(()), |small| self.bundle(&small))
    }

    fn bundle(&mut self, small: &SmallThread) -> Result<(), WriteError> {
        let path = self.process.join(BUNDLE_FILE);
        let bundle = match self.bundle.take() {
            Some(bundle) => bundle,
            None => BundleWriter::create(&path, self.platform).map_err(in_file(&path))?,
        };
        self.bundle.insert(bundle).add(small).map_err(in_file(&path))
    }

    /// Hands what small threads share to the operating system.
    pub fn flush_bundle(&mut self) -> Result<(), WriteError> {
        let flushed = self.bundle.as_mut().map_or(Ok(()), BundleWriter::flush);
        flushed.map_err(in_file(&self.process.join(BUNDLE_FILE)))
    }

    /// Has the manifest say of each thread what its files are found to hold: where writing has failed, only these know.
    pub fn count_again(&mut self) {
        let Ok(session) = Session::open(&self.process) else { return };
        for entry in &mut self.manifest.threads {
            let thread = session.threads().find(|thread| thread.id() == entry.id);
            entry.event_count = Some(thread.map_or(0, ThreadTrace::event_count));
            entry.has_detail = thread.is_some_and(|thread| thread.detail().is_some());
        }
    }

    /// Writes the manifest of a finished session, and gives the session's folder.
    pub fn finish(mut self) -> Result<PathBuf, WriteError> {
        if let Some(bundle) = self.bundle.take() {
            let finished = bundle.finish(self.sync == SyncPolicy::OnFinish);
            finished.map_err(in_file(&self.process.join(BUNDLE_FILE)))?;
        }
        self.manifest.finished = Some(true);
        self.save_manifest()?;
        Ok(self.session)
    }
}

fn in_file(path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = path.to_owned();
    |source| WriteError::File { path, source }
}
