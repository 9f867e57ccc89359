//! Gives chunks that were read back to the pool, those with holes later than others.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use ada_ring::{CHUNK_SIZE, ChunkState, RECORDS_END};

use crate::install::rings::Rings;

/// How long an unwritten record may hold its thread's later ones back: its writer was interrupted by a signal whose
/// handler has not returned, or has jumped away and never will.
const HOLE_PATIENCE: Duration = if cfg!(fuzzing) { FUZZED } else { Duration::from_millis(5) };
/// How long a chunk with such a record is kept from others, should the writer come back after all.
pub(super) const QUARANTINE: Duration = if cfg!(fuzzing) { FUZZED } else { Duration::from_millis(100) };
/// The same where rounds follow each other at once: some come before that time is over, and some afterwards.
const FUZZED: Duration = Duration::from_micros(200);
/// So many bytes of a chunk are not worth giving back to the operating system.
const LITTLE: usize = 16 << 10;

/// The chunks that are not simply read and given back.
#[derive(Default)]
pub(super) struct ChunkReturns {
    /// Since when each chunk has been stuck at a hole.
    stuck: HashMap<usize, Instant>,
    /// Chunks with holes that were passed over, and when they may be used again.
    quarantine: VecDeque<(Instant, usize)>,
}

impl ChunkReturns {
    /// Whether a hole of a chunk has been waited for long enough.
    pub(super) fn has_lost_patience(&mut self, chunk: usize) -> bool {
        self.stuck.entry(chunk).or_insert_with(Instant::now).elapsed() > HOLE_PATIENCE
    }

    /// Gives a kept chunk, of which so much was used, back to the pool.
    pub(super) fn free(&mut self, rings: &Rings, chunk: usize, used: usize, has_holes: bool) {
        self.stuck.remove(&chunk);
        if has_holes {
            self.quarantine.push_back((Instant::now() + QUARANTINE, chunk));
        } else {
            zero(rings, chunk, used);
            rings.change(chunk, ChunkState::Draining, ChunkState::Free);
        }
    }

    /// Frees chunks that have been kept for long enough.
    pub(super) fn end_quarantine(&mut self, rings: &Rings) {
        while let Some(&(until, chunk)) = self.quarantine.front()
            && until <= Instant::now()
        {
            self.quarantine.pop_front();
            zero(rings, chunk, RECORDS_END);
            rings.change(chunk, ChunkState::Draining, ChunkState::Free);
        }
    }
}

/// Zeroes what was used of a kept chunk. One that there is only because there are many threads costs no memory afterwards.
fn zero(rings: &Rings, chunk: usize, used: usize) {
    let is_given_back = used > LITTLE && give_memory_back(rings, chunk);
    if !is_given_back {
        let (pool, chunk) = rings.place_of(chunk);
        pool.zero_records(chunk, used);
    }
}

/// Gives the memory of a chunk that the drain owns back to the operating system, if the chunk is there only because there
/// are many threads. What was in it is then zero.
pub(crate) fn give_memory_back(rings: &Rings, chunk: usize) -> bool {
    let (pool, chunk) = rings.place_of(chunk);
    let start = pool.records(chunk).cast();
    // SAFETY: the drain owns the chunk, of which nothing is kept.
    chunk >= pool.chunk_count() && unsafe { libc::madvise(start, CHUNK_SIZE, libc::MADV_REMOVE) } == 0
}
