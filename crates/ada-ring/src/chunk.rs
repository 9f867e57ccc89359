//! A chunk: records from its start, and a header in its last page.
//!
//! ```text
//! 0            RECORDS_END             HEADER_OFFSET        CHUNK_SIZE
//! | records ... | slack for reservations | header            |
//! ```
//!
//! A stub reserves by adding to its position first and looking afterwards, so a position can run past the end: by one
//! record, and by one more for each signal handler that arrives before the chunk is changed. The slack takes these.
//! It is the last page but for the header, so that the check is one test of the position's address bits:
//! chunks are aligned to their size, and a position is past the end where all bits between page and chunk are set.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::RawRecord;

/// Bytes of a chunk, and its alignment. Miri, which takes a microsecond for each, has smaller ones.
pub const CHUNK_SIZE: usize = if cfg!(miri) { 1 << 16 } else { 1 << 18 };
/// Where records end and the slack begins.
pub const RECORDS_END: usize = CHUNK_SIZE - 4096;
/// Where the header lies.
pub const HEADER_OFFSET: usize = CHUNK_SIZE - 1024;
/// How many records fit.
pub const RECORDS_PER_CHUNK: usize = RECORDS_END / RawRecord::SIZE;
/// The address bits that are all set exactly in a chunk's last page.
pub const PAST_END_MASK: u32 = (CHUNK_SIZE as u32 - 1) & !4095;

/// Whether a reserved position lies past the records of its chunk.
pub const fn is_past_end(position: u64) -> bool {
    position as u32 & PAST_END_MASK == PAST_END_MASK
}

/// The most chunks that a session's shared memory can have, those beyond the rings' included: the low half of a record's
/// address has to identify it.
pub const MAX_CHUNKS: usize = 15 << 10;
/// How many chunks a process maps at one time, beyond those that it has from the start.
pub const CHUNKS_MAPPED_AT_ONCE: usize = 64;

/// Where a chunk stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ChunkState {
    /// Zeroed, and nobody's.
    Free = 0,
    /// An agent fills in the header.
    Claimed = 1,
    /// A thread writes records.
    Active = 2,
    /// Complete, and waiting for the drain.
    Full = 3,
    /// The drain empties it.
    Draining = 4,
}

/// The kinds of chunks a thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Lane {
    /// Every event.
    Index = 0,
    /// Registers and stack.
    Detail = 1,
    /// Registers and memory of runtime probes.
    Probe = 2,
}

/// More records than a thread can have begun and not finished, each by a handler that interrupts the one before.
pub(crate) const LONGEST_HOLE: usize = 64;

/// A thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadKey {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
}

/// Who owns a chunk, and where it stands in its thread's row of chunks. Written by the agent before the chunk becomes
/// active, except for the drain's own `drained`.
#[repr(C)]
pub struct ChunkHeader {
    /// The process.
    pub pid: AtomicU32,
    /// The thread.
    pub tid: AtomicU32,
    /// The chunk's ordinal among those of this thread and lane, from 0.
    pub ordinal: AtomicU64,
    /// Low half of the address of the shadow stack of the thread's own stack: records with another one belong to other stacks.
    pub shadow_base_low: AtomicU32,
    /// The same of the tall shadow stack that has taken its place, as soon as there is one; else 0.
    pub tall_shadow_low: AtomicU32,
    /// 1 while the drain reads: the owner then does not take the chunk back.
    pub reader_busy: AtomicU32,
    /// Records of this thread that were given up before this chunk's first one.
    pub lost_before: AtomicU64,
    /// How long the thread waited for this chunk, by the time-stamp counter.
    pub waited_ticks: AtomicU64,
    /// Bytes of records that the drain has taken.
    pub drained: AtomicU64,
    /// Bytes behind which nothing will be written, because its thread goes on elsewhere, + 1; 0 where it may be filled.
    pub cut_at: AtomicU32,
    /// [`Lane`] as a number.
    pub lane: AtomicU32,
    /// 1 where the drain wants what a thread would otherwise overwrite: the detail of a window.
    pub wanted: AtomicU32,
    /// 1 where the thread has handed over a chunk of another lane since the drain last looked.
    pub has_handed_over_others: AtomicU32,
    /// The number of the program that the process runs: another after an exec.
    pub program: AtomicU32,
    /// The thread's FS base: its `pthread_t` in the C libraries.
    pub thread_pointer: AtomicU64,
    /// The process that made this one by a fork, where its first thread knows; 0 for none.
    pub forked_by: AtomicU32,
    /// 1 where only the marks of detail records were zeroed: whoever takes the chunk for another lane zeroes it.
    pub holds_old_detail: AtomicU32,
    /// What the process is about to exit with, with [`IS_EXITING`]; 0 before.
    pub exit_status: AtomicU32,
    /// 1 where the thread is about to end, …
    pub has_thread_result: AtomicU32,
    /// … and with what.
    pub thread_result: AtomicU64,
}

impl ChunkHeader {
    /// The thread whose chunk it is.
    pub fn owner(&self) -> ThreadKey {
        ThreadKey { pid: self.pid.load(Ordering::Relaxed), tid: self.tid.load(Ordering::Relaxed) }
    }
}

/// In [`ChunkHeader::exit_status`]: the process has called `_exit`.
pub const IS_EXITING: u32 = 1 << 31;

const _: () = {
    assert!(HEADER_OFFSET > RECORDS_END + 1024, "room for many nested reservations");
    assert!(HEADER_OFFSET + size_of::<ChunkHeader>() <= CHUNK_SIZE);
    assert!(RECORDS_END.is_multiple_of(4096));
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_page_is_past_the_end() {
        let chunk = 0x7f12_3400_0000_u64;
        assert!(chunk.is_multiple_of(CHUNK_SIZE as u64));
        assert!(!is_past_end(chunk));
        assert!(!is_past_end(chunk + RECORDS_END as u64 - 16));
        assert!(is_past_end(chunk + RECORDS_END as u64));
        assert!(is_past_end(chunk + CHUNK_SIZE as u64 - 16));
        assert!(!is_past_end(chunk + CHUNK_SIZE as u64));
    }
}
