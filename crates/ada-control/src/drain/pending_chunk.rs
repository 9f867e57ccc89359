//! A chunk that a thread holds or has filled.

use std::sync::atomic::Ordering;

use ada_event::{ProcessId, ThreadId};
use ada_ring::{ChunkState, Lane};

use crate::install::rings::Rings;
use crate::program_id::ProgramId;

/// A chunk with something to read.
pub(super) struct PendingChunk {
    pub(super) pid: ProcessId,
    pub(super) tid: ThreadId,
    pub(super) program: ProgramId,
    pub(super) ordinal: u64,
    pub(super) thread_pointer: u64,
    pub(super) forked_by: Option<ProcessId>,
    pub(super) chunk: usize,
}

impl PendingChunk {
    /// Whether the chunk is what it was when the round began. Its thread may have taken it back, and be writing to it
    /// what comes after all that it has filled meanwhile.
    pub(super) fn is_still_there(&self, rings: &Rings) -> bool {
        let header = rings.header(self.chunk);
        header.lane.load(Ordering::Relaxed) == Lane::Index as u32
            && (header.program.load(Ordering::Relaxed), header.ordinal.load(Ordering::Relaxed))
                == (self.program.0, self.ordinal)
            && (header.pid.load(Ordering::Relaxed), header.tid.load(Ordering::Relaxed)) == (self.pid.0, self.tid.0)
    }

    /// The thread's next chunk, if it has one.
    pub(super) fn next(&self, rings: &Rings) -> Option<Self> {
        // Ordinals are the target's word.
        let ordinal = self.ordinal.checked_add(1)?;
        let is_next = |next: &Self| {
            (next.pid, next.tid, next.program, next.ordinal) == (self.pid, self.tid, self.program, ordinal)
                && rings.has_rings_of(next.pid, next.chunk)
        };
        rings.chunks().filter_map(|chunk| Self::in_chunk(rings, chunk)).find(is_next)
    }

    pub(super) fn thread(&self) -> (ProcessId, ThreadId) {
        (self.pid, self.tid)
    }

    /// Where the chunk stands among those of its thread. Each program that it runs counts from 0, and so does a new
    /// thread with the same id.
    pub(super) fn position(&self) -> (ProgramId, u64) {
        (self.program, self.ordinal)
    }

    /// The chunk, if it has something to read.
    pub(super) fn in_chunk(rings: &Rings, chunk: usize) -> Option<Self> {
        let state = rings.state(chunk);
        if state != ChunkState::Active as u32 && state != ChunkState::Full as u32 {
            return None;
        }
        let header = rings.header(chunk);
        (header.lane.load(Ordering::Relaxed) == Lane::Index as u32).then(|| Self {
            pid: ProcessId(header.pid.load(Ordering::Relaxed)),
            tid: ThreadId(header.tid.load(Ordering::Relaxed)),
            program: ProgramId(header.program.load(Ordering::Relaxed)),
            ordinal: header.ordinal.load(Ordering::Relaxed),
            thread_pointer: header.thread_pointer.load(Ordering::Relaxed),
            forked_by: Some(header.forked_by.load(Ordering::Relaxed)).filter(|&pid| pid != 0).map(ProcessId),
            chunk,
        })
    }
}
