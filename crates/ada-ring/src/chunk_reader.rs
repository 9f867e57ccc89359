//! The drain's side: reading behind a writer.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::chunk::{LONGEST_HOLE, RECORDS_END};
use crate::{ChunkState, Pool, RawRecord};

/// A chunk that the drain is reading; its owner does not take it back meanwhile.
pub struct ChunkReader<'p> {
    pool: &'p Pool,
    chunk: usize,
    at: usize,
    /// Where the records end.
    end: usize,
    /// Bytes of a record.
    stride: usize,
}

impl<'p> ChunkReader<'p> {
    /// Starts to read a chunk that is active or full, where the last reader stopped. `None` where it is neither.
    pub fn begin(pool: &'p Pool, chunk: usize) -> Option<Self> {
        Self::begin_with_stride(pool, chunk, RawRecord::SIZE)
    }

    /// The same for a chunk of the detail lane, whose records have this size.
    pub fn begin_with_stride(pool: &'p Pool, chunk: usize, stride: usize) -> Option<Self> {
        let header = pool.header(chunk);
        if !pool.handover(chunk).begin_reading() {
            return None;
        }
        // The header can be written by the target: what does not lie at a record's start would be read across words.
        let at = header.drained.load(Ordering::Relaxed) as usize / stride * stride;
        let cut_at = (header.cut_at.load(Ordering::Relaxed) as usize).checked_sub(1);
        let end = cut_at.unwrap_or(RECORDS_END).min(RECORDS_END);
        Some(Self { pool, chunk, at: at.min(RECORDS_END.next_multiple_of(stride)), end, stride })
    }

    /// Takes all records that follow, as far as they are written.
    #[inline]
    pub fn read_on(&mut self, mut take: impl FnMut(RawRecord)) {
        while let Some(record) = self.next_record() {
            take(record);
        }
    }

    /// The next record, if it is written.
    // Always inlined, as what it calls: a record that comes back through memory, in parts, holds its reader up for longer
    // than all the rest.
    #[inline(always)]
    pub fn next_record(&mut self) -> Option<RawRecord> {
        if self.at >= self.end {
            return None;
        }
        let record = self.peek(self.at)?;
        self.at += self.stride;
        Some(record)
    }

    /// The next record, if it is written and its time stamp is below the limit.
    pub fn next_record_before(&mut self, limit: u64) -> Option<RawRecord> {
        let record = self.peek(self.at).filter(|record| self.at < self.end && record.tsc < limit)?;
        self.at += self.stride;
        Some(record)
    }

    /// The next detail record's bytes, if it is written and its time stamp is one that is wanted.
    #[inline]
    pub fn next_detail(&mut self, is_wanted: impl FnOnce(u64) -> bool) -> Option<&[u8]> {
        if self.at >= self.end || self.mark(self.at) == 0 || !is_wanted(self.time(self.at)) {
            return None;
        }
        // SAFETY: a record that starts before the slack ends before the header, and a marked one is not written to
        // any more.
        let bytes = unsafe { core::slice::from_raw_parts(self.pool.records(self.chunk).add(self.at), self.stride) };
        self.at += self.stride;
        Some(bytes)
    }

    /// Passes over detail that was reserved and that nobody will write any more: what comes behind it, in the chunk or in `next`,
    /// belongs to events up to the limit, and these are read in the order in which they reserved it. False where that is not so.
    pub fn skip_detail_hole(&mut self, limit: u64, next: Option<usize>) -> bool {
        if let Some(written) = self.next_marked(self.end) {
            let is_passed = self.time(written) <= limit;
            if is_passed {
                self.at = written;
            }
            return is_passed;
        }
        let next = next.and_then(|next| Self::begin_with_stride(self.pool, next, self.stride));
        // What was never written to must not be looked at, or it costs memory.
        let next_in = |next: &Self| next.next_marked(LONGEST_HOLE * next.stride);
        let is_passed = next.is_some_and(|next| next.at > 0 || next_in(&next).is_some_and(|at| next.time(at) <= limit));
        if is_passed {
            self.skip_rest(|_| {});
        }
        is_passed
    }

    /// Where the next detail is that is written, before `end`.
    fn next_marked(&self, end: usize) -> Option<usize> {
        (self.at..end).step_by(self.stride).find(|&at| self.mark(at) != 0)
    }

    /// The time stamp of detail that is written.
    #[inline]
    fn time(&self, at: usize) -> u64 {
        const TIME: usize = core::mem::offset_of!(crate::RawDetail, tsc) / 8;
        // SAFETY: a marked record within the chunk is not written to any more.
        unsafe { *self.pool.records(self.chunk).add(at).cast::<u64>().add(TIME) }
    }

    fn is_written(&self, at: usize) -> bool {
        if self.stride == RawRecord::SIZE { self.peek(at).is_some() } else { self.mark(at) != 0 }
    }

    #[inline(always)]
    fn mark(&self, at: usize) -> u32 {
        // SAFETY: a record within the chunk; read as an atomic because the writer may be writing it.
        let mark = unsafe { &*self.pool.records(self.chunk).add(at).cast::<AtomicU32>() };
        // Acquire pairs with the stub's store of the mark, which x86 keeps behind its earlier stores.
        mark.load(Ordering::Acquire)
    }

    /// Passes over reserved records that nobody will write any more, up to the next one that is written. False where
    /// there is none. `cut_off` is given those whose writer got as far as to say what they are about.
    ///
    /// In a chunk that is not full, no further than handlers within handlers can reach: what was never written to must
    /// not be looked at, or it costs memory.
    pub fn skip_hole(&mut self, is_full: bool, mut cut_off: impl FnMut(RawRecord)) -> bool {
        let end = if is_full { self.end } else { self.end.min(self.at + LONGEST_HOLE * self.stride) };
        let written = (self.at + self.stride..end).step_by(self.stride).find(|&at| self.is_written(at));
        let Some(written) = written else { return false };
        if self.stride == RawRecord::SIZE {
            for hole in (self.at..written).step_by(self.stride) {
                let record = self.read(hole);
                if record.top_and_kind != 0 {
                    cut_off(record);
                }
            }
        }
        self.at = written;
        true
    }

    /// The same for records up to the end of a full chunk, behind which nothing is written.
    pub fn skip_rest(&mut self, mut cut_off: impl FnMut(RawRecord)) {
        if self.stride == RawRecord::SIZE {
            let holes = (self.at..self.end).step_by(self.stride).map(|hole| self.read(hole));
            holes.filter(|record| record.top_and_kind != 0).for_each(&mut cut_off);
        }
        self.at = self.at.max(self.end.next_multiple_of(self.stride));
    }

    /// Whether the next record is not written.
    pub fn is_at_hole(&self) -> bool {
        self.at < self.end && !self.is_written(self.at)
    }

    /// Whether every record of the chunk has been read.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    /// Stops reading, and keeps the chunk for the drain: its owner does not take it back. False where it is not in this
    /// state, or where its owner looks at this moment whether somebody reads: then it is still the owner's.
    #[must_use]
    pub fn keep(self, from: ChunkState) -> bool {
        self.pool.change(self.chunk, from, ChunkState::Draining)
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn peek(&self, at: usize) -> Option<RawRecord> {
        Some(self.read(at)).filter(|record| record.tsc != 0)
    }

    #[inline(always)]
    fn read(&self, at: usize) -> RawRecord {
        // SAFETY: `at` lies within the chunk's records and is a multiple of 16; the words are read as atomics because
        // the writer may be writing them.
        let words = unsafe { &*self.pool.records(self.chunk).add(at).cast::<[AtomicU64; 2]>() };
        // Acquire pairs with the stub's store of the time stamp, which x86 keeps behind its earlier stores.
        let tsc = words[0].load(Ordering::Acquire);
        RawRecord::from_words([tsc, words[1].load(Ordering::Relaxed)])
    }
}

impl Drop for ChunkReader<'_> {
    fn drop(&mut self) {
        let header = self.pool.header(self.chunk);
        header.drained.store(self.at as u64, Ordering::Relaxed);
        self.pool.handover(self.chunk).end_reading();
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::orders::ORDERS_BYTES;
    use crate::pool::CHUNKS_AT;
    use crate::{CHUNK_SIZE, Lane, RECORDS_PER_CHUNK, ThreadKey};
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    struct Memory(*mut u8, Layout);

    impl Memory {
        fn new(chunks: usize) -> (Self, Pool) {
            let rings = CHUNKS_AT + chunks * CHUNK_SIZE;
            let layout = Layout::from_size_align(rings + ORDERS_BYTES, CHUNK_SIZE).unwrap();
            // SAFETY: the layout is not empty.
            let base = unsafe { alloc_zeroed(layout) };
            // SAFETY: `base` is large enough, aligned, and freed after the last use.
            let pool = unsafe { Pool::at(base, base.add(rings).cast()) };
            pool.orders().chunk_count.store(chunks as u32, Ordering::Relaxed);
            pool.orders().most_chunks.store(chunks as u32, Ordering::Relaxed);
            (Self(base, layout), pool)
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            // SAFETY: allocated in `new` with this layout.
            unsafe { dealloc(self.0, self.1) }
        }
    }

    fn write(pool: &Pool, chunk: usize, number: usize, tsc: u64) {
        // SAFETY: a record within the chunk.
        unsafe { pool.records(chunk).add(number * 16).cast::<[u64; 2]>().write([tsc, number as u64]) }
    }

    fn active(pool: &Pool) -> usize {
        let chunk = pool.claim().unwrap();
        assert!(pool.change(chunk, ChunkState::Claimed, ChunkState::Active));
        chunk
    }

    #[test]
    fn a_reader_goes_on_where_the_last_one_stopped() {
        let (_memory, pool) = Memory::new(1);
        let chunk = active(&pool);
        write(&pool, chunk, 0, 10);
        write(&pool, chunk, 1, 11);
        let mut reader = ChunkReader::begin(&pool, chunk).unwrap();
        assert_eq!(reader.next_record().unwrap().tsc, 10);
        assert_eq!(reader.next_record().unwrap().tsc, 11);
        assert_eq!(reader.next_record(), None);
        drop(reader);
        write(&pool, chunk, 2, 12);
        assert_eq!(ChunkReader::begin(&pool, chunk).unwrap().next_record().unwrap().function, 2);
    }

    #[test]
    fn nothing_comes_behind_the_place_where_a_thread_has_gone_on_elsewhere() {
        let (_memory, pool) = Memory::new(1);
        let chunk = active(&pool);
        (0..3).for_each(|number| write(&pool, chunk, number, 10));
        for (cut_at, count) in [(0, 3), (2 * 16 + 1, 2), (1, 0), (u32::MAX, 3)] {
            pool.header(chunk).cut_at.store(cut_at, Ordering::Relaxed);
            pool.header(chunk).drained.store(0, Ordering::Relaxed);
            let mut reader = ChunkReader::begin(&pool, chunk).unwrap();
            let mut read = 0;
            reader.read_on(|_| read += 1);
            assert_eq!((read, reader.is_at_end()), (count, count < 3), "{cut_at}");
        }
    }

    #[test]
    fn a_place_that_the_target_made_up_is_a_records_start() {
        let (_memory, pool) = Memory::new(1);
        let chunk = active(&pool);
        write(&pool, chunk, 1, 11);
        for (forged, number) in [(17, 1), (31, 1), (u64::MAX, RECORDS_PER_CHUNK)] {
            pool.header(chunk).drained.store(forged, Ordering::Relaxed);
            let mut reader = ChunkReader::begin(&pool, chunk).unwrap();
            assert_eq!(reader.position(), number * RawRecord::SIZE);
            assert_eq!(reader.next_record().map(|record| record.tsc), (number == 1).then_some(11));
        }
    }

    #[test]
    fn a_hole_stops_a_reader_until_it_is_skipped() {
        let (_memory, pool) = Memory::new(1);
        let chunk = active(&pool);
        write(&pool, chunk, 1, 11);
        let mut reader = ChunkReader::begin(&pool, chunk).unwrap();
        assert_eq!(reader.next_record(), None);
        assert!(reader.skip_hole(false, |_| panic!("nothing is known of it")));
        assert_eq!(reader.next_record().unwrap().tsc, 11);
        assert!(!reader.skip_hole(true, |_| {}));
    }

    #[test]
    fn old_detail_is_no_detail_and_no_event() {
        const STRIDE: usize = 240;
        let (_memory, pool) = Memory::new(1);
        let fill = |chunk| {
            // SAFETY: the chunk's records.
            unsafe { pool.records(chunk).write_bytes(0xaa, RECORDS_END) };
            assert!(pool.change(chunk, ChunkState::Active, ChunkState::Full));
            assert!(ChunkReader::begin_with_stride(&pool, chunk, STRIDE).unwrap().next_detail(|_| true).is_some());
            pool.zero_marks(chunk, STRIDE);
            assert!(pool.change(chunk, ChunkState::Full, ChunkState::Free));
        };
        fill(active(&pool));
        for lane in [Lane::Detail, Lane::Index] {
            let chunk = active(&pool);
            pool.prepare_for(chunk, lane);
            let mut reader = ChunkReader::begin_with_stride(&pool, chunk, STRIDE).unwrap();
            assert!(reader.next_detail(|_| true).is_none() && !reader.skip_hole(true, |_| {}));
            drop(reader);
            if lane == Lane::Index {
                // SAFETY: the chunk's records.
                let records = unsafe { core::slice::from_raw_parts(pool.records(chunk), RECORDS_END) };
                assert!(records.iter().all(|byte| *byte == 0));
            }
            fill(chunk);
        }
    }

    #[test]
    fn what_a_thread_leaves_of_its_last_detail_is_zeroed_with_its_holes() {
        const STRIDE: usize = 240;
        let (_memory, pool) = Memory::new(1);
        let chunk = active(&pool);
        // SAFETY: the chunk's records.
        let fill = |from: usize, count, byte| unsafe { pool.records(chunk).add(from).write_bytes(byte, count) };
        // SAFETY: as above.
        let word = |at: usize| unsafe { pool.records(chunk).add(at).cast::<u64>().read() };
        // The first and the last two were begun and not finished: all but their marks is written.
        for (number, is_finished) in [false, true, true, false, true, false, false].into_iter().enumerate() {
            fill(number * STRIDE + 8, STRIDE - 8, 0xaa);
            fill(number * STRIDE, 1, is_finished.into());
        }
        // Nobody has been here.
        fill(200 * STRIDE, 1, 1);
        pool.zero_used(chunk, STRIDE);
        assert!((0..10 * STRIDE).step_by(8).all(|at| word(at) == 0) && word(200 * STRIDE) == 1);
        // All of it where only the marks were zeroed before.
        pool.header(chunk).holds_old_detail.store(1, Ordering::Relaxed);
        pool.zero_used(chunk, STRIDE);
        assert_eq!(word(200 * STRIDE), 0);
        // To the very end.
        let marks = || (0..RECORDS_END).step_by(STRIDE);
        marks().for_each(|at| fill(at, 16, 1));
        pool.zero_used(chunk, STRIDE);
        assert!(marks().all(|at| word(at) == 0 && word(at + 8) == 0));
    }

    #[test]
    fn a_full_chunk_ends_though_its_last_record_is_never_written() {
        let (_memory, pool) = Memory::new(1);
        let chunk = active(&pool);
        (0..RECORDS_PER_CHUNK - 1).for_each(|number| write(&pool, chunk, number, 1));
        pool.change(chunk, ChunkState::Active, ChunkState::Full);
        let mut reader = ChunkReader::begin(&pool, chunk).unwrap();
        while reader.next_record().is_some() {}
        assert!(!reader.is_at_end() && !reader.skip_hole(true, |_| {}));
        reader.skip_rest(|_| panic!("nothing is known of it"));
        assert!(reader.is_at_end() && reader.next_record().is_none());
    }

    #[test]
    fn a_record_that_only_lacks_its_stamp_is_reported() {
        let (_memory, pool) = Memory::new(1);
        let chunk = active(&pool);
        // SAFETY: a record within the chunk.
        unsafe { pool.records(chunk).cast::<[u64; 2]>().write([0, 0x20 << 32 | 7]) }
        write(&pool, chunk, 1, 11);
        let mut seen = std::vec::Vec::new();
        assert!(ChunkReader::begin(&pool, chunk).unwrap().skip_hole(false, |record| seen.push(record)));
        assert_eq!(seen, [RawRecord { tsc: 0, function: 7, top_and_kind: 0x20 }]);
    }

    #[test]
    fn the_owner_takes_back_its_oldest_full_chunk_and_counts_what_is_lost() {
        let (_memory, pool) = Memory::new(2);
        for ordinal in [1, 0] {
            let chunk = active(&pool);
            pool.header(chunk).pid.store(5, Ordering::Relaxed);
            pool.header(chunk).tid.store(6, Ordering::Relaxed);
            pool.header(chunk).ordinal.store(ordinal, Ordering::Relaxed);
            for number in 0..RECORDS_PER_CHUNK {
                write(&pool, chunk, number, 1);
            }
            pool.change(chunk, ChunkState::Active, ChunkState::Full);
        }
        assert_eq!(pool.claim(), None);
        let reclaim = |tid, lane| pool.reclaim_oldest(ThreadKey { pid: 5, tid }, lane, 2, None);
        assert_eq!(reclaim(7, Lane::Index), None, "another thread's");
        assert_eq!(reclaim(6, Lane::Detail), None, "events are worth more than their registers");
        let busy = [ChunkReader::begin(&pool, 0).unwrap(), ChunkReader::begin(&pool, 1).unwrap()];
        assert_eq!(reclaim(6, Lane::Index), None, "the drain is reading them");
        drop(busy);
        let kept = pool.reclaim_oldest(ThreadKey { pid: 5, tid: 6 }, Lane::Index, 1, Some(0));
        assert_eq!(kept, None, "what is not mapped, and what is kept");
        assert_eq!(reclaim(6, Lane::Index), Some(1));
        assert_eq!(pool.control().drops[0].load(Ordering::Relaxed), RECORDS_PER_CHUNK as u64);
        assert!(ChunkReader::begin(&pool, 1).is_none(), "claimed chunks are not read");
        pool.header(0).lane.store(Lane::Detail as u32, Ordering::Relaxed);
        assert_eq!(reclaim(6, Lane::Index), Some(0), "registers without their event are worth nothing");
        assert_eq!(pool.control().drops[0].load(Ordering::Relaxed), RECORDS_PER_CHUNK as u64, "and are no events");
    }

    #[test]
    fn what_the_drain_has_read_is_not_taken_back_before_it_is_freed() {
        let (_memory, pool) = Memory::new(1);
        let chunk = active(&pool);
        for number in 0..RECORDS_PER_CHUNK {
            write(&pool, chunk, number, 1);
        }
        pool.change(chunk, ChunkState::Active, ChunkState::Full);
        let mut reader = ChunkReader::begin(&pool, chunk).unwrap();
        while reader.next_record().is_some() {}
        assert!(reader.keep(ChunkState::Full));
        assert_eq!(pool.reclaim_oldest(ThreadKey { pid: 0, tid: 0 }, Lane::Index, 1, None), None);
    }
}
