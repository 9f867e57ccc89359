//! One thread of a session: its index file, and its detail file if it has one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ada_event::{Event, ThreadId};

use super::block_cache::BlockCache;
use super::detail::{DetailFile, ThreadDetail};
use super::finding::FileFindings;
use super::function_lists::FunctionLists;
use super::index::{EventBlock, IndexFile, ThreadEvents};
use super::{Finding, Problem};
use crate::atf::bundle::{BundledThread, Member};
use crate::atf::chunks::Scratch;
use crate::atf::map::Mapping;
use crate::atf::packed::DetailBlock;
use crate::atf::{AtfError, Damage, EventChunks, EventVisitor, Store};

/// What is kept for all threads of a session: by random access of packed files, and of the lists of functions.
#[derive(Debug, Default)]
pub(super) struct Caches {
    events: Arc<BlockCache<EventBlock>>,
    records: Arc<BlockCache<DetailBlock>>,
    pub(super) lists: Arc<FunctionLists>,
}

/// A thread's files, mapped. Which form they have is their own affair: all is read in the same way.
#[derive(Debug)]
pub struct ThreadTrace {
    id: ThreadId,
    place: Place,
    pub(super) index: IndexFile,
    pub(super) detail: Option<DetailFile>,
}

/// Where a thread's files are.
#[derive(Debug)]
enum Place {
    Folder {
        index: PathBuf,
        detail: Option<PathBuf>,
    },
    /// In one that they share with others'.
    Bundle(Arc<Path>),
}

impl ThreadTrace {
    /// Opens a thread's folder. Without a readable index there is no thread; without readable detail there is. A folder
    /// without either is one whose writer died before it wrote, which is no finding.
    pub(super) fn open(path: &Path, id: ThreadId, caches: &Caches, findings: &mut Vec<Finding>) -> Option<Self> {
        let (index_path, store) = file_in(path, Store::index_file);
        let (detail_path, detail_store) = file_in(path, Store::detail_file);
        if !index_path.exists() && !detail_path.exists() {
            return None;
        }
        let index = open(&index_path, findings, |map| read_index(map, store, caches), IndexFile::is_settled)?;
        add_damage(&index_path, index.damage(), findings);
        let detail = match detail_path.exists() {
            true => {
                let read = |map| read_detail(map, detail_store, caches);
                open(&detail_path, findings, read, DetailFile::is_settled)
            }
            false => None,
        };
        if let Some(detail) = &detail {
            add_damage(&detail_path, detail.damage(), findings);
        }
        let place = Place::Folder { index: index_path, detail: detail.is_some().then_some(detail_path) };
        Some(Self { id, place, index, detail })
    }

    /// Opens a thread of a bundle.
    pub(super) fn bundled(
        path: &Arc<Path>,
        bundle: &Mapping,
        thread: &BundledThread,
        caches: &Caches,
        found: &mut FileFindings<'_>,
    ) -> Option<Self> {
        let part = |member: &Member| bundle.part(&member.bytes);
        let index = match read_index(part(&thread.index)?, thread.index.store, caches) {
            Ok(index) => index,
            Err(error) => {
                found.push(Problem::Corrupt(error));
                return None;
            }
        };
        let detail = thread.detail.as_ref().and_then(|member| Some(read_detail(part(member)?, member.store, caches)));
        let detail = match detail.transpose() {
            Ok(detail) => detail,
            Err(error) => {
                found.push(Problem::Corrupt(error));
                None
            }
        };
        let damage = index.damage().iter().chain(detail.iter().flat_map(DetailFile::damage));
        damage.for_each(|damage| found.damage(damage.clone()));
        Some(Self { id: thread.thread, place: Place::Bundle(path.clone()), index, detail })
    }

    /// The id in the folder's name, or in the bundle.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// The files of the thread alone, index first; none where it is part of a bundle.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let files = match &self.place {
            Place::Folder { index, detail } => [Some(index), detail.as_ref()],
            Place::Bundle(_) => [None, None],
        };
        files.into_iter().flatten().map(PathBuf::as_path)
    }

    /// The file that holds its events.
    pub(super) fn index_path(&self) -> &Path {
        match &self.place {
            Place::Folder { index, .. } => index,
            Place::Bundle(path) => path,
        }
    }

    /// The file that holds its detail.
    pub(super) fn detail_path(&self) -> &Path {
        match &self.place {
            Place::Folder { index, detail } => detail.as_ref().unwrap_or(index),
            Place::Bundle(path) => path,
        }
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
        self.detail.as_ref().map(DetailFile::view)
    }

    /// How many events the index file has.
    pub fn event_count(&self) -> u64 {
        self.index.len()
    }

    /// Bytes of the events and of the detail records, in the raw form.
    pub fn byte_count(&self) -> u64 {
        let detail = self.detail.as_ref().map_or(0, DetailFile::record_bytes);
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
        for map in [Some(self.index.map()), self.detail.as_ref().map(DetailFile::map)].into_iter().flatten() {
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

fn read_index(map: Mapping, store: Store, caches: &Caches) -> Result<IndexFile, AtfError> {
    match store {
        Store::Packed => IndexFile::packed(map, caches.events.clone()),
        Store::Raw | Store::Nothing => IndexFile::raw(map),
    }
}

fn read_detail(map: Mapping, store: Store, caches: &Caches) -> Result<DetailFile, AtfError> {
    match store {
        Store::Packed => DetailFile::packed(map, caches.records.clone()),
        Store::Raw | Store::Nothing => DetailFile::raw(map),
    }
}

fn add_damage(path: &Path, damage: &[Damage], findings: &mut Vec<Finding>) {
    let mut found = FileFindings::new(path, findings);
    damage.iter().for_each(|damage| found.damage(damage.clone()));
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
