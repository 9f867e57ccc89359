//! Maps more of ada's memory where this process needs more than it has from the start: chunks and blocks of counters, which
//! are there for all processes to map, and regions of thread states of its own.
//!
//! A mapping of shared memory is made longer in place, for which no descriptor is needed. Whoever maps holds a lock of the
//! process. A fork may copy the process while another thread has just mapped and not yet taken note; so a step that fails
//! is taken as made where the memory is there.

use ada_ring::chunk::CHUNK_SIZE;
use ada_ring::counters::{BLOCK_BYTES, BLOCKS_MAPPED_AT_ONCE, FIRST_BLOCKS};
use ada_ring::pool::{CHUNKS_AT, CHUNKS_MAPPED_AT_ONCE};
use ada_ring::state::{MAX_REGIONS, private};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::config::{Item, get};
use crate::memory::{pool, process_block, region_address, regions};
use crate::syscall::{self, raw};

const MMAP: u64 = 9;
const MUNMAP: u64 = 11;
const MREMAP: u64 = 25;
const MADVISE: u64 = 28;
const READ_AND_WRITE: u64 = 1 | 2;
/// Private, anonymous, not reserved, and where it is asked for or nowhere.
const PRIVATE_MEMORY: u64 = 0x2 | 0x20 | 0x4000 | 0x10_0000;
const WIPE_ON_FORK: u64 = 18;
const PAGE: u64 = 4096;
/// How long to wait for a thread that maps already.
const WAIT_STEP: u32 = 100_000;

/// A row of equal pieces in the shared memory, of which the process has mapped the first ones.
struct Row {
    start: u64,
    piece: u64,
    /// How many are mapped from the start, …
    first: usize,
    /// … how many beyond these, …
    further: &'static AtomicU32,
    /// … at how many a time, …
    step: usize,
    /// … and how many there are.
    most: usize,
}

fn chunks() -> Row {
    Row {
        start: get(Item::Pool) + CHUNKS_AT as u64,
        piece: CHUNK_SIZE as u64,
        first: pool().chunk_count(),
        further: &process_block().further_chunks,
        step: CHUNKS_MAPPED_AT_ONCE,
        most: pool().most_chunks(),
    }
}

fn blocks() -> Row {
    Row {
        start: get(Item::Pool) + pool().counters_at() as u64,
        piece: BLOCK_BYTES as u64,
        first: FIRST_BLOCKS.min(pool().most_blocks()),
        further: &process_block().further_blocks,
        step: BLOCKS_MAPPED_AT_ONCE,
        most: pool().most_blocks(),
    }
}

impl Row {
    fn mapped(&self) -> usize {
        self.first + self.further.load(Ordering::Acquire) as usize
    }

    /// Sees to it that a piece is mapped. Called with signals blocked.
    fn map(&self, number: usize) -> bool {
        if number < self.mapped() {
            return true;
        }
        let _lock = Lock::take();
        while number >= self.mapped() && self.mapped() < self.most {
            let mapped = self.mapped();
            let new = self.step.min(self.most - mapped) as u64;
            let end = self.start + mapped as u64 * self.piece;
            // SAFETY: the mapping's last piece becomes longer, where nothing else is.
            let grown = unsafe { raw(MREMAP, [end - self.piece, self.piece, (1 + new) * self.piece, 0, 0, 0]) };
            if grown as u64 != end - self.piece && !syscall::is_readable(end, 1) {
                return false;
            }
            self.further.fetch_add(new as u32, Ordering::Release);
        }
        number < self.mapped()
    }
}

/// How many chunks this process has mapped.
pub(crate) fn mapped_chunks() -> usize {
    chunks().mapped()
}

/// Claims a chunk beyond those that all threads share, and maps it.
pub(crate) fn claim_chunk() -> Option<usize> {
    let pool = pool();
    let chunk = pool.claim_beyond()?;
    if chunks().map(chunk) {
        return Some(chunk);
    }
    pool.change(chunk, ada_ring::ChunkState::Claimed, ada_ring::ChunkState::Free);
    None
}

/// Claims a block of counters for a thread of a process, and maps it; the one that is nobody's where there is none.
pub(crate) fn claim_block(process: u32) -> usize {
    let pool = pool();
    let Some(block) = pool.claim_block(process) else { return pool.share_block() };
    if blocks().map(block) {
        return block;
    }
    pool.give_block_back(block);
    pool.share_block()
}

/// Makes another region of thread states, unless somebody else has since there were `known`. False where there is no room.
pub(crate) fn add_region(known: usize) -> bool {
    let _lock = Lock::take();
    let region = regions();
    if region != known {
        return true;
    }
    if region >= MAX_REGIONS {
        return false;
    }
    let address = region_address(region);
    // SAFETY: new memory, where nothing is. Older kernels take the place for a wish.
    let mapped =
        unsafe { raw(MMAP, [address, private::BYTES as u64, READ_AND_WRITE, PRIVATE_MEMORY, u64::MAX, 0]) } as u64;
    if mapped != address {
        if mapped & (PAGE - 1) == 0 {
            // SAFETY: what was just mapped.
            unsafe { raw(MUNMAP, [mapped, private::BYTES as u64, 0, 0, 0, 0]) };
        }
        if !syscall::is_readable(address, 1) {
            return false;
        }
    }
    // SAFETY: the owner words, which a fork child must not take for its own.
    if unsafe { raw(MADVISE, [address, private::WIPED_BYTES as u64, WIPE_ON_FORK, 0, 0, 0]) } != 0 {
        return false;
    }
    process_block().further_regions.fetch_add(1, Ordering::Release);
    true
}

/// One thread of a process maps at a time.
struct Lock;

impl Lock {
    fn take() -> Self {
        let growing = &process_block().growing;
        while growing.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            syscall::sleep_nanoseconds(WAIT_STEP);
        }
        Self
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        process_block().growing.store(0, Ordering::Release);
    }
}
