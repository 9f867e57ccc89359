//! What a process's calls look like from afar, made once and kept beside the span tables.

mod build;
mod cell;
mod file;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ada_format::atf::Mapping;
use ada_span::SpanError;
use ada_span::table::Tables;

use crate::item::Item;
use build::ThreadSummary;
use file::{Directory, ITEM, decode_item, read_directory};

/// Threads with fewer spans are drawn from the spans themselves.
const WORTH_IT: u64 = 8192;

/// The summary of a process.
pub struct Summary {
    directory: Directory,
    bytes: Mapping,
}

/// Items of one row, by their starts.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a>(&'a [[u8; ITEM]]);

impl Items<'_> {
    pub(crate) fn get(&self, place: usize) -> Item {
        decode_item(&self.0[place])
    }

    /// The place of the first one that begins at or after a time.
    pub(crate) fn first_from(&self, time: u64) -> usize {
        self.0.partition_point(|bytes| decode_item(bytes).start < time)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Summary {
    /// The summary of tables: the one that is there, or a new one. `progress` hears of spans as they are summed up.
    pub fn of(tables: &Tables, progress: &(dyn Fn(u64) + Sync)) -> Result<Self, SpanError> {
        let path = path_of(tables);
        if let Some(found) = Self::open(tables) {
            return Ok(found);
        }
        let threads = build_all(tables, progress)?;
        file::write(&path, tables.meta().key, &threads)
            .map_err(|source| SpanError::Io { path: path.clone(), source })?;
        drop(threads);
        Self::open(tables).ok_or(SpanError::Damaged { path })
    }

    fn open(tables: &Tables) -> Option<Self> {
        let bytes = Mapping::open(&path_of(tables)).ok()?;
        let directory = read_directory(bytes.as_ref(), tables.meta().key)?;
        (directory.threads.len() == tables.meta().threads.len()).then_some(Self { directory, bytes })
    }

    /// Rows of the coarsest level of a thread whose stretches are not longer than this, or of its finest one. None for
    /// a thread that has no summary.
    pub(crate) fn level(&self, thread: usize, width: u64) -> Option<(u64, usize)> {
        let levels = &self.directory.threads.get(thread)?.levels;
        let coarsest = levels.iter().rposition(|level| level.width <= width);
        let level = coarsest.unwrap_or(0);
        Some((levels.get(level)?.width, level))
    }

    pub(crate) fn rows(&self, thread: usize, level: usize) -> usize {
        self.directory.threads[thread].levels[level].rows.len()
    }

    pub(crate) fn items(&self, thread: usize, level: usize, row: usize) -> Items<'_> {
        let (first, last) = self.directory.threads[thread].levels[level].rows[row];
        let bytes: &[u8] = self.bytes.as_ref();
        Items(bytes[first as usize * ITEM..last as usize * ITEM].as_chunks().0)
    }
}

fn path_of(tables: &Tables) -> PathBuf {
    tables.folder().join("summary.bin")
}

/// All threads, as many at once as there are processors.
fn build_all(tables: &Tables, progress: &(dyn Fn(u64) + Sync)) -> Result<Vec<ThreadSummary>, SpanError> {
    let threads = &tables.meta().threads;
    let all_spans: u64 = threads.iter().map(|thread| thread.spans).sum();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(threads.len()).max(1);
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<Result<ThreadSummary, SpanError>>> =
        Mutex::new(threads.iter().map(|_| Ok(ThreadSummary::default())).collect());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(thread) = threads.get(place) else { return };
                    if thread.spans < WORTH_IT {
                        continue;
                    }
                    let result = build::build(tables, place, all_spans, progress);
                    made.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[place] = result;
                }
            });
        }
    });
    made.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).into_iter().collect()
}
