//! Reads the tables: blocks on demand, everything else at once.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ada_event::{EventSeq, TraceNanos};

use super::block::{BlockEntry, Column, Columns};
use super::file_names::{anomalies_file, late_file, meta_file, spans_file};
use super::late::{LATE_FIELDS, SLOT};
use super::meta::Meta;
use crate::anomaly::{Anomaly, AnomalyKind};
use crate::error::SpanError;
use crate::thread_index::ThreadIndex;
use crate::wait::WaitSpan;

/// The derived tables of one process.
#[derive(Debug)]
pub struct Tables {
    folder: PathBuf,
    meta: Meta,
    spans: Vec<File>,
    late: Vec<File>,
    anomalies: Vec<File>,
}

impl Tables {
    /// Opens the tables in a folder.
    pub fn open(folder: &Path) -> Result<Self, SpanError> {
        let path = folder.join(meta_file());
        let bytes = fs::read(&path).map_err(SpanError::at(&path))?;
        let meta = Meta::decode(&bytes).ok_or(SpanError::Damaged { path })?;
        let mut tables =
            Self { folder: folder.to_owned(), meta, spans: Vec::new(), late: Vec::new(), anomalies: Vec::new() };
        for (number, shard) in tables.meta.shards.iter().enumerate() {
            tables.spans.push(open_with_length(folder.join(spans_file(number)), shard.spans_len)?);
            tables.late.push(open_with_length(folder.join(late_file(number)), shard.late_len)?);
            tables.anomalies.push(open_with_length(folder.join(anomalies_file(number)), shard.anomalies_len)?);
        }
        Ok(tables)
    }

    /// Everything but the frame spans.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The waits, to add what is known only with the other processes of a session at hand. Nothing of it is stored.
    pub fn waits_mut(&mut self) -> &mut Vec<WaitSpan> {
        &mut self.meta.waits
    }

    /// The same, after their folder was moved. Their files are open, and stay what they are.
    pub(super) fn moved(self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..self }
    }

    /// Where the tables are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the wanted columns of a block, whose index in [`Meta::blocks`] this is. [`Column::Function`] has indexes in
    /// [`Meta::functions`].
    pub fn read(&self, block: usize, wanted: impl Fn(Column) -> bool, columns: &mut Columns) -> Result<(), SpanError> {
        let entry = self.meta.blocks[block];
        let shard = entry.shard as usize;
        let path = || self.folder.join(spans_file(shard));
        let damaged = || SpanError::Damaged { path: path() };
        columns.bytes.resize(entry.length as usize, 0);
        // The length was checked when the file was opened: a short read means that it was truncated since.
        self.spans[shard].read_exact_at(&mut columns.bytes, entry.offset).map_err(|_| damaged())?;
        if crc32fast::hash(&columns.bytes) != entry.crc {
            return Err(damaged());
        }
        columns.decode(&entry, &wanted).ok_or_else(damaged)?;
        columns.tail_calls_until = self.meta.tail_calls_until;
        if entry.late_count > 0 {
            let mut slots = vec![[0; 8 * LATE_FIELDS]; entry.late_count as usize];
            let at = entry.late_base.checked_mul(SLOT).ok_or_else(damaged)?;
            self.late[shard].read_exact_at(slots.as_flattened_mut(), at).map_err(|_| damaged())?;
            columns.apply_late(&slots).ok_or_else(damaged)?;
        }
        let functions = &self.meta.shards[shard].functions;
        let numbers = &mut columns.values_mut()[Column::Function as usize];
        // Two loops without a way out of them take a fraction of the time of one that may end early.
        let unknown = numbers.iter().fold(false, |unknown, number| unknown | (*number >= functions.len() as u64));
        for number in numbers {
            *number = functions.get(*number as usize).map_or(0, |index| index.0.into());
        }
        if unknown { Err(damaged()) } else { Ok(()) }
    }

    /// Reads everything, and gives the first damage that there is.
    pub fn check(&self) -> Result<(), SpanError> {
        let mut columns = Columns::new();
        (0..self.meta.blocks.len()).try_for_each(|block| self.read(block, |_| true, &mut columns))?;
        self.anomalies().map(drop)
    }

    /// The block of a thread that can have the span with this opening event.
    pub fn block_of(&self, thread: ThreadIndex, seq: EventSeq) -> Option<usize> {
        let blocks = self.blocks_of(thread);
        let after = self.meta.blocks[blocks.clone()].partition_point(|block| block.first_seq <= seq);
        let block = blocks.start + after.checked_sub(1)?;
        (self.meta.blocks[block].last_seq >= seq).then_some(block)
    }

    /// The blocks of a thread, as indexes in [`Meta::blocks`].
    pub fn blocks_of(&self, thread: ThreadIndex) -> std::ops::Range<usize> {
        let (first, count) = self.meta.threads[thread.as_usize()].blocks;
        first as usize..(first + count) as usize
    }

    /// A block's entry.
    pub fn block(&self, block: usize) -> &BlockEntry {
        &self.meta.blocks[block]
    }

    /// All anomalies, with their threads' indexes, in no order.
    pub fn anomalies(&self) -> Result<Vec<(ThreadIndex, Anomaly)>, SpanError> {
        let mut all = Vec::new();
        for (number, file) in self.anomalies.iter().enumerate() {
            let path = self.folder.join(anomalies_file(number));
            let mut bytes = vec![0; file.metadata().map_err(SpanError::at(&path))?.len() as usize];
            file.read_exact_at(&mut bytes, 0).map_err(SpanError::at(&path))?;
            for raw in bytes.as_chunks::<24>().0 {
                let word = |at: usize| raw.as_chunks::<8>().0[at];
                let (thread, kind) = (u64::from_le_bytes(word(0)) as u32, u64::from_le_bytes(word(0)) >> 32);
                let kind = AnomalyKind::ALL.get(kind as usize).copied();
                let kind = kind.ok_or_else(|| SpanError::Damaged { path: path.clone() })?;
                let [seq, time] = [word(1), word(2)].map(u64::from_le_bytes);
                all.push((ThreadIndex(thread), Anomaly { kind, seq: EventSeq(seq), time: TraceNanos(time) }));
            }
        }
        Ok(all)
    }
}

fn open_with_length(path: PathBuf, length: u64) -> Result<File, SpanError> {
    let file = File::open(&path).map_err(SpanError::at(&path))?;
    let found = file.metadata().map_err(SpanError::at(&path))?.len();
    if found == length { Ok(file) } else { Err(SpanError::Damaged { path }) }
}
