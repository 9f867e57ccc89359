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
            && (header.image.load(Ordering::Relaxed), header.ordinal.load(Ordering::Relaxed))
                == (self.image, self.ordinal)
            && (header.pid.load(Ordering::Relaxed), header.tid.load(Ordering::Relaxed)) == (self.pid, self.tid)
    }

    /// Whether a thread has left chunks that were not there when the round began.
    pub(super) fn has_later_ones(&self, pool: &Pool) -> bool {
        held_chunks(pool).iter().any(|held| self.is_continued_by(held))
    }

    /// Whether a chunk is a later one of the same thread. Each program that it runs counts from 0, and so does a new
    /// thread with the same id.
    fn is_continued_by(&self, other: &Self) -> bool {
        (other.pid, other.tid) == (self.pid, self.tid) && (other.image, other.ordinal) > (self.image, self.ordinal)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn held(tid: u32, image: u32, ordinal: u64) -> Held {
        Held { pid: 1, tid, image, ordinal, thread_pointer: 0, forked_by: 0, chunk: 0 }
    }

    #[test]
    fn a_thread_goes_on_in_the_next_program_that_its_process_runs() {
        let chunk = held(1, 2, 3);
        assert!(chunk.is_continued_by(&held(1, 2, 4)) && chunk.is_continued_by(&held(1, 3, 0)));
        for other in [held(1, 2, 3), held(1, 2, 0), held(1, 1, 9), held(2, 3, 4)] {
            assert!(!chunk.is_continued_by(&other));
        }
    }
}
