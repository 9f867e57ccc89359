//! The pool of chunks.
//!
//! A chunk's state is one word in the control block; whoever moves it owns the next step:
//!
//! ```text
//! Free --agent--> Claimed --agent--> Active --agent--> Full --drain--> Draining --drain--> Free
//!                    ^------------- agent, where it drops the oldest -----'
//! ```
//! An active chunk of a dead thread goes the drain's way as if it were full.
//!
//! The first [`Orders::chunk_count`] chunks are the memory that all threads share. A thread that has nothing pending with
//! the drain, and finds none of these free, is given one beyond them: threads that wait for something else keep what
//! they have, however many they are, and none may wait for them. A process maps what lies beyond when it first needs it.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::chunk::{
    CHUNK_SIZE, ChunkHeader, ChunkState, HEADER_OFFSET, LONGEST_HOLE, Lane, MAX_CHUNKS, RECORDS_END, ThreadKey,
};
use crate::control::{CONTROL_BYTES, Control, DropReason};
use crate::handover::Handover;
use crate::orders::Orders;

/// Where the chunks start: behind the control block and the dump.
pub const CHUNKS_AT: usize = CONTROL_BYTES + CHUNK_SIZE;

const _: () = assert!(CHUNKS_AT + MAX_CHUNKS * CHUNK_SIZE <= 1 << 32);

/// A chunk that a thread has filled, as it was when it handed it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOver {
    /// The chunk.
    pub chunk: usize,
    /// Whose it was.
    pub owner: ThreadKey,
    /// The lane.
    pub lane: Lane,
    /// The chunk's ordinal among those of this thread and lane.
    pub ordinal: u64,
}

/// The shared memory as one side sees it: the control block, the dump, the chunks and the blocks of counters.
#[derive(Clone, Copy)]
pub struct Pool {
    base: *mut u8,
    orders: *const Orders,
}

// SAFETY: a `Pool` is only addresses; all it reaches is atomics, and records that are owned by chunk state.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// The pool in the mapping that starts at `base`.
    ///
    /// # Safety
    /// `base` is a readable and writable mapping of a session's shared memory, aligned to [`CHUNK_SIZE`], that
    /// outlives every use of the pool. The control block and the dump lie within it, and whatever chunks and blocks of
    /// counters are asked for. `orders` are the session's, readable for as long, and writable where they are written.
    pub const unsafe fn at(base: *mut u8, orders: *const Orders) -> Self {
        Self { base, orders }
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// The control block.
    pub fn control(&self) -> &Control {
        // SAFETY: `at` promises the mapping; the block holds only atomics, for which zeroed memory is valid.
        unsafe { &*self.base.cast::<Control>() }
    }

    /// What the recorder says.
    pub fn orders(&self) -> &Orders {
        // SAFETY: `at` promises the mapping; there are only atomics, and a path that nobody reads by this reference.
        unsafe { &*self.orders }
    }

    /// How many chunks all threads share.
    pub fn chunk_count(&self) -> usize {
        (self.orders().chunk_count.load(Ordering::Relaxed) as usize).min(MAX_CHUNKS)
    }

    /// How many chunks there can be, with those beyond these.
    pub fn most_chunks(&self) -> usize {
        (self.orders().most_chunks.load(Ordering::Relaxed) as usize).min(MAX_CHUNKS)
    }

    /// How many chunks there are: those that all share, and as many beyond as have been needed so far.
    pub fn chunk_end(&self) -> usize {
        (self.control().chunk_end.load(Ordering::Acquire) as usize).clamp(self.chunk_count(), MAX_CHUNKS)
    }

    /// Where a chunk's records start.
    #[inline]
    pub fn records(&self, chunk: usize) -> *mut u8 {
        assert!(chunk < MAX_CHUNKS);
        // SAFETY: `at` promises that the chunks that are asked for lie within the mapping.
        unsafe { self.base.add(CHUNKS_AT + chunk * CHUNK_SIZE) }
    }

    /// A chunk's header.
    pub fn header(&self, chunk: usize) -> &ChunkHeader {
        // SAFETY: the header lies within the chunk, and holds only atomics.
        unsafe { &*self.records(chunk).add(HEADER_OFFSET).cast::<ChunkHeader>() }
    }

    /// Claims a free chunk: the first there is, so that a drain which keeps up makes threads write to the same few
    /// chunks over and over, while they are in the processor's caches.
    pub fn claim(&self) -> Option<usize> {
        self.claim_among(0..self.chunk_count())
    }

    /// Claims a chunk beyond those that all share. The caller has to see to it that it is mapped, or give it back.
    pub fn claim_beyond(&self) -> Option<usize> {
        let claimed = self.claim_among(self.chunk_count()..self.most_chunks())?;
        // Before the chunk becomes active: whoever looks for active ones afterwards finds it.
        self.control().chunk_end.fetch_max(claimed as u32 + 1, Ordering::AcqRel);
        Some(claimed)
    }

    fn claim_among(&self, mut chunks: Range<usize>) -> Option<usize> {
        let claimed = chunks.find(|&chunk| {
            self.state(chunk) == ChunkState::Free as u32 && self.change(chunk, ChunkState::Free, ChunkState::Claimed)
        })?;
        self.control().claims.fetch_add(1, Ordering::Relaxed);
        Some(claimed)
    }

    /// Claims a chunk for something that can do without: only while half of all chunks are free, and these are more than
    /// a few, so that it never takes one from a thread that cannot.
    pub fn claim_if_plenty(&self) -> Option<usize> {
        const FEW: usize = 16;
        let count = self.chunk_count().saturating_sub(FEW);
        let free = (0..count).filter(|&chunk| self.state(chunk) == ChunkState::Free as u32).count();
        if free * 2 > count { self.claim() } else { None }
    }

    /// Claims a chunk if more than so many are free.
    pub fn claim_leaving(&self, free_after: usize) -> Option<usize> {
        let free = (0..self.chunk_count()).filter(|&chunk| self.state(chunk) == ChunkState::Free as u32).count();
        if free > free_after { self.claim() } else { None }
    }

    /// Whether the drain has events to take. Full chunks of the other lanes do not count: what remains in them belongs to
    /// events that their threads have yet to write, perhaps once they have a chunk for these.
    pub fn is_drain_behind(&self) -> bool {
        (0..self.chunk_count()).any(|chunk| {
            let state = self.state(chunk);
            let is_index = || self.header(chunk).lane.load(Ordering::Relaxed) == Lane::Index as u32;
            state == ChunkState::Draining as u32 || state == ChunkState::Full as u32 && is_index()
        })
    }

    /// Whether the drain has yet to finish a chunk that a thread has handed over.
    pub fn is_with_drain(&self, handed_over: &HandedOver) -> bool {
        let (state, header) = (self.state(handed_over.chunk), self.header(handed_over.chunk));
        (state == ChunkState::Full as u32 || state == ChunkState::Draining as u32)
            && header.owner() == handed_over.owner
            && header.lane.load(Ordering::Relaxed) == handed_over.lane as u32
            && header.ordinal.load(Ordering::Relaxed) == handed_over.ordinal
    }

    /// Takes back the oldest full chunk that a thread has in a lane and the drain is not reading, drops what it holds, and
    /// gives it zeroed. For events that may be a chunk of the detail lane: registers without their event are worth nothing.
    /// `mapped` is how many chunks the process has mapped, and `but` one that it keeps.
    pub fn reclaim_oldest(&self, owner: ThreadKey, lane: Lane, mapped: usize, but: Option<usize>) -> Option<usize> {
        let is_allowed = |chunk: &usize| Some(*chunk) != but;
        self.reclaim_oldest_of(owner, lane, mapped, is_allowed).or_else(|| {
            let detail = Some(Lane::Detail).filter(|_| lane == Lane::Index)?;
            self.reclaim_oldest_of(owner, detail, mapped, is_allowed)
        })
    }

    fn reclaim_oldest_of(
        &self,
        owner: ThreadKey,
        lane: Lane,
        mapped: usize,
        is_allowed: impl Fn(&usize) -> bool,
    ) -> Option<usize> {
        let mut last_tried = None;
        loop {
            let (ordinal, chunk) = (0..mapped.min(self.chunk_end()))
                .filter(&is_allowed)
                .filter(|&chunk| {
                    let header = || self.header(chunk);
                    self.state(chunk) == ChunkState::Full as u32
                        && header().lane.load(Ordering::Relaxed) == lane as u32
                        && header().owner() == owner
                })
                .map(|chunk| (self.header(chunk).ordinal.load(Ordering::Relaxed), chunk))
                .filter(|tried| last_tried.is_none_or(|last| *tried > last))
                .min()?;
            if self.take_back(chunk, lane) {
                return Some(chunk);
            }
            last_tried = Some((ordinal, chunk));
        }
    }

    /// False where the drain has the chunk.
    fn take_back(&self, chunk: usize, lane: Lane) -> bool {
        if !self.handover(chunk).take_back() {
            return false;
        }
        if lane == Lane::Index {
            let unread = RECORDS_END as u64 - self.header(chunk).drained.load(Ordering::Relaxed);
            self.control().count_drop(DropReason::RingFull, unread / crate::RawRecord::SIZE as u64);
        }
        self.zero_all(chunk);
        true
    }

    /// A chunk's state as a number.
    pub fn state(&self, chunk: usize) -> u32 {
        self.control().chunks[chunk].load(Ordering::Acquire)
    }

    /// Moves a chunk from one state to another, if it is still in the first.
    pub fn change(&self, chunk: usize, from: ChunkState, to: ChunkState) -> bool {
        self.handover(chunk).change(from, to)
    }

    /// The words by which a chunk changes hands.
    pub(crate) fn handover(&self, chunk: usize) -> Handover<'_, AtomicU32> {
        Handover { state: &self.control().chunks[chunk], reader_busy: &self.header(chunk).reader_busy }
    }

    /// The records of a chunk that nobody reads: for what has nowhere to go.
    pub fn dump(&self) -> *mut u8 {
        // SAFETY: `at` promises that it lies within the mapping.
        unsafe { self.base.add(CONTROL_BYTES) }
    }

    /// Zeroes a chunk's records and what they can reach of its slack; the caller owns the chunk.
    pub fn zero_all(&self, chunk: usize) {
        // SAFETY: the range lies within the chunk, and its owner is the only one to touch it.
        unsafe { self.records(chunk).write_bytes(0, HEADER_OFFSET) };
        self.header(chunk).holds_old_detail.store(0, Ordering::Relaxed);
        self.header(chunk).drained.store(0, Ordering::Relaxed);
    }

    /// Zeroes the marks of detail records of this size, which are most of a chunk; the caller owns the chunk.
    pub fn zero_marks(&self, chunk: usize, stride: usize) {
        let header = self.header(chunk);
        header.holds_old_detail.store(1, Ordering::Relaxed);
        for at in (0..RECORDS_END).step_by(stride) {
            // SAFETY: a record's first word within the chunk, whose owner is the only one to touch it.
            unsafe { self.records(chunk).add(at).cast::<u64>().write(0) };
        }
        header.drained.store(0, Ordering::Relaxed);
    }

    /// Zeroes what was used of a chunk with detail records of this size, which is the rest of a thread's last one; the caller owns
    /// the chunk. What was never written to is not looked at, or it costs memory.
    pub fn zero_used(&self, chunk: usize, stride: usize) {
        if self.header(chunk).holds_old_detail.load(Ordering::Relaxed) != 0 {
            return self.zero_all(chunk);
        }
        // SAFETY: a record's first word within the chunk, whose owner is the only one to touch it.
        let is_written = |at: usize| unsafe { self.records(chunk).add(at).cast::<u64>().read() } != 0;
        let (mut at, mut end) = (0, LONGEST_HOLE * stride);
        while at < end.min(RECORDS_END) {
            if is_written(at) {
                end = at + (1 + LONGEST_HOLE) * stride;
            }
            at += stride;
        }
        // SAFETY: the range lies within the chunk; a record that starts before the slack ends before the header.
        unsafe { self.records(chunk).write_bytes(0, at) };
        self.header(chunk).drained.store(0, Ordering::Relaxed);
    }

    /// Zeroes what a claimed chunk still holds, unless it is for detail again.
    pub fn prepare_for(&self, chunk: usize, lane: Lane) {
        if lane != Lane::Detail && self.header(chunk).holds_old_detail.load(Ordering::Relaxed) != 0 {
            self.zero_all(chunk);
        }
    }

    /// Zeroes a chunk's first `bytes` bytes of records, and the drain's mark; the caller owns the chunk.
    pub fn zero_records(&self, chunk: usize, bytes: usize) {
        // SAFETY: the range lies within the chunk, and its owner is the only one to touch it.
        unsafe { self.records(chunk).write_bytes(0, bytes.min(RECORDS_END)) };
        self.header(chunk).drained.store(0, Ordering::Relaxed);
    }
}
