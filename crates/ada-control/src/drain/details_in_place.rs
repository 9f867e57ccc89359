//! The detail of a thread's events, read where the thread wrote it.

use ada_ring::{ChunkReader, ChunkState, Lane};

use super::detail_lane::{ThreadChunks, finish};
use super::gap_log::Wait;
use crate::arch::captured::Captured;
use crate::install::rings::Rings;

/// Reads a thread's detail in the order in which it was captured. Chunks that are read to their end are freed.
pub(super) struct DetailsInPlace<'p> {
    rings: &'p Rings,
    stride: usize,
    rest: std::vec::IntoIter<usize>,
    reader: Option<(usize, ChunkReader<'p>)>,
    waits: Vec<Wait>,
}

impl<'p> DetailsInPlace<'p> {
    pub(super) fn of(chunks: &ThreadChunks<'p>, stride: usize) -> Self {
        let rest = chunks.of(Lane::Detail).into_iter();
        let mut details = Self { rings: chunks.rings, stride, rest, reader: None, waits: Vec::new() };
        details.begin_next();
        details
    }

    fn begin_next(&mut self) {
        let (rings, stride) = (self.rings, self.stride);
        let mut begin = |chunk| {
            let (pool, number) = rings.place_of(chunk);
            Some((chunk, ChunkReader::begin_with_stride(pool, number, stride)?))
        };
        self.reader = self.rest.find_map(&mut begin);
    }

    /// The detail of the event with this time stamp, if it is the next one.
    #[inline]
    pub(super) fn take(&mut self, tsc: u64) -> Option<Captured<'_>> {
        while self.reader.as_ref()?.1.is_at_end() {
            self.finish_chunk();
        }
        let (_, reader) = self.reader.as_mut()?;
        reader.next_detail(|own| own == tsc).map(Captured::new)
    }

    fn finish_chunk(&mut self) {
        let Some((chunk, reader)) = self.reader.take() else { return };
        drop(reader);
        // One that its thread has filled and not yet handed over is the last there is.
        if self.rings.state(chunk) == ChunkState::Full as u32 {
            self.waits.extend(finish(self.rings, chunk, self.stride));
            self.begin_next();
        }
    }

    /// Stops reading. Gives the waits of the thread for the chunks that were freed.
    pub(super) fn end(mut self) -> Vec<Wait> {
        while self.reader.as_ref().is_some_and(|(_, reader)| reader.is_at_end()) {
            self.finish_chunk();
        }
        self.waits
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::atomic::Ordering;

    use ada_event::{ProcessId, ThreadId};
    use ada_ring::detail::CALL;
    use ada_ring::{DetailMode, DetailShape, OnFull, Pool, RECORDS_END, RawDetail};

    use super::*;
    use crate::install::shared_memory::SharedMemory;

    pub(in super::super) const SHAPE: DetailShape = DetailShape { window: 128, vectors: false, probes_too: false };
    const STRIDE: usize = SHAPE.layout().stride;

    /// Gives a chunk to the thread 0 of the process 0.
    pub(in super::super) fn begin(pool: &Pool, chunk: usize, ordinal: u64) {
        let header = pool.header(chunk);
        header.lane.store(Lane::Detail as u32, Ordering::Relaxed);
        header.ordinal.store(ordinal, Ordering::Relaxed);
        header.waited_ticks.store(5, Ordering::Relaxed);
        assert!(pool.change(chunk, ChunkState::Free, ChunkState::Active));
    }

    /// A call whose first argument is the time stamp.
    pub(in super::super) fn capture(pool: &Pool, chunk: usize, number: usize, tsc: u64) {
        let record = RawDetail { mark: CALL, tsc, registers: [tsc, 0, 0, 0, 0, 0, 0], ..RawDetail::default() };
        // SAFETY: a record within the chunk, which nobody else has.
        unsafe { pool.records(chunk).add(number * STRIDE).cast::<RawDetail>().write(record) };
    }

    #[test]
    fn detail_is_read_where_it_is_and_its_chunks_are_freed() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::All).unwrap();
        let pool = shared.pool();
        let chunks = ThreadChunks { rings: &shared.rings, pid: ProcessId(0), tid: ThreadId(0), known: None };
        let count = RECORDS_END.div_ceil(STRIDE);
        begin(&pool, 1, 0);
        (0..count).for_each(|number| capture(&pool, 1, number, 100 + number as u64));
        pool.change(1, ChunkState::Active, ChunkState::Full);
        begin(&pool, 0, 1);
        capture(&pool, 0, 0, 9000);

        let mut details = DetailsInPlace::of(&chunks, STRIDE);
        assert!(details.take(99).is_none() && details.take(101).is_none(), "neither is the next one");
        assert!((0..count - 1).all(|number| details.take(100 + number as u64).is_some()));
        assert!(details.end().is_empty());
        let mut details = DetailsInPlace::of(&chunks, STRIDE);
        assert_eq!(details.take(99 + count as u64).map(|captured| captured.tsc()), Some(99 + count as u64));
        assert!(details.take(9000).is_some());
        assert_eq!(pool.state(1), ChunkState::Free as u32);
        assert!(details.take(9001).is_none(), "it is not written yet");
        let waits = details.end();
        assert_eq!(waits.iter().map(|wait| (wait.ticks, wait.until)).collect::<Vec<_>>(), [(5, 100)]);
        assert_eq!(pool.state(0), ChunkState::Active as u32);
    }

    #[test]
    fn a_chunk_that_is_handed_over_after_it_was_read_is_freed_the_next_time() {
        let shared = SharedMemory::new(1, OnFull::Wait, DetailMode::All).unwrap();
        let pool = shared.pool();
        let chunks = ThreadChunks { rings: &shared.rings, pid: ProcessId(0), tid: ThreadId(0), known: None };
        begin(&pool, 0, 0);
        let count = RECORDS_END.div_ceil(STRIDE);
        (0..count).for_each(|number| capture(&pool, 0, number, 100));
        let mut details = DetailsInPlace::of(&chunks, STRIDE);
        assert!((0..count).all(|_| details.take(100).is_some()));
        assert!(details.take(100).is_none());
        details.end();
        pool.change(0, ChunkState::Active, ChunkState::Full);
        assert_eq!(DetailsInPlace::of(&chunks, STRIDE).end().len(), 1);
        assert_eq!(pool.state(0), ChunkState::Free as u32);
    }
}
