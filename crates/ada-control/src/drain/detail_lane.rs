//! The drain's side of the detail lane: finding the detail of events.

use std::collections::{HashMap, VecDeque};
use std::mem::offset_of;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Instant;

use ada_event::{EventSeq, ProcessId, ThreadId, TraceNanos};
use ada_ring::chunk::MAX_CHUNKS;
use ada_ring::probe::{LONG_TEXT, RawProbe};
use ada_ring::{ChunkReader, ChunkState, DetailShape, Lane, RECORDS_END, RawDetail};

use super::chunk_returns::{QUARANTINE, give_memory_back};
use crate::arch::captured::Captured;
use crate::drain::gap_log::Wait;
use crate::install::rings::Rings;

/// How many of a thread's newest events are remembered, so that kept detail can be linked to them: more than two chunks
/// of detail hold.
pub(crate) const REMEMBERED: usize = 8192;

/// Bytes of a record with all the words that belong to it, without its tail.
const LONGEST: usize = RawProbe::SIZE + LONG_TEXT;

/// Detail of one thread that is on its way to its events.
#[derive(Default)]
pub(crate) struct ThreadDetails {
    waiting: Waiting,
    /// Of probed calls.
    probes: Waiting,
    /// Copies from chunks that the thread is still writing.
    copied: Waiting,
    remembered: VecDeque<Remembered>,
}

/// An event that was written without detail. Its thread may still have the detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) tsc: u64,
    pub(crate) seq: EventSeq,
    pub(crate) time: TraceNanos,
    pub(crate) function: u32,
}

/// Records that were read before their events.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Bytes behind the words of each record, if they are of probes.
    tail: usize,
    /// Time stamp and range of each, by time.
    ranges: Vec<(u64, Range<usize>)>,
    /// The first that has not been asked for.
    next: usize,
    /// How many of the bytes are of records that were let go.
    gone: usize,
    /// Chunks with holes that were passed over, and when they may be used again.
    torn: HashMap<usize, Instant>,
}

impl Waiting {
    fn push(&mut self, record: &[u8]) {
        let start = self.bytes.len();
        if let Some(words) = Captured::new(record).more_words() {
            let tsc = Captured::new(record).tsc();
            // Where the record before is gone, nobody knows what they belong to; and no text is longer than that.
            let most = LONGEST + self.tail;
            let is_its = |it: &&mut (u64, Range<usize>)| it.0 == tsc && it.1.end == start && it.1.len() < most;
            if let Some((_, range)) = self.ranges.last_mut().filter(is_its) {
                let words_end = range.end - self.tail;
                self.bytes.splice(words_end..words_end, words.iter().copied());
                range.end = self.bytes.len();
            }
            return;
        }
        self.bytes.extend_from_slice(record);
        self.ranges.push((Captured::new(record).tsc(), start..self.bytes.len()));
    }

    fn take(&mut self, tsc: u64) -> Option<Captured<'_>> {
        // Events come in the order of their detail, but for handlers that interrupted a stub.
        let is_next = self.ranges.get(self.next).is_some_and(|(next, _)| *next == tsc);
        let found = if is_next { self.next } else { self.ranges.binary_search_by_key(&tsc, |(tsc, _)| *tsc).ok()? };
        self.next = found + 1;
        Some(Captured::with_tail(&self.bytes[self.ranges[found].1.clone()], self.tail))
    }

    fn sort(&mut self) {
        if !self.ranges.is_sorted_by_key(|(tsc, _)| *tsc) {
            self.ranges.sort_by_key(|(tsc, _)| *tsc);
        }
        self.next = 0;
    }

    fn clear(&mut self) {
        self.ranges.clear();
        self.bytes.clear();
        (self.next, self.gone) = (0, 0);
    }

    /// Takes records of chunks, and frees those that are read to their end; see [`ThreadDetails::collect`].
    fn collect(&mut self, rings: &Rings, chunks: Vec<usize>, stride: usize, limit: u64) -> Vec<Wait> {
        let mut waits = Vec::new();
        let before = self.ranges.len();
        for (number, &chunk) in chunks.iter().enumerate() {
            let is_full = rings.state(chunk) == ChunkState::Full as u32;
            let (pool, number_there) = rings.place_of(chunk);
            let Some(mut reader) = ChunkReader::begin_with_stride(pool, number_there, stride) else { continue };
            // Of the same rings: another thread's time stamp is none of this one's.
            let next = chunks.get(number + 1).filter(|next| **next / MAX_CHUNKS == chunk / MAX_CHUNKS);
            loop {
                while let Some(bytes) = reader.next_detail(|tsc| tsc <= limit) {
                    self.push(bytes);
                }
                // The writer of a hole may have been interrupted, and its event be still to come.
                let is_at_hole = is_full && reader.is_at_hole();
                if !is_at_hole || !reader.skip_detail_hole(limit, next.map(|next| next % MAX_CHUNKS)) {
                    break;
                }
                self.torn.insert(chunk, Instant::now() + QUARANTINE);
            }
            let is_done = reader.is_at_end() || !is_full && reader.is_at_hole();
            drop(reader);
            if !is_done {
                break;
            }
            if is_full && self.torn.get(&chunk).is_none_or(|until| *until <= Instant::now()) {
                self.torn.remove(&chunk);
                waits.extend(finish(rings, chunk, stride));
            }
        }
        if self.ranges.len() > before {
            self.sort();
        }
        waits
    }

    /// Lets go of the oldest where there are many: events that are still to come are not that late.
    fn keep_newest(&mut self) {
        let count = self.ranges.len();
        if count > 4 * REMEMBERED {
            self.forget_until(self.ranges[count - 2 * REMEMBERED].0);
        }
    }

    /// Lets go of all up to the time stamp, whether it was asked for or not.
    fn forget_until(&mut self, tsc: u64) {
        if self.ranges.is_empty() {
            return;
        }
        let gone = self.ranges.partition_point(|(time, _)| *time <= tsc);
        self.gone += self.ranges.drain(..gone).map(|(_, range)| range.len()).sum::<usize>();
        self.next = 0;
        // What remains is moved only when it is the smaller part, so that each record is moved a few times at most.
        if self.gone * 2 > self.bytes.len() {
            let (bytes, ranges) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.ranges));
            self.gone = 0;
            ranges.into_iter().for_each(|(_, range)| self.push(&bytes[range]));
        }
    }
}

impl ThreadDetails {
    /// Takes records of a thread's detail chunks, and frees the chunks that are read to their end. Gives the waits of
    /// the thread for these.
    ///
    /// No further than to the time stamp of the last event that is being written: what remains in the rings makes a
    /// thread wait that is too fast for the disk.
    pub(crate) fn collect(&mut self, chunks: &ThreadChunks<'_>, lane: Lane, stride: usize, limit: u64) -> Vec<Wait> {
        let into = if lane == Lane::Probe { &mut self.probes } else { &mut self.waiting };
        if lane == Lane::Probe {
            into.tail = stride - RawProbe::SIZE;
        }
        into.collect(chunks.rings, chunks.of(lane), stride, limit)
    }

    /// The same for the chunks that a thread has handed over, which otherwise overwrites its oldest detail.
    pub(crate) fn collect_handed_over(&mut self, chunks: &ThreadChunks<'_>, stride: usize, limit: u64) -> Vec<Wait> {
        self.waiting.collect(chunks.rings, chunks.handed_over(Lane::Detail), stride, limit)
    }

    /// Takes all that a thread has of the events up to a time stamp: copies of what is in the chunks that it is still
    /// writing, which it is asked to hand over from now on, and then those that it has handed over. In this order, because
    /// a chunk may become full in between.
    pub(crate) fn collect_kept(&mut self, chunks: &ThreadChunks<'_>, stride: usize, limit: u64) -> Vec<Wait> {
        self.copied.clear();
        let rings = chunks.rings;
        let mut record = vec![0; stride];
        for chunk in chunks.of(Lane::Detail) {
            if rings.state(chunk) != ChunkState::Active as u32 {
                continue;
            }
            rings.header(chunk).wanted.store(1, Ordering::Relaxed);
            for at in (0..RECORDS_END).step_by(stride) {
                if copy_record(rings, chunk, at, &mut record) {
                    self.copied.push(&record);
                }
            }
        }
        self.copied.sort();
        self.collect_handed_over(chunks, stride, limit)
    }

    /// Nothing more is wanted of the chunks that a thread is writing.
    pub(crate) fn unwant(chunks: &ThreadChunks<'_>) {
        for chunk in chunks.of(Lane::Detail) {
            chunks.rings.header(chunk).wanted.store(0, Ordering::Relaxed);
        }
    }

    /// The detail of the event with this time stamp.
    pub(crate) fn take(&mut self, tsc: u64) -> Option<Captured<'_>> {
        self.probes.take(tsc).or_else(|| self.waiting.take(tsc)).or_else(|| self.copied.take(tsc))
    }

    /// Lets go of the detail of all events up to this time stamp.
    pub(crate) fn forget_until(&mut self, tsc: u64) {
        self.probes.forget_until(tsc);
        self.waiting.forget_until(tsc);
    }

    /// Lets go of the detail of events that are remembered no more.
    pub(crate) fn forget_unremembered(&mut self) {
        self.copied.clear();
        if self.waiting.ranges.len() > REMEMBERED
            && let Some(oldest) = self.remembered.front()
        {
            self.waiting.forget_until(oldest.tsc.saturating_sub(1));
        }
        // Where all events have detail, none is remembered, and the oldest that is may be from long ago.
        self.waiting.keep_newest();
        self.probes.keep_newest();
    }

    /// Remembers an event.
    pub(crate) fn remember(&mut self, event: Remembered) {
        if self.remembered.len() == REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back(event);
    }

    /// The thread goes on in a new file: nothing can be added to the old one.
    pub(crate) fn forget_remembered(&mut self) {
        self.remembered.clear();
    }

    /// The events that are remembered, by position and time.
    pub(crate) fn remembered(&self) -> &VecDeque<Remembered> {
        &self.remembered
    }

    /// Those of them with positions in a range.
    pub(crate) fn remembered_in(&self, range: &Range<EventSeq>) -> Vec<Remembered> {
        let first = self.remembered.partition_point(|event| event.seq < range.start);
        let end = self.remembered.partition_point(|event| event.seq < range.end);
        self.remembered.range(first..end.max(first)).copied().collect()
    }
}

/// Copies one record. False where it is not written, or is being overwritten.
///
/// Its thread stores the time stamp before the registers, and the event with that time stamp last. So whoever has seen
/// the event, and finds the same time stamp before and after copying, has what belongs to the event.
fn copy_record(rings: &Rings, chunk: usize, at: usize, record: &mut [u8]) -> bool {
    let (pool, number) = rings.place_of(chunk);
    // SAFETY: a record that starts before the slack ends before the header; all of it is read as atomics because its
    // thread may be writing it.
    let words =
        unsafe { std::slice::from_raw_parts(pool.records(number).add(at).cast::<AtomicU64>(), record.len() / 8) };
    let (mark_at, tsc_at) = (offset_of!(RawDetail, mark) / 8, offset_of!(RawDetail, tsc) / 8);
    let (mark, tsc) = (words[mark_at].load(Ordering::Acquire), words[tsc_at].load(Ordering::Acquire));
    if mark as u32 == 0 {
        return false;
    }
    for (bytes, word) in record.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
    }
    fence(Ordering::Acquire);
    (words[mark_at].load(Ordering::Relaxed), words[tsc_at].load(Ordering::Relaxed)) == (mark, tsc)
}

/// Frees a chunk that was read to its end, and gives how long its thread waited for it.
pub(super) fn finish(rings: &Rings, chunk: usize, stride: usize) -> Option<Wait> {
    let ticks = rings.header(chunk).waited_ticks.load(Ordering::Relaxed);
    let mut first = vec![0; stride];
    let is_known = ticks > 0 && copy_record(rings, chunk, 0, &mut first);
    let is_detail = rings.header(chunk).lane.load(Ordering::Relaxed) == Lane::Detail as u32;
    let (pool, number) = rings.place_of(chunk);
    free(rings, chunk, || if is_detail { pool.zero_marks(number, stride) } else { pool.zero_all(number) });
    is_known.then(|| Wait { ticks, until: Captured::new(&first).tsc() })
}

/// What a thread has in lanes other than that of its events.
#[derive(Clone, Copy)]
pub(crate) struct ThreadChunks<'a> {
    pub(crate) rings: &'a Rings,
    pub(crate) pid: ProcessId,
    pub(crate) tid: ThreadId,
    /// All that it has, where that is known: it has ended.
    pub(crate) known: Option<&'a [usize]>,
}

impl ThreadChunks<'_> {
    /// Its chunks of a lane, oldest first.
    pub(super) fn of(&self, lane: Lane) -> Vec<usize> {
        let is_one = |chunk: &usize| {
            let (state, header) = (self.rings.state(*chunk), || self.rings.header(*chunk));
            // What nobody uses is not touched: it would cost memory.
            (state == ChunkState::Active as u32 || state == ChunkState::Full as u32)
                && header().tid.load(Ordering::Relaxed) == self.tid.0
                && header().pid.load(Ordering::Relaxed) == self.pid.0
                && header().lane.load(Ordering::Relaxed) == lane as u32
                && self.rings.has_rings_of(self.pid, *chunk)
        };
        let mut chunks: Vec<usize> = match self.known {
            Some(known) => known.iter().copied().filter(is_one).collect(),
            None => self.rings.chunks().filter(is_one).collect(),
        };
        // Each program that a process runs counts from 0.
        // The key is read once: the thread may change it meanwhile.
        chunks.sort_by_cached_key(|&chunk| {
            let header = self.rings.header(chunk);
            (header.program.load(Ordering::Relaxed), header.ordinal.load(Ordering::Relaxed))
        });
        chunks
    }

    fn handed_over(&self, lane: Lane) -> Vec<usize> {
        let mut chunks = self.of(lane);
        chunks.retain(|&chunk| self.rings.state(chunk) == ChunkState::Full as u32);
        chunks
    }

    /// Whether the thread has handed over chunks that are not read to their ends.
    pub(crate) fn are_handed_over(&self) -> bool {
        [Lane::Detail, Lane::Probe].into_iter().any(|lane| !self.handed_over(lane).is_empty())
    }

    /// Frees all, of a thread that has ended and has records of detail of this shape.
    pub(crate) fn free(&self, shape: &DetailShape) {
        for (lane, stride) in [(Lane::Detail, shape.layout().stride), (Lane::Probe, shape.probe_layout().stride)] {
            for chunk in self.of(lane) {
                let (pool, number) = self.rings.place_of(chunk);
                free(self.rings, chunk, || pool.zero_used(number, stride));
            }
        }
    }
}

fn free(rings: &Rings, chunk: usize, zero: impl FnOnce()) {
    if rings.change(chunk, ChunkState::Full, ChunkState::Draining)
        || rings.change(chunk, ChunkState::Active, ChunkState::Draining)
    {
        if !give_memory_back(rings, chunk) {
            zero();
        }
        rings.change(chunk, ChunkState::Draining, ChunkState::Free);
    }
}

#[cfg(test)]
mod tests {
    use ada_event::FunctionId;
    use ada_format::atf::Payload;
    use ada_ring::detail::{CALL, MORE};
    use ada_ring::probe::PROBE_WORDS;
    use ada_ring::{DetailMode, OnFull, Pool};

    use super::*;
    use crate::install::shared_memory::SharedMemory;

    fn record(mark: u32, tsc: u64, count: u64, word: u64) -> Vec<u8> {
        let mut bytes = vec![0; RawProbe::SIZE];
        for (at, value) in [
            (offset_of!(RawDetail, mark), mark.into()),
            (offset_of!(RawDetail, tsc), tsc),
            (offset_of!(RawProbe, count), count),
            (offset_of!(RawProbe, words), word),
        ] {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn words_that_had_no_room_join_the_record_before() {
        let mut waiting = Waiting::default();
        // Words whose record is gone, a record with more, and words of another time.
        for (mark, tsc, count, word) in
            [(MORE, 5, 1, 50), (CALL, 6, PROBE_WORDS as u64 + 2, 60), (MORE, 6, 2, 61), (MORE, 7, 1, 70)]
        {
            waiting.push(&record(mark, tsc, count, word));
        }
        waiting.push(&record(CALL, 8, 1, 80));
        waiting.sort();
        // They are moved as one.
        waiting.forget_until(5);
        let words = |payload: Payload<'_>| match payload {
            Payload::X86Call(call) => call.probes.map(|it| it.values().collect::<Vec<u64>>()),
            _ => None,
        };
        let long = waiting.take(6).and_then(|it| words(it.probe_payload(FunctionId(1)))).unwrap();
        assert_eq!((long.len(), long[0], long[PROBE_WORDS]), (PROBE_WORDS + 2, 60, 61));
        assert_eq!(waiting.take(8).and_then(|it| words(it.probe_payload(FunctionId(1)))), Some(vec![80]));
        assert!(waiting.take(5).is_none() && waiting.take(7).is_none());
    }

    /// Writes a detail record, or takes it away.
    fn mark(pool: &Pool, chunk: usize, number: usize, mark: u32, tsc: u64) {
        // SAFETY: a record within the chunk, which nobody else has.
        unsafe {
            let record = pool.records(chunk).add(number * RawProbe::SIZE).cast::<RawDetail>();
            record.write(RawDetail { mark, tsc, ..RawDetail::default() });
        }
    }

    #[test]
    fn detail_whose_writer_was_interrupted_is_waited_for() {
        let count = RECORDS_END.div_ceil(RawProbe::SIZE);
        // The handler's detail is in the same chunk, or in the next one.
        for (hole, handlers) in [(count - 2, (0, count - 1)), (count - 1, (1, 0))] {
            for comes_back in [true, false] {
                let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
                let pool = shared.pool();
                for (chunk, state) in [(0, ChunkState::Full), (1, ChunkState::Active)] {
                    pool.header(chunk).lane.store(Lane::Probe as u32, Ordering::Relaxed);
                    pool.header(chunk).ordinal.store(chunk as u64, Ordering::Relaxed);
                    pool.control().chunks[chunk].store(state as u32, Ordering::Relaxed);
                }
                (0..hole).for_each(|number| mark(&pool, 0, number, CALL, 100 + number as u64));
                mark(&pool, handlers.0, handlers.1, CALL, 9000);
                let chunks = ThreadChunks { rings: &shared.rings, pid: ProcessId(0), tid: ThreadId(0), known: None };
                let mut details = ThreadDetails::default();
                let mut collect = |limit| {
                    details.collect(&chunks, Lane::Probe, RawProbe::SIZE, limit);
                    [100, 8000, 9000].map(|tsc| details.take(tsc).is_some())
                };
                // The handler is running.
                assert_eq!(collect(5000), [true, false, false]);
                assert_eq!(pool.state(0), ChunkState::Full as u32, "its writer may come back");
                if comes_back {
                    mark(&pool, 0, hole, CALL, 8000);
                }
                assert_eq!(collect(9000), [true, comes_back, true]);
                let freed = if comes_back { ChunkState::Free } else { ChunkState::Full };
                assert_eq!(pool.state(0), freed as u32, "its writer may come back yet");
                std::thread::sleep(QUARANTINE);
                collect(9000);
                assert_eq!(pool.state(0), ChunkState::Free as u32);
            }
        }
    }

    #[test]
    fn detail_does_not_pile_up_where_all_events_have_it() {
        let mut details = ThreadDetails::default();
        // The only event without detail was the first one.
        details.remember(Remembered { tsc: 1, seq: EventSeq(0), time: TraceNanos(0), function: 0 });
        for batch in 0..20 {
            let times = batch * REMEMBERED as u64 + 2..(batch + 1) * REMEMBERED as u64 + 2;
            for tsc in times.clone() {
                details.probes.push(&record(CALL, tsc, 1, tsc));
                details.waiting.push(&record(CALL, tsc, 1, tsc));
            }
            details.probes.sort();
            details.waiting.sort();
            assert!(details.take(times.start).is_some());
            details.forget_unremembered();
            assert!(details.probes.ranges.len() <= 4 * REMEMBERED);
            assert!(details.waiting.ranges.len() <= 4 * REMEMBERED);
            assert!(details.waiting.bytes.len() <= 9 * REMEMBERED * RawProbe::SIZE);
            assert!(details.waiting.take(times.end - 1).is_some(), "the newest stays");
        }
    }

    #[test]
    fn chunks_of_an_earlier_program_come_first() {
        let shared = SharedMemory::new(3, OnFull::Wait, DetailMode::All).unwrap();
        let pool = shared.pool();
        for (chunk, (program, ordinal)) in [(2, 0), (1, 1), (1, 0)].into_iter().enumerate() {
            let header = pool.header(chunk);
            header.program.store(program, Ordering::Relaxed);
            header.ordinal.store(ordinal, Ordering::Relaxed);
            header.lane.store(Lane::Probe as u32, Ordering::Relaxed);
            header.pid.store(7, Ordering::Relaxed);
            header.tid.store(8, Ordering::Relaxed);
            assert!(pool.change(chunk, ChunkState::Free, ChunkState::Active));
        }
        let chunks = ThreadChunks { rings: &shared.rings, pid: ProcessId(7), tid: ThreadId(8), known: None };
        assert_eq!(chunks.of(Lane::Probe), [2, 1, 0]);
        assert!(chunks.of(Lane::Detail).is_empty());
        assert_eq!(ThreadChunks { known: Some(&[0, 1]), ..chunks }.of(Lane::Probe), [1, 0]);
        assert!(ThreadChunks { tid: ThreadId(9), ..chunks }.of(Lane::Probe).is_empty());
    }
}
