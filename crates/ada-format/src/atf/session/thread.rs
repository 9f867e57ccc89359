//! One thread of a session: its index file, and its detail file if it has one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ada_event::{Event, ThreadId};

use super::block_cache::BlockCache;
use super::detail::{DetailFile, ThreadDetail};
use super::finding::FileFindings;
use super::index::{EventBlock, IndexFile, ThreadEvents};
use super::{Finding, Problem};
use crate::atf::chunks::Scratch;
use crate::atf::map::Mapping;
use crate::atf::packed::DetailBlock;
use crate::atf::{AtfError, EventChunks, EventVisitor, Store};

/// What random access keeps of packed files, for all threads of a session.
#[derive(Debug, Default)]
pub(super) struct Caches {
    events: Arc<BlockCache<EventBlock>>,
    records: Arc<BlockCache<DetailBlock>>,
}

/// A thread's files, mapped. Which form they have is their own affair: all is read in the same way.
#[derive(Debug)]
pub struct ThreadTrace {
    id: ThreadId,
    path: PathBuf,
    pub(super) index_path: PathBuf,
    pub(super) index: IndexFile,
    pub(super) detail: Option<(PathBuf, DetailFile)>,
}

impl ThreadTrace {
    /// Opens a thread's folder. Without a readable index there is no thread; without readable detail there is. A folder
    /// without either is one whose writer died before it wrote, which is no finding.
    pub(super) fn open(path: PathBuf, id: ThreadId, caches: &Caches, findings: &mut Vec<Finding>) -> Option<Self> {
        let (index_path, store) = file_in(&path, Store::index_file);
        let (detail_path, detail_store) = file_in(&path, Store::detail_file);
        if !index_path.exists() && !detail_path.exists() {
            return None;
        }
        let read_index = |map| match store {
            Store::Packed => IndexFile::packed(map, caches.events.clone()),
            Store::Raw | Store::Nothing => IndexFile::raw(map),
        };
        let index = open(&index_path, findings, read_index, IndexFile::is_settled)?;
        let mut found = FileFindings::new(&index_path, findings);
        index.damage().iter().for_each(|damage| found.damage(damage.clone()));
        drop(found);
        let read_detail = |map| match detail_store {
            Store::Packed => DetailFile::packed(map, caches.records.clone()),
            Store::Raw | Store::Nothing => DetailFile::raw(map),
        };
        let detail = match detail_path.exists() {
            true => open(&detail_path, findings, read_detail, DetailFile::is_settled),
            false => None,
        };
        if let Some(detail) = &detail {
            let mut found = FileFindings::new(&detail_path, findings);
            detail.damage().iter().for_each(|damage| found.damage(damage.clone()));
        }
        Some(Self { id, path, index_path, index, detail: detail.map(|detail| (detail_path, detail)) })
    }

    /// The id in the folder's name.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// The thread's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The thread's files, index first.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.index_path), self.detail.as_ref().map(|(path, _)| path)].into_iter().flatten().map(PathBuf::as_path)
    }

    /// The form of the index file.
    pub fn store(&self) -> Store {
        match &self.index {
            IndexFile::Raw { .. } => Store::Raw,
            IndexFile::Packed(_) => Store::Packed,
        }
    }

    /// The events, by position.
    pub fn index(&self) -> ThreadEvents<'_> {
        self.index.view()
    }

    /// The detail records, if there is a readable file of them.
    pub fn detail(&self) -> Option<ThreadDetail<'_>> {
        self.detail.as_ref().map(|(_, file)| file.view())
    }

    /// How many events the index file has.
    pub fn event_count(&self) -> u64 {
        self.index.len()
    }

    /// Bytes of the events and of the detail records, in the raw form.
    pub fn byte_count(&self) -> u64 {
        let detail = self.detail.as_ref().map_or(0, |(_, file)| file.record_bytes());
        self.index.len() * Event::SIZE as u64 + detail
    }

    /// The events many at a time, for reading from end to end: memory that was read is given back on the way.
    pub fn chunks(&self) -> EventChunks<'_> {
        self.chunks_beside(0, &Arc::default())
    }

    /// Hands all events to a visitor, one by one: the fastest way to read a packed file.
    /// `has_processor`: one is free to decode ahead.
    #[inline]
    pub fn visit(&self, has_processor: bool, visitor: &mut impl EventVisitor) {
        self.index.visit(has_processor, visitor);
    }

    /// Like [`Self::chunks`], for use with so many other threads at the same time.
    pub(super) fn chunks_beside(&self, others: usize, scratch: &Arc<Scratch>) -> EventChunks<'_> {
        self.index.chunks(others, scratch)
    }

    /// Gives back the pages that random access has touched.
    pub fn release(&self) {
        for map in [Some(self.index.map()), self.detail.as_ref().map(|(_, file)| file.map())].into_iter().flatten() {
            map.release(0..map.bytes().len());
        }
    }
}

/// The file that a folder has of two that say the same; the raw one if it has both, which is what a conversion that was
/// interrupted leaves.
pub(super) fn file_in(folder: &Path, name: impl Fn(Store) -> &'static str) -> (PathBuf, Store) {
    let packed = folder.join(name(Store::Packed));
    match folder.join(name(Store::Raw)) {
        raw if raw.exists() || !packed.exists() => (raw, Store::Raw),
        _ => (packed, Store::Packed),
    }
}

/// How often a file is opened again that seems to be just being written.
const LOOKS: usize = 4;

fn open<T>(
    path: &Path,
    findings: &mut Vec<Finding>,
    read: impl Fn(Mapping) -> Result<T, AtfError>,
    is_settled: impl Fn(&T) -> bool,
) -> Option<T> {
    let look = || Mapping::open(path).map(&read);
    let mut opened: io::Result<Result<T, AtfError>> = look();
    for _ in 1..LOOKS {
        if !matches!(&opened, Ok(Ok(file)) if !is_settled(file)) {
            break;
        }
        opened = look();
    }
    let problem = match opened {
        Ok(Ok(file)) => return Some(file),
        Ok(Err(error)) => Problem::Corrupt(error),
        Err(error) => Problem::Unreadable(error),
    };
    FileFindings::new(path, findings).push(problem);
    None
}
