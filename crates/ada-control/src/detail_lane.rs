//! The drain's side of the detail lane: finding the detail of events, and making payloads of it.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};
use ada_format::atf::{Payload, X86Call, X86Return};
use ada_ring::detail::{self, RawDetail};
use ada_ring::pool::Lane;
use ada_ring::{ChunkReader, ChunkState, Pool, RECORDS_END};

/// How many of a thread's newest events are remembered, so that kept detail can be linked to them: more than two chunks
/// of detail hold.
pub(crate) const REMEMBERED: usize = 8192;

/// A detail record as a stub wrote it.
pub(crate) struct Captured {
    bytes: Vec<u8>,
}

impl Captured {
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

    /// The payload for a session, for the function with this id.
    pub(crate) fn payload(&self, function: FunctionId) -> Payload<'_> {
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
            stack: &stack[..stack.len().min(self.word(12) as usize)],
            ..X86Call::default()
        })
    }
}

/// Detail of one thread that is on its way to its events.
#[derive(Default)]
pub(crate) struct ThreadDetails {
    waiting: VecDeque<Captured>,
    remembered: VecDeque<(u64, EventSeq, TraceNanos)>,
}

impl ThreadDetails {
    /// Takes all records of a thread's detail chunks that are written, and frees the chunks that are read to their end.
    pub(crate) fn collect(&mut self, pool: &Pool, stride: usize, pid: u32, tid: u32, ended: bool) {
        let before = self.waiting.len();
        for chunk in chunks_of(pool, pid, tid) {
            let is_full = pool.state(chunk) == ChunkState::Full as u32;
            let Some(mut reader) = ChunkReader::begin_with_stride(pool, chunk, stride) else { continue };
            loop {
                while let Some(bytes) = reader.next_detail() {
                    self.waiting.push_back(Captured { bytes: bytes.to_vec() });
                }
                // What was reserved and not written belongs to an event that is not written either.
                if reader.is_at_end() || !(is_full || ended) || !reader.skip_hole() {
                    break;
                }
            }
            drop(reader);
            if is_full || ended {
                free(pool, chunk);
            }
        }
        if self.waiting.len() > before && !self.waiting.make_contiguous().is_sorted_by_key(Captured::tsc) {
            self.waiting.make_contiguous().sort_by_key(Captured::tsc);
        }
    }

    /// The detail of the event with this time stamp; what belongs to earlier ones is let go.
    pub(crate) fn take(&mut self, tsc: u64) -> Option<Captured> {
        while self.waiting.front().is_some_and(|captured| captured.tsc() < tsc) {
            self.waiting.pop_front();
        }
        self.waiting.pop_front_if(|captured| captured.tsc() == tsc)
    }

    /// Remembers where the event with this time stamp was written.
    pub(crate) fn remember(&mut self, tsc: u64, seq: EventSeq, time: TraceNanos) {
        if self.remembered.len() == REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back((tsc, seq, time));
    }

    /// The detail that the thread has kept of its newest events, with where these were written.
    pub(crate) fn kept(
        &mut self,
        pool: &Pool,
        stride: usize,
        pid: u32,
        tid: u32,
    ) -> Vec<(EventSeq, TraceNanos, Captured)> {
        let remembered = self.remembered.make_contiguous();
        remembered.sort_unstable_by_key(|(tsc, ..)| *tsc);
        let mut kept = Vec::new();
        for chunk in chunks_of(pool, pid, tid) {
            let first = pool.header(chunk).first_tsc.load(Ordering::Relaxed);
            for at in (0..RECORDS_END).step_by(stride) {
                // SAFETY: a record within the chunk, whose process has ended.
                let bytes = unsafe { std::slice::from_raw_parts(pool.records(chunk).add(at), stride) };
                let captured = Captured { bytes: bytes.to_vec() };
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

/// A thread's detail chunks, oldest first.
fn chunks_of(pool: &Pool, pid: u32, tid: u32) -> Vec<usize> {
    let mut chunks: Vec<usize> = (0..pool.chunk_count())
        .filter(|&chunk| {
            let (state, header) = (pool.state(chunk), pool.header(chunk));
            (state == ChunkState::Active as u32 || state == ChunkState::Full as u32)
                && header.lane.load(Ordering::Relaxed) == Lane::Detail as u32
                && header.pid.load(Ordering::Relaxed) == pid
                && header.tid.load(Ordering::Relaxed) == tid
        })
        .collect();
    chunks.sort_by_key(|&chunk| pool.header(chunk).ordinal.load(Ordering::Relaxed));
    chunks
}

/// Frees all detail chunks of a thread that has ended.
pub(crate) fn free_all(pool: &Pool, pid: u32, tid: u32) {
    for chunk in chunks_of(pool, pid, tid) {
        free(pool, chunk);
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
