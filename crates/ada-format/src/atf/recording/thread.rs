//! Writes the two files of a thread, and the links between them.

use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use ada_event::{DetailSeq, Event, EventSeq, ThreadId, TraceNanos};

use super::bundle_writer::SmallThread;
use super::thread_file::ThreadFile;
use super::{DetailWriter, IndexWriter, SyncPolicy};
use crate::atf::manifest::ThreadEntry;
use crate::atf::{Payload, Platform, Store, WriteError, X86Captured};
use crate::private::{create_file, create_folder};

/// A thread's files, open for writing. Dropping it unfinished leaves files that readers recover.
pub struct ThreadWriter {
    thread: ThreadId,
    /// Its folder, which a small thread does not have yet.
    path: PathBuf,
    platform: Platform,
    sync: SyncPolicy,
    store: Store,
    /// What the manifest will say of it beside its counts.
    entry: ThreadEntry,
    index: IndexWriter<ThreadFile>,
    /// Made when the first detail record comes: most threads of a selective recording never have one.
    detail: Option<DetailWriter<ThreadFile>>,
    is_small: bool,
}

/// What a finished thread leaves for the manifest.
pub(super) struct FinishedThread {
    pub(super) entry: ThreadEntry,
    pub(super) times: Option<(TraceNanos, TraceNanos)>,
    /// Its files, where they are in memory.
    pub(super) small: Option<SmallThread>,
}

impl ThreadWriter {
    pub(super) fn create(
        process: &Path,
        thread: ThreadId,
        platform: Platform,
        sync: SyncPolicy,
        store: Store,
    ) -> Result<Self, WriteError> {
        let mut writer = Self::small(process, thread, platform, sync, store)?;
        writer.settle()?;
        Ok(writer)
    }

    /// The same in memory, for a bundle.
    pub(super) fn small(
        process: &Path,
        thread: ThreadId,
        platform: Platform,
        sync: SyncPolicy,
        store: Store,
    ) -> Result<Self, WriteError> {
        let path = process.join(format!("thread_{thread}"));
        let index = begin_index(ThreadFile::memory(), store, platform, thread)?;
        let entry = ThreadEntry::default();
        Ok(Self { thread, path, platform, sync, store, entry, index, detail: None, is_small: true })
    }

    /// Gives a small thread files of its own. Where there is no room for them, it stays as it was.
    pub fn settle(&mut self) -> Result<(), WriteError> {
        if !self.is_small {
            return Ok(());
        }
        let in_folder = |source| WriteError::File { path: self.path.clone(), source };
        create_folder(&self.path).map_err(in_folder)?;
        let index = self.index.file().copy_to(&self.path.join(self.store.index_file()));
        let detail = self.detail.as_mut().map(|it| it.file().copy_to(&self.path.join(self.store.detail_file())));
        match (index, detail.transpose()) {
            (Ok(index), Ok(detail)) => {
                *self.index.file() = index;
                self.detail.iter_mut().zip(detail).for_each(|(writer, file)| *writer.file() = file);
                self.is_small = false;
                Ok(())
            }
            (Err(source), _) | (_, Err(source)) => {
                // What is left of the folder is empty or a copy; the error is the first one's.
                let _ = fs::remove_dir_all(&self.path);
                Err(in_folder(source))
            }
        }
    }

    /// Whether its files are in memory, and will join a bundle.
    pub fn is_small(&self) -> bool {
        self.is_small
    }

    /// Which thread.
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// Its folder; a small thread has none yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the manifest will say of the thread; its id and counts are filled in at the end.
    pub fn entry_mut(&mut self) -> &mut ThreadEntry {
        &mut self.entry
    }

    /// The position that the next event will have.
    pub fn next_seq(&self) -> EventSeq {
        self.index.next_seq()
    }

    /// How many detail records there are.
    pub(super) fn detail_count(&self) -> u64 {
        self.detail.as_ref().map_or(0, DetailWriter::count)
    }

    /// Bytes that all events and detail records so far take; about, where they are packed.
    pub fn byte_count(&self) -> u64 {
        self.index.stored_bytes() + self.detail.as_ref().map_or(0, DetailWriter::stored_bytes)
    }

    /// Appends an event as it is; its link is the caller's.
    pub fn append(&mut self, event: &Event) -> Result<EventSeq, WriteError> {
        self.index.append(event).map_err(|error| WriteError::from(error).at(&self.path))
    }

    /// Appends events as they are; their links are the caller's.
    pub fn append_events(&mut self, events: impl Iterator<Item = Event>) -> Result<(), WriteError> {
        self.index.append_events(events).map_err(|error| WriteError::from(error).at(&self.path))
    }

    /// Appends whole events as files store them.
    pub fn append_raw(&mut self, events: &[u8]) -> Result<(), WriteError> {
        self.index.append_raw(events).map_err(|error| error.at(&self.path))
    }

    /// Appends whole detail records as a ring holds them; their links, and the events', are the caller's.
    pub fn append_raw_detail(&mut self, records: &[u8]) -> Result<(), WriteError> {
        self.detail()?.append_raw(records).map_err(|error| error.at(&self.path))
    }

    /// Appends an event with its detail, and links both ways. Where a link would not fit, nothing is written. Gives
    /// the bytes of the detail record.
    pub fn append_with_detail(&mut self, event: &Event, payload: &Payload<'_>) -> Result<u64, WriteError> {
        let (detail, bytes) = self.append_detail(self.index.next_seq(), event.timestamp, payload)?;
        self.append(&Event { detail, ..*event })?;
        Ok(bytes)
    }

    /// Appends the detail of an event that is yet to be appended, at this position; the event needs the link that this
    /// gives. Gives the bytes of the detail record too.
    pub fn append_detail(
        &mut self,
        seq: EventSeq,
        time: TraceNanos,
        payload: &Payload<'_>,
    ) -> Result<(DetailSeq, u64), WriteError> {
        let writer = self.detail()?;
        let before = writer.bytes();
        let appended = writer.append(seq, time, payload);
        let bytes = writer.bytes() - before;
        appended.map(|detail| (detail, bytes)).map_err(|error| error.at(&self.path))
    }

    /// The same, from where the parts of the payload lie.
    pub fn append_captured(
        &mut self,
        seq: EventSeq,
        time: TraceNanos,
        captured: &X86Captured<'_>,
    ) -> Result<(DetailSeq, u64), WriteError> {
        let appended = self.detail()?.append_captured(seq, time, captured);
        appended.map_err(|error| error.at(&self.path))
    }

    /// Appends the detail of an event that was appended without, and links both ways. Gives the record's bytes.
    pub fn add_detail(&mut self, seq: EventSeq, time: TraceNanos, payload: &Payload<'_>) -> Result<u64, WriteError> {
        let writer = self.detail()?;
        let before = writer.bytes();
        let detail = writer.append(seq, time, payload)?;
        let bytes = writer.bytes() - before;
        self.index.link(seq, detail)?;
        Ok(bytes)
    }

    /// Whether packed detail is compressed from now on, see [`DetailWriter::set_compressed`].
    pub fn set_detail_compressed(&mut self, is_compressed: bool) {
        self.detail.iter_mut().for_each(|detail| detail.set_compressed(is_compressed));
    }

    /// Hands all buffers to the operating system: what was appended survives the death of this process.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let flushed = self.detail.as_mut().map_or(Ok(()), DetailWriter::flush).and_then(|()| self.index.flush());
        flushed.map_err(|error| WriteError::from(error).at(&self.path))
    }

    /// Writes footers and headers. The detail file goes first, so that a finished index never links into an
    /// unfinished one.
    pub(super) fn finish(mut self) -> Result<FinishedThread, WriteError> {
        let sync = self.sync;
        let sync = |file: &mut ThreadFile| match sync {
            SyncPolicy::Never => Ok(()),
            SyncPolicy::OnFinish => file.sync_data(),
        };
        let has_detail = self.detail.is_some();
        let mut detail_file = None;
        if let Some(detail) = self.detail {
            detail_file = Some(detail.finish_synced(sync)?);
            self.index.set_has_detail();
        }
        let times = self.index.times();
        let event_count = Some(self.index.next_seq().0);
        let events = self.index.next_seq().0;
        let mut file = self.index.finish_synced(sync)?;
        // A disk that was full for a while may have kept a part of a write behind the footer.
        let length = match self.store {
            Store::Raw => 2 * 64 + events * Event::SIZE as u64,
            Store::Packed => file.stream_position()?,
            Store::Nothing => 2 * 64,
        };
        file.set_len(length)?;
        if self.sync == SyncPolicy::OnFinish && !self.is_small {
            File::open(&self.path)?.sync_all()?;
        }
        let (thread, store) = (self.thread, self.store);
        let detail = detail_file.and_then(ThreadFile::into_memory);
        let small = file.into_memory().map(|index| SmallThread { thread, store, index, detail });
        let entry = ThreadEntry { id: self.thread, has_detail, event_count, ..self.entry };
        Ok(FinishedThread { entry, times, small })
    }

    fn detail(&mut self) -> Result<&mut DetailWriter<ThreadFile>, WriteError> {
        if self.detail.is_none() {
            let begin = |file| match self.store {
                Store::Raw | Store::Nothing => DetailWriter::begin(file, self.platform, self.thread),
                Store::Packed => DetailWriter::begin_packed(file, self.platform, self.thread),
            };
            self.detail = Some(match self.is_small {
                true => begin(ThreadFile::memory())?,
                false => create(&self.path.join(self.store.detail_file()), begin)?,
            });
        }
        Ok(self.detail.as_mut().expect("it was just made"))
    }
}

fn begin_index(
    file: ThreadFile,
    store: Store,
    platform: Platform,
    thread: ThreadId,
) -> io::Result<IndexWriter<ThreadFile>> {
    match store {
        Store::Raw => IndexWriter::begin(file, platform, thread),
        Store::Packed => IndexWriter::begin_packed(file, platform, thread),
        Store::Nothing => IndexWriter::begin_without_events(file, platform, thread),
    }
}

fn create<T>(path: &Path, begin: impl FnOnce(ThreadFile) -> io::Result<T>) -> Result<T, WriteError> {
    create_file(path)
        .map(ThreadFile::Disk)
        .and_then(begin)
        .map_err(|source| WriteError::File { path: path.to_owned(), source })
}
