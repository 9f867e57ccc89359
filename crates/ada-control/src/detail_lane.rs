//! The drain's side of the detail lane: finding the detail of events, and making payloads of it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};
use ada_format::atf::{Payload, Probes, X86Call, X86Return};
use ada_ring::detail::{self, DetailShape, RawDetail};
use ada_ring::pool::Lane;
use ada_ring::probe::PROBE_WORDS;
use ada_ring::{ChunkReader, ChunkState, Pool, RECORDS_END};

/// How many of a thread's newest events are remembered, so that kept detail can be linked to them: more than two chunks
/// of detail hold.
pub(crate) const REMEMBERED: usize = 8192;

/// A detail record as a stub wrote it.
#[derive(Clone, Copy)]
pub(crate) struct Captured<'a> {
    bytes: &'a [u8],
}

impl<'a> Captured<'a> {
    fn word(&self, number: usize) -> u64 {
        u64::from_le_bytes(self.bytes[8 * number..8 * number + 8].try_into().expect("eight bytes"))
    }

    pub(crate) fn tsc(&self) -> u64 {
        self.word(1)
    }

    /// The function's number in its process.
    pub(crate) fn function(&self) -> u32 {
        (self.word(0) >> 32) as u32
    }

    /// The payload of a runtime probe.
    pub(crate) fn probe_payload(&self, function: FunctionId) -> Payload<'a> {
        const CONTEXT: usize = RawDetail::SIZE;
        const COUNT: usize = CONTEXT + 32;
        const WORDS: usize = COUNT + 8;
        let context = Some(std::array::from_fn(|number| self.word(CONTEXT / 8 + number)));
        let count = (self.word(COUNT / 8) as usize).min(PROBE_WORDS);
        let (words, _) = self.bytes[WORDS..WORDS + 8 * count].as_chunks();
        let probes = (count > 0).then(|| Probes::from_le_bytes(words));
        match self.payload(function, &DetailShape::default()) {
            Payload::X86Call(call) => Payload::X86Call(X86Call { context, probes, stack: &[], ..call }),
            Payload::X86Return(back) => Payload::X86Return(X86Return { context, probes, ..back }),
            other => other,
        }
    }

    fn vectors<const COUNT: usize>(&self, shape: &DetailShape) -> Option<[u128; COUNT]> {
        let (vectors, _) = self.bytes.get(shape.vectors_at()..)?.as_chunks::<16>();
        shape.vectors.then(|| std::array::from_fn(|number| u128::from_le_bytes(vectors[number])))
    }

    /// The payload for a session, for the function with this id.
    pub(crate) fn payload(&self, function: FunctionId, shape: &DetailShape) -> Payload<'a> {
        let register = |number: usize| self.word(2 + number);
        let (return_address, rbp, rsp) = (RuntimeAddr(self.word(9)), self.word(10), self.word(11));
        if self.word(0) as u32 == detail::RETURN {
            return Payload::X86Return(X86Return {
                function,
                rax: register(0),
                rdx: register(1),
                return_address,
                rbp,
                rsp,
                vectors: self.vectors(shape),
                ..X86Return::default()
            });
        }
        let stack = &self.bytes[RawDetail::SIZE..];
        Payload::X86Call(X86Call {
            function,
            rdi: register(0),
            rsi: register(1),
            rdx: register(2),
            rcx: register(3),
            r8: register(4),
            r9: register(5),
            rax: register(6),
            return_address,
            rbp,
            rsp,
            vectors: self.vectors(shape),
            stack: &stack[..shape.window.min(self.word(12) as usize)],
            ..X86Call::default()
        })
    }
}

/// Detail of one thread that is on its way to its events.
#[derive(Default)]
pub(crate) struct ThreadDetails {
    waiting: Waiting,
    remembered: VecDeque<(u64, EventSeq, TraceNanos)>,
}

/// Records that were read before their events.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Time stamp and place of each, by time.
    places: Vec<(u64, Range<usize>)>,
    /// The first that has not been asked for.
    next: usize,
}

impl Waiting {
    fn push(&mut self, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.places.push((Captured { bytes: record }.tsc(), start..self.bytes.len()));
    }

    fn take(&mut self, tsc: u64) -> Option<Captured<'_>> {
        // Events come in the order of their detail, but for handlers that interrupted a stub.
        let is_next = self.places.get(self.next).is_some_and(|(next, _)| *next == tsc);
        let found = if is_next { self.next } else { self.places.binary_search_by_key(&tsc, |(tsc, _)| *tsc).ok()? };
        self.next = found + 1;
        Some(Captured { bytes: &self.bytes[self.places[found].1.clone()] })
    }

    /// Lets go of all up to the time stamp, whether it was asked for or not.
    fn forget_until(&mut self, tsc: u64) {
        if self.places.is_empty() {
            return;
        }
        let rest = self.places.partition_point(|(time, _)| *time <= tsc);
        let kept: Vec<Range<usize>> = self.places.drain(..).skip(rest).map(|(_, place)| place).collect();
        let bytes = std::mem::take(&mut self.bytes);
        self.next = 0;
        kept.into_iter().for_each(|place| self.push(&bytes[place]));
        if self.bytes.capacity() == 0 {
            self.bytes = bytes;
            self.bytes.clear();
        }
    }
}

impl ThreadDetails {
    /// Takes records of a thread's detail chunks, and frees the chunks that are read to their end. Gives the time that
    /// the thread waited for these.
    ///
    /// No further than to the time stamp of the last event that is being written: what is left in the rings makes a
    /// thread wait that is too fast for the disk.
    pub(crate) fn collect(&mut self, pool: &Pool, lane: Lane, stride: usize, pid: u32, tid: u32, limit: u64) -> u64 {
        let mut waited = 0;
        let before = self.waiting.places.len();
        for chunk in chunks_of(pool, lane, pid, tid) {
            let is_full = pool.state(chunk) == ChunkState::Full as u32;
            let Some(mut reader) = ChunkReader::begin_with_stride(pool, chunk, stride) else { continue };
            loop {
                while let Some(bytes) = reader.next_detail(limit) {
                    self.waiting.push(bytes);
                }
                // What was reserved and not written belongs to an event that is not written either.
                if reader.is_at_end() || !is_full || !reader.is_at_hole() || !reader.skip_hole(|_| {}) {
                    break;
                }
            }
            let is_done = reader.is_at_end() || reader.is_at_hole();
            drop(reader);
            if !is_done {
                break;
            }
            if is_full {
                waited += pool.header(chunk).waited_ns.load(Ordering::Relaxed);
                free(pool, chunk);
            }
        }
        let places = &mut self.waiting.places;
        if places.len() > before && !places.is_sorted_by_key(|(tsc, _)| *tsc) {
            places.sort_by_key(|(tsc, _)| *tsc);
        }
        waited
    }

    /// The detail of the event with this time stamp.
    pub(crate) fn take(&mut self, tsc: u64) -> Option<Captured<'_>> {
        self.waiting.take(tsc)
    }

    /// Lets go of the detail of all events up to this time stamp.
    pub(crate) fn forget_until(&mut self, tsc: u64) {
        self.waiting.forget_until(tsc);
    }

    /// Remembers where the event with this time stamp was written.
    pub(crate) fn remember(&mut self, tsc: u64, seq: EventSeq, time: TraceNanos) {
        if self.remembered.len() == REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back((tsc, seq, time));
    }

    /// The detail that the thread has kept of its newest events, with where these were written.
    pub(crate) fn kept<'p>(
        &mut self,
        pool: &'p Pool,
        stride: usize,
        pid: u32,
        tid: u32,
    ) -> Vec<(EventSeq, TraceNanos, Captured<'p>)> {
        let remembered = self.remembered.make_contiguous();
        remembered.sort_unstable_by_key(|(tsc, ..)| *tsc);
        let mut kept = Vec::new();
        for chunk in chunks_of(pool, Lane::Detail, pid, tid) {
            let first = pool.header(chunk).first_tsc.load(Ordering::Relaxed);
            for at in (0..RECORDS_END).step_by(stride) {
                // SAFETY: a record within the chunk, whose process has ended.
                let bytes = unsafe { std::slice::from_raw_parts(pool.records(chunk).add(at), stride) };
                let captured = Captured { bytes };
                if captured.word(0) as u32 == 0 || captured.tsc() < first {
                    continue;
                }
                if let Ok(found) = remembered.binary_search_by_key(&captured.tsc(), |(tsc, ..)| *tsc) {
                    let (_, seq, time) = remembered[found];
                    kept.push((seq, time, captured));
                }
            }
        }
        kept.sort_by_key(|(seq, ..)| *seq);
        kept
    }
}

/// A thread's chunks of a lane, oldest first.
fn chunks_of(pool: &Pool, lane: Lane, pid: u32, tid: u32) -> Vec<usize> {
    let mut chunks: Vec<usize> = (0..pool.chunk_count())
        .filter(|&chunk| {
            let (state, header) = (pool.state(chunk), pool.header(chunk));
            (state == ChunkState::Active as u32 || state == ChunkState::Full as u32)
                && header.lane.load(Ordering::Relaxed) == lane as u32
                && header.pid.load(Ordering::Relaxed) == pid
                && header.tid.load(Ordering::Relaxed) == tid
        })
        .collect();
    chunks.sort_by_key(|&chunk| pool.header(chunk).ordinal.load(Ordering::Relaxed));
    chunks
}

/// Frees all detail chunks of a thread that has ended.
pub(crate) fn free_all(pool: &Pool, pid: u32, tid: u32) {
    for lane in [Lane::Detail, Lane::Probe] {
        chunks_of(pool, lane, pid, tid).into_iter().for_each(|chunk| free(pool, chunk));
    }
}

fn free(pool: &Pool, chunk: usize) {
    if pool.change(chunk, ChunkState::Full, ChunkState::Draining)
        || pool.change(chunk, ChunkState::Active, ChunkState::Draining)
    {
        pool.zero_all(chunk);
        pool.change(chunk, ChunkState::Draining, ChunkState::Free);
    }
}
