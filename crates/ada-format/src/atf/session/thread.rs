//! One thread of a session: its index file, and its detail file if it has one.

use std::io;
use std::path::{Path, PathBuf};

use ada_event::{Event, ThreadId};

use super::finding::FileFindings;
use super::{Finding, Problem};
use crate::atf::detail::DetailShape;
use crate::atf::index::IndexShape;
use crate::atf::map::Mapping;
use crate::atf::{DetailView, EventChunks, IndexView};

/// A thread's files, mapped.
#[derive(Debug)]
pub struct ThreadTrace {
    id: ThreadId,
    path: PathBuf,
    pub(super) index_map: Mapping,
    pub(super) index_shape: IndexShape,
    pub(super) detail: Option<(Mapping, DetailShape)>,
}

impl ThreadTrace {
    /// Opens a thread's folder. Without a readable index there is no thread; without readable detail there is. A folder
    /// without either is one whose writer died before it wrote, which is no finding.
    pub(super) fn open(path: PathBuf, id: ThreadId, findings: &mut Vec<Finding>) -> Option<Self> {
        let index_path = path.join("index.atf");
        let detail_path = path.join("detail.atf");
        let mut found = FileFindings::new(&index_path, findings);
        let index_map = match Mapping::open(&index_path) {
            Ok(map) => map,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !detail_path.exists() => return None,
            Err(error) => {
                found.push(Problem::Unreadable(error));
                return None;
            }
        };
        let index_shape =
            IndexShape::find(index_map.bytes()).map_err(|error| found.push(Problem::Corrupt(error))).ok()?;
        index_shape.damage.iter().for_each(|damage| found.damage(damage.clone()));
        drop(found);
        let detail = open_detail(&detail_path, findings);
        Some(Self { id, path, index_map, index_shape, detail })
    }

    /// The id in the folder's name.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// The thread's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The index file.
    pub fn index(&self) -> IndexView<'_> {
        IndexView::with_shape(self.index_map.bytes(), self.index_shape.clone())
    }

    /// The detail file, if there is a readable one.
    pub fn detail(&self) -> Option<DetailView<'_>> {
        self.detail.as_ref().map(|(map, shape)| DetailView::mapped(map, shape.clone()))
    }

    /// How many events the index file has.
    pub fn event_count(&self) -> u64 {
        (self.index_shape.events.len() / Event::SIZE) as u64
    }

    /// Bytes of the events and of the detail records.
    pub fn byte_count(&self) -> u64 {
        let detail = self.detail.as_ref().map_or(0, |(_, shape)| shape.records.len());
        (self.index_shape.events.len() + detail) as u64
    }

    /// The events many at a time, for reading from end to end: pages that were read are given back on the way.
    pub fn chunks(&self) -> EventChunks<'_> {
        self.chunks_beside(0)
    }

    /// Like [`Self::chunks`], for use with so many other threads at the same time.
    pub(super) fn chunks_beside(&self, others: usize) -> EventChunks<'_> {
        EventChunks::mapped(&self.index_map, self.index_shape.events.clone(), others)
    }

    /// Gives back the pages that random access has touched.
    pub fn release(&self) {
        self.index_map.release(0..self.index_map.bytes().len());
        if let Some((map, _)) = &self.detail {
            map.release(0..map.bytes().len());
        }
    }
}

fn open_detail(path: &Path, findings: &mut Vec<Finding>) -> Option<(Mapping, DetailShape)> {
    let mut found = FileFindings::new(path, findings);
    let map = match Mapping::open(path) {
        Ok(map) => map,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            found.push(Problem::Unreadable(error));
            return None;
        }
    };
    match DetailShape::find(map.bytes(), |walked| map.release(0..walked)) {
        Ok(shape) => {
            shape.damage.iter().for_each(|damage| found.damage(damage.clone()));
            Some((map, shape))
        }
        Err(error) => {
            found.push(Problem::Corrupt(error));
            None
        }
    }
}
