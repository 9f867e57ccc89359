//! The chunks that threads hold or have filled.

use std::sync::atomic::Ordering;

use ada_ring::{ChunkState, Lane, Pool};

/// A chunk with something to read.
pub(super) struct Held {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) image: u32,
    pub(super) ordinal: u64,
    pub(super) thread_pointer: u64,
    pub(super) forked_by: u32,
    pub(super) chunk: usize,
}

impl Held {
    /// Whether the chunk is what it was when the round began. Its thread may have taken it back, and be writing to it
    /// what comes after all that it has filled meanwhile.
    pub(super) fn is_still_there(&self, pool: &Pool) -> bool {
        let header = pool.header(self.chunk);
        header.lane.load(Ordering::Relaxed) == Lane::Index as u32
            && header.ordinal.load(Ordering::Relaxed) == self.ordinal
            && (header.pid.load(Ordering::Relaxed), header.tid.load(Ordering::Relaxed)) == (self.pid, self.tid)
    }

    /// Whether a thread has left chunks that were not there when the round began. A new thread with the same id counts
    /// its chunks from 0.
    pub(super) fn has_later_ones(&self, pool: &Pool) -> bool {
        let is_later = |held: &Self| (held.pid, held.tid) == (self.pid, self.tid) && held.ordinal > self.ordinal;
        held_chunks(pool).iter().any(is_later)
    }

    /// The thread's next chunk, if it has one.
    pub(super) fn next(&self, pool: &Pool) -> Option<Self> {
        let is_next = |next: &Self| {
            (next.pid, next.tid, next.image, next.ordinal) == (self.pid, self.tid, self.image, self.ordinal + 1)
        };
        held_chunks(pool).into_iter().find(is_next)
    }
}

/// The chunks that threads hold or have filled, those of one thread in their order.
pub(super) fn held_chunks(pool: &Pool) -> Vec<Held> {
    let mut held: Vec<Held> = (0..pool.chunk_count())
        .filter(|&chunk| {
            let state = pool.state(chunk);
            let is_index = pool.header(chunk).lane.load(Ordering::Relaxed) == Lane::Index as u32;
            is_index && (state == ChunkState::Active as u32 || state == ChunkState::Full as u32)
        })
        .map(|chunk| {
            let header = pool.header(chunk);
            Held {
                pid: header.pid.load(Ordering::Relaxed),
                tid: header.tid.load(Ordering::Relaxed),
                image: header.image.load(Ordering::Relaxed),
                ordinal: header.ordinal.load(Ordering::Relaxed),
                thread_pointer: header.thread_pointer.load(Ordering::Relaxed),
                forked_by: header.forked_by.load(Ordering::Relaxed),
                chunk,
            }
        })
        .collect();
    held.sort_unstable_by_key(|held| (held.pid, held.tid, held.image, held.ordinal));
    held
}
