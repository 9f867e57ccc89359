//! What a process's calls look like from afar, made once and kept beside the span tables.

mod build;
mod cell;
mod error;
mod file;
pub mod unchecked;

use std::path::PathBuf;

use ada_event::TraceNanos;
use ada_format::atf::Mapping;
use ada_format::parallel::in_parallel;
use ada_span::table::Tables;
use ada_span::{SpanError, ThreadIndex};

use crate::item::Item;
use crate::lens_rows::LensRows;
use build::ThreadSummary;
pub use error::SummaryError;
use file::{Directory, ITEM, decode_item};

/// Threads with fewer spans are drawn from the spans themselves.
const WORTH_IT: u64 = 8192;

/// The summary of a process.
pub struct Summary {
    directory: Directory,
    bytes: Bytes,
}

/// Where the summary is.
enum Bytes {
    Mapped(Mapping),
    /// Where it cannot be kept.
    Held(Vec<u8>),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Mapped(bytes) => bytes.as_ref(),
            Self::Held(bytes) => bytes,
        }
    }
}

/// Items of one row, by their starts.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a>(&'a [[u8; ITEM]]);

impl Items<'_> {
    pub(crate) fn get(&self, index: usize) -> Item {
        decode_item(&self.0[index])
    }

    /// The index of the first one that begins at or after a time.
    pub(crate) fn first_from(&self, time: TraceNanos) -> usize {
        self.0.partition_point(|bytes| decode_item(bytes).start < time)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Summary {
    /// The summary of tables: the one that is there, or a new one. `progress` hears of spans as they are summed up.
    /// One that is damaged is made anew, and one that cannot be kept is held in memory.
    pub fn of(tables: &Tables, progress: &(dyn Fn(u64) + Sync)) -> Result<Self, SpanError> {
        if let Ok(found) = Self::open(tables) {
            return Ok(found);
        }
        let path = path_of(tables);
        let key = tables.meta().key;
        let threads = build_all(tables, None, progress)?;
        if file::write(&path, key, &threads).is_ok()
            && let Ok(written) = Self::open(tables)
        {
            return Ok(written);
        }
        Self::held(tables, &threads)
    }

    /// The summary of what a lens shows, held in memory.
    pub fn through(tables: &Tables, lens: &LensRows, progress: &(dyn Fn(u64) + Sync)) -> Result<Self, SpanError> {
        Self::held(tables, &build_all(tables, Some(lens), progress)?)
    }

    fn held(tables: &Tables, threads: &[ThreadSummary]) -> Result<Self, SpanError> {
        let path = path_of(tables);
        let mut bytes = Vec::new();
        file::write_to(&mut bytes, tables.meta().key, threads)
            .map_err(|source| SpanError::Io { path: path.clone(), source })?;
        let directory = file::read_unchecked(&bytes).map_err(|_| SpanError::Damaged { path })?;
        Ok(Self { directory, bytes: Bytes::Held(bytes) })
    }

    fn open(tables: &Tables) -> Result<Self, SummaryError> {
        let bytes = Mapping::open(&path_of(tables)).map_err(|_| SummaryError::Unreadable)?;
        let directory = file::read(bytes.as_ref(), tables.meta().key)?;
        if directory.threads.len() != tables.meta().threads.len() {
            return Err(SummaryError::OtherTables { offset: 0 });
        }
        Ok(Self { directory, bytes: Bytes::Mapped(bytes) })
    }

    /// Rows of the coarsest level of a thread whose stretches are not longer than this, or of its finest one. None for
    /// a thread that has no summary.
    pub(crate) fn level(&self, thread: ThreadIndex, width: u64) -> Option<(u64, usize)> {
        let levels = &self.directory.threads.get(thread.as_usize())?.levels;
        let coarsest = levels.iter().rposition(|level| level.width <= width);
        let level = coarsest.unwrap_or(0);
        Some((levels.get(level)?.width, level))
    }

    pub(crate) fn rows(&self, thread: ThreadIndex, level: usize) -> usize {
        self.directory.threads[thread.as_usize()].levels[level].rows.len()
    }

    pub(crate) fn items(&self, thread: ThreadIndex, level: usize, row: usize) -> Items<'_> {
        let (first, last) = self.directory.threads[thread.as_usize()].levels[level].rows[row];
        items_between(self.bytes.get(), first, last)
    }
}

fn items_between(bytes: &[u8], first: u64, last: u64) -> Items<'_> {
    Items(bytes[first as usize * ITEM..last as usize * ITEM].as_chunks().0)
}

fn path_of(tables: &Tables) -> PathBuf {
    tables.folder().join("summary.bin")
}

fn build_all(
    tables: &Tables,
    lens: Option<&LensRows>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Vec<ThreadSummary>, SpanError> {
    let threads = &tables.meta().threads;
    let made = in_parallel(threads.len(), |index| match threads[index].spans {
        0..WORTH_IT => Ok(ThreadSummary::default()),
        _ => build::build(tables, ThreadIndex(index as u32), lens, progress),
    });
    made.into_iter().collect()
}
