//! The files of a session as they grow: a folder per process, two files per thread. Threads that end soon share a file: most
//! of what they would cost is the making of a folder.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use ada_event::{Event, EventSeq, ProcessId, ThreadId, TraceNanos};
use ada_format::atf::{RingFigures, SessionWriter, Store, SyncPolicy, ThreadEntry, ThreadWriter};

use super::closed_segment;
use super::disk_room::DiskRoom;
use super::segments::{Gone, Segments};
use super::sweeper::Sweeper;
use crate::arch::platform::PLATFORM;
use crate::error::ControlError;

/// Thread ids have 22 bits at most; the bits above number the threads that had the same one.
const GENERATION_SHIFT: u32 = 22;

/// Packed events take a fraction of the bytes, at most this one but for short threads.
const LEAST_PACKED: u64 = 6;

/// A thread that has lived so long gets files of its own …
const YOUNG: Duration = Duration::from_millis(100);

/// … and one that has so many bytes.
const SMALL: u64 = 32 << 10;

/// All files that are being written.
pub(crate) struct SessionFiles {
    path: PathBuf,
    /// The first thread of the session's first process.
    first: (ProcessId, ThreadId),
    store: Store,
    processes: HashMap<ProcessId, SessionWriter>,
    threads: HashMap<(ProcessId, ThreadId), ThreadWriter>,
    /// Threads without files of their own, and since when, the oldest first. Some may have ended since.
    young: VecDeque<(Instant, (ProcessId, ThreadId))>,
    generations: HashMap<(ProcessId, ThreadId), u32>,
    /// The numbers in the session of all threads.
    taken: HashSet<(ProcessId, ThreadId)>,
    /// The numbers in the session of threads that live.
    ids: HashMap<(ProcessId, ThreadId), ThreadId>,
    /// Where the threads are written if only the newest part is kept.
    ring: Option<Segments>,
    /// Processes that have ended, and of which a ring has kept nothing.
    forgotten: HashSet<ProcessId>,
    /// How many threads those had.
    forgotten_threads: usize,
    room: DiskRoom,
    /// Bytes of threads that have ended, about.
    finished_bytes: u64,
}

impl SessionFiles {
    pub(crate) fn create(output: &Path, pid: ProcessId, store: Store) -> Result<Self, ControlError> {
        let mut process = SessionWriter::create(output, SystemTime::now(), pid, PLATFORM, SyncPolicy::Never)?;
        process.set_store(store);
        Ok(Self {
            path: process.path().to_owned(),
            room: DiskRoom::of(process.path()),
            first: (pid, pid.first_thread()),
            finished_bytes: 0,
            store,
            processes: HashMap::from([(pid, process)]),
            threads: HashMap::new(),
            young: VecDeque::new(),
            generations: HashMap::new(),
            taken: HashSet::new(),
            ids: HashMap::new(),
            ring: None,
            forgotten: HashSet::new(),
            forgotten_threads: 0,
        })
    }

    /// Keeps so many bytes, the newest, from now on.
    pub(crate) fn keep_newest(&mut self, bytes: u64) {
        self.ring = Some(Segments::new(&self.path, bytes, self.store));
    }

    /// The segments, if only the newest part is kept.
    pub(crate) fn segments(&self) -> Option<&Segments> {
        self.ring.as_ref()
    }

    /// What was let go of each process, if only the newest part is kept.
    pub(crate) fn let_go(&self) -> HashMap<ProcessId, RingFigures> {
        self.ring.iter().flat_map(|ring| self.pids().map(|pid| (pid, ring.figures(pid)))).collect()
    }

    /// The processes that a ring has forgotten.
    pub(crate) fn gone(&self) -> Gone {
        self.ring.as_ref().map(Segments::gone).unwrap_or_default()
    }

    /// Whether a process has ended and nothing of it was kept.
    pub(crate) fn is_forgotten(&self, pid: ProcessId) -> bool {
        self.forgotten.contains(&pid)
    }

    /// All processes that there are or were, but for those that are forgotten.
    pub(crate) fn pids(&self) -> impl Iterator<Item = ProcessId> {
        let mut pids: Vec<ProcessId> =
            self.processes.keys().copied().chain(self.generations.keys().map(|(pid, _)| *pid)).collect();
        pids.sort_unstable();
        pids.dedup();
        pids.into_iter()
    }

    /// The session's folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A process's files, begun now if it is new.
    pub(crate) fn process(&mut self, pid: ProcessId) -> Result<&mut SessionWriter, ControlError> {
        match self.processes.entry(pid) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let process = SessionWriter::join(self.path.clone(), pid, PLATFORM, SyncPolicy::Never);
                let process = new.insert(process?);
                process.set_store(self.store);
                Ok(process)
            }
        }
    }

    /// Saves the manifests that processes are still to get.
    pub(crate) fn save_first_manifests(&mut self) -> Result<(), ControlError> {
        let mut unsaved = self.processes.values_mut().filter(|process| !process.is_saved());
        unsaved.try_for_each(|process| process.save_manifest().map_err(ControlError::from))
    }

    /// Makes sure that there is room for events that take so many bytes in the raw form.
    pub(crate) fn take_room(&mut self, bytes: u64) -> Result<(), ControlError> {
        let bytes = if self.store == Store::Packed { bytes / LEAST_PACKED } else { bytes };
        self.room.take(bytes, self.threads.len())
    }

    /// A thread's files, begun now if need be.
    pub(crate) fn thread(&mut self, pid: ProcessId, tid: ThreadId) -> Result<&mut ThreadWriter, ControlError> {
        if !self.threads.contains_key(&(pid, tid)) {
            let id = *self.ids.entry((pid, tid)).or_insert_with(|| {
                // Another may have the number of one that is forgotten.
                self.forgotten.remove(&pid);
                let generation = self.generations.entry((pid, tid)).or_default();
                // An id that a target made up may have more bits, and there may be more generations than bits for them.
                loop {
                    let id = ThreadId(tid.0 ^ generation.rotate_left(GENERATION_SHIFT));
                    *generation = generation.wrapping_add(1);
                    if self.taken.insert((pid, id)) {
                        break id;
                    }
                }
            });
            let has_folder = self.first == (pid, id);
            let process = match &mut self.ring {
                Some(ring) => ring.process(pid)?,
                None => self.process(pid)?,
            };
            let writer = begin(process, id, has_folder)?;
            self.young.extend(writer.is_small().then(|| (Instant::now(), (pid, tid))));
            self.threads.insert((pid, tid), writer);
        }
        let writer = self.threads.get_mut(&(pid, tid)).expect("it was just made");
        settle_if_large(writer, writer.byte_count())?;
        Ok(writer)
    }

    /// A thread's number in the session, while it lives.
    pub(crate) fn thread_id(&self, pid: ProcessId, tid: ThreadId) -> Option<ThreadId> {
        self.ids.get(&(pid, tid)).copied()
    }

    /// Whether a thread with this id has ever had events.
    pub(crate) fn has_heard_of(&self, pid: ProcessId, tid: ThreadId) -> bool {
        self.generations.contains_key(&(pid, tid))
    }

    /// The position that a thread's next event will have in the file that it is writing.
    pub(crate) fn next_seq(&self, pid: ProcessId, tid: ThreadId) -> Option<EventSeq> {
        self.threads.get(&(pid, tid)).map(ThreadWriter::next_seq)
    }

    /// Finishes the files of a thread that has ended.
    pub(crate) fn thread_ended(&mut self, pid: ProcessId, tid: ThreadId) -> Result<(), ControlError> {
        self.ids.remove(&(pid, tid));
        let mut ended = self.threads.remove(&(pid, tid));
        if let Some(writer) = &mut ended {
            let bytes = writer.byte_count();
            self.finished_bytes += bytes;
            // Where there is no room for it, the thread stays small, and is finished all the same.
            let _ = settle_if_large(writer, bytes);
        }
        match (ended, &mut self.ring) {
            (Some(writer), Some(ring)) => ring.finish_thread(pid, writer),
            (Some(writer), None) => self.process(pid)?.finish_thread(writer).map_err(ControlError::from),
            (None, _) => Ok(()),
        }
    }

    /// Bytes of all events and detail so far, about.
    pub(crate) fn byte_count(&self) -> u64 {
        self.finished_bytes + self.threads.values().map(ThreadWriter::byte_count).sum::<u64>()
    }

    /// Whether the newest segment is full.
    pub(crate) fn is_segment_full(&self) -> bool {
        let bytes = || self.threads.values().map(ThreadWriter::byte_count).sum();
        self.ring.as_ref().is_some_and(|ring| ring.is_full(bytes()))
    }

    /// Begins a new segment: all threads go on in new files. Gives the time before which nothing remains, if something
    /// had to go for it.
    pub(crate) fn turn_segment(&mut self) -> Result<Option<TraceNanos>, ControlError> {
        let Some(ring) = &mut self.ring else { return Ok(None) };
        for ((pid, _), writer) in self.threads.drain() {
            ring.finish_thread(pid, writer)?;
        }
        let kept_from = ring.turn()?;
        self.forget_ended()?;
        Ok(kept_from)
    }

    /// Takes note of processes that are known to have ended, whose threads may not have been looked at since.
    pub(crate) fn note_ended(&mut self, has_ended: impl Fn(ProcessId) -> bool) {
        self.ids.retain(|(pid, _), _| !has_ended(*pid));
    }

    /// Forgets processes that have ended and of which all was let go, where there are many: a ring has its size.
    fn forget_ended(&mut self) -> Result<(), ControlError> {
        let Some(ring) = &mut self.ring else { return Ok(()) };
        let living: HashSet<ProcessId> = self.ids.keys().map(|(pid, _)| *pid).collect();
        let ended = ring.too_many(|pid| pid != self.first.0 && !living.contains(&pid));
        if ended.is_empty() {
            return Ok(());
        }
        for pid in &ended {
            let folder = self.processes.remove(pid).map(|process| process.process_path().to_owned());
            ring.forget(*pid, folder)?;
        }
        self.generations.retain(|(pid, _), _| !ended.contains(pid));
        let threads = self.taken.len();
        self.taken.retain(|(pid, _)| !ended.contains(pid));
        self.forgotten_threads += threads - self.taken.len();
        self.forgotten.extend(ended);
        Ok(())
    }

    /// A thread's files by its number in the session, for joining segments.
    fn thread_with_id(&mut self, pid: ProcessId, id: ThreadId) -> Result<&mut ThreadWriter, ControlError> {
        let key = (pid, id);
        if !self.threads.contains_key(&key) {
            let has_folder = self.first == key;
            let writer = begin(self.process(pid)?, id, has_folder)?;
            self.threads.insert(key, writer);
        }
        Ok(self.threads.get_mut(&key).expect("it was just made"))
    }

    /// Finishes such files.
    fn finish_joined(&mut self, pid: ProcessId, id: ThreadId) -> Result<(), ControlError> {
        match self.threads.remove(&(pid, id)) {
            Some(writer) => self.process(pid)?.finish_thread(writer).map_err(ControlError::from),
            None => Ok(()),
        }
    }

    /// A process of whose threads no event remains has one of them all the same.
    pub(crate) fn name_let_go(&mut self, let_go: &HashMap<ProcessId, ThreadEntry>) -> Result<(), ControlError> {
        for (pid, process) in &mut self.processes {
            let Some(thread) = let_go.get(pid).filter(|_| process.manifest_mut().threads.is_empty()) else { continue };
            let mut writer = process.thread(thread.id)?;
            let entry = writer.entry_mut();
            (entry.tid, entry.handle) = (thread.tid, thread.handle);
            entry.name.clone_from(&thread.name);
            process.finish_thread(writer)?;
        }
        Ok(())
    }

    /// Appends segments, oldest first, and deletes each if `is_moving`.
    pub(crate) fn join(&mut self, segments: &[PathBuf], is_moving: bool) -> Result<(), ControlError> {
        let sweeper = Sweeper::new();
        // The files of a thread can be finished with the last segment that has it.
        let mut last: HashMap<(ProcessId, ThreadId), usize> = HashMap::new();
        for (number, path) in segments.iter().enumerate() {
            for (pid, thread, _) in closed_segment::threads_of(&closed_segment::open(path)?) {
                last.insert((pid, thread.id()), number);
            }
        }
        for (number, path) in segments.iter().enumerate() {
            let session = closed_segment::open(path)?;
            for (pid, thread, process) in closed_segment::threads_of(&session) {
                let entries = session.processes()[process].manifest.iter().flat_map(|manifest| &manifest.threads);
                let entry = entries.clone().find(|entry| entry.id == thread.id());
                let writer = self.thread_with_id(pid, thread.id())?;
                if let Some(entry) = entry {
                    let known = writer.entry_mut();
                    (known.tid, known.handle) = (entry.tid, entry.handle);
                    known.name.clone_from(&entry.name);
                    known.exit_value = entry.exit_value;
                }
                settle_if_large(writer, writer.byte_count() + thread.event_count() * Event::SIZE as u64)?;
                writer.append_thread(thread)?;
                if last.get(&(pid, thread.id())) == Some(&number) {
                    self.finish_joined(pid, thread.id())?;
                }
            }
            if is_moving {
                self.threads.values_mut().try_for_each(ThreadWriter::settle)?;
                self.flush()?;
                let processes = session.processes().len();
                drop(session);
                sweeper.delete_segment(path.clone(), processes)?;
            }
        }
        sweeper.finish()
    }

    /// What is kept, once nothing more comes: the segments become the session.
    fn join_segments(&mut self) -> Result<(), ControlError> {
        self.turn_segment()?;
        let Some(ring) = self.ring.take() else { return Ok(()) };
        self.join(&ring.closed(), true)?;
        let let_go = ring.let_go_threads();
        let_go.keys().try_for_each(|pid| self.process(*pid).map(drop))?;
        self.name_let_go(&let_go)?;
        ring.finish()
    }

    /// Hands everything to the operating system, except for threads that may end soon.
    pub(crate) fn flush(&mut self) -> Result<(), ControlError> {
        while let Some((_, thread)) = self.young.pop_front_if(|(since, _)| since.elapsed() > YOUNG) {
            if let Some(writer) = self.threads.get_mut(&thread) {
                writer.settle()?;
            }
        }
        self.threads.values_mut().filter(|thread| !thread.is_small()).try_for_each(ThreadWriter::flush)?;
        if let Some(ring) = &mut self.ring {
            ring.flush()?;
        }
        self.processes.values_mut().try_for_each(SessionWriter::flush_bundle)?;
        Ok(())
    }

    pub(crate) fn process_count(&self) -> usize {
        self.pids().count() + self.forgotten.len()
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.taken.len() + self.forgotten_threads
    }

    /// Finishes all files, those of other threads and processes also where some fail; `complete` fills in each process's
    /// manifest, which says so where something could not be written.
    pub(crate) fn finish(
        mut self,
        mut complete: impl FnMut(ProcessId, &mut SessionWriter),
    ) -> Result<(), ControlError> {
        let mut result = self.join_segments();
        for ((pid, _), writer) in std::mem::take(&mut self.threads) {
            let finished =
                self.process(pid).and_then(|process| process.finish_thread(writer).map_err(ControlError::from));
            result = result.and(finished);
        }
        for (pid, mut process) in self.processes {
            result = result.and(process.flush_bundle().map_err(ControlError::from));
            // A thread that ended when there was no room has no count either, though all others could be finished.
            if result.is_err() || process.manifest_mut().threads.iter().any(|thread| thread.event_count.is_none()) {
                process.count_again();
            }
            complete(pid, &mut process);
            if result.is_err() {
                process.manifest_mut().extra.insert("incomplete".into(), true.into());
            }
            result = result.and(process.finish().map(drop).map_err(ControlError::from));
        }
        result
    }
}

/// Gives a thread that has so many bytes, or will have, files of its own.
fn settle_if_large(writer: &mut ThreadWriter, bytes: u64) -> Result<(), ControlError> {
    if bytes > SMALL { writer.settle().map_err(ControlError::from) } else { Ok(()) }
}

/// Begins a thread's files.
fn begin(process: &SessionWriter, id: ThreadId, has_folder: bool) -> Result<ThreadWriter, ControlError> {
    let writer = if has_folder { process.thread(id) } else { process.small_thread(id) };
    writer.map_err(ControlError::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_a_target_made_up_get_numbers_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let pid = ProcessId(1);
        let mut files = SessionFiles::create(folder.path(), pid, Store::Raw).unwrap();
        let mut numbers = HashSet::new();
        let mut count = |files: &mut SessionFiles, tid| {
            files.thread(pid, tid).unwrap();
            numbers.insert(files.thread_id(pid, tid).unwrap());
            files.thread_ended(pid, tid).unwrap();
            numbers.len()
        };
        assert_eq!(count(&mut files, ThreadId(7)), 1);
        // What the second thread 7 would be called.
        assert_eq!(count(&mut files, ThreadId(7 | 1 << GENERATION_SHIFT)), 2);
        for number in 3..1100 {
            assert_eq!(count(&mut files, ThreadId(7)), number);
        }
        assert_eq!(files.thread_count(), 1099);
    }

    #[test]
    fn only_threads_that_are_small_and_end_soon_share_a_file() {
        let event = Event::default();
        for ring in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let pid = ProcessId(1);
            let mut files = SessionFiles::create(folder.path(), pid, Store::Raw).unwrap();
            if ring {
                files.keep_newest(1 << 20);
            }
            let path = files.path().to_owned();
            for (tid, events) in [(1, 1), (2, 1), (3, SMALL / 32 + 1), (4, 2)] {
                let tid = ThreadId(tid);
                let writer = files.thread(pid, tid).unwrap();
                (0..events).for_each(|_| assert!(writer.append(&event).is_ok()));
                files.flush().unwrap();
                files.thread(pid, tid).unwrap();
                files.thread_ended(pid, tid).unwrap();
            }
            // As if it had lived for long.
            files.thread(pid, ThreadId(5)).unwrap();
            files.young.iter_mut().for_each(|(since, _)| *since -= YOUNG);
            std::thread::sleep(Duration::from_millis(1));
            files.flush().unwrap();
            assert!(!files.threads[&(pid, ThreadId(5))].is_small());
            files.finish(|_, _| {}).unwrap();
            let session = ada_format::atf::Session::open(&path).unwrap();
            assert_eq!(session.findings().len(), 0, "{:?}", session.findings());
            let threads: Vec<_> = session.threads().map(|it| (it.id().0, it.event_count())).collect();
            assert_eq!(threads, [(1, 1), (2, 1), (3, SMALL / 32 + 1), (4, 2), (5, 0)]);
            let has_folder = |tid: &u32| path.join(format!("pid_1/thread_{tid}")).exists();
            let of_their_own: Vec<u32> = (1..6).filter(has_folder).collect();
            // What a ring has kept is written anew in the end, when nobody knows how long a thread has lived.
            assert_eq!(of_their_own, if ring { vec![1, 3] } else { vec![1, 3, 5] });
        }
    }
}
