//! Maps more of ada's memory where this process needs more than it has from the start: chunks and blocks of counters, which
//! are there for all processes to map, and regions of thread states of its own.
//!
//! A mapping of shared memory is made longer in place, for which no descriptor is needed. A thread that maps holds a lock of the
//! process. A fork may copy the process while another thread has mapped memory and not yet noted it; so a step that fails
//! counts as done where the memory is there.

use ada_ring::chunk::{CHUNK_SIZE, CHUNKS_MAPPED_AT_ONCE};
use ada_ring::counters::{BLOCK_BYTES, BLOCKS_MAPPED_AT_ONCE, FIRST_BLOCKS};
use ada_ring::pool::CHUNKS_AT;
use ada_ring::state::{MAX_REGIONS, private};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::arch::number::{MADVISE, MMAP, MREMAP, MUNMAP};
use crate::config::{Item, get};
use crate::lock::Lock;
use crate::memory::{pool, process_block, region_address, regions};
use crate::syscall;

const READ_AND_WRITE: u64 = 1 | 2;
/// Private, anonymous, not reserved, and where it is asked for or nowhere.
const PRIVATE_MEMORY: u64 = 0x2 | 0x20 | 0x4000 | 0x10_0000;
const WIPE_ON_FORK: u64 = 18;
const PAGE: u64 = 4096;

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
    /// The lock of the process.
    growing: &'static AtomicU32,
}

fn chunks() -> Row {
    Row {
        start: get(Item::Pool) + CHUNKS_AT as u64,
        piece: CHUNK_SIZE as u64,
        first: pool().chunk_count(),
        further: &process_block().further_chunks,
        step: CHUNKS_MAPPED_AT_ONCE,
        most: pool().most_chunks(),
        growing: &process_block().growing,
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
        growing: &process_block().growing,
    }
}

impl Row {
    fn mapped(&self) -> usize {
        self.first + self.further.load(Ordering::Acquire) as usize
    }

    /// Maps a piece if it is not mapped yet. Called with signals blocked.
    fn map(&self, number: usize) -> bool {
        if number < self.mapped() {
            return true;
        }
        let Some(_lock) = Lock::take_here(self.growing) else { return false };
        while number >= self.mapped() && self.mapped() < self.most {
            let mapped = self.mapped();
            let new = self.step.min(self.most - mapped) as u64;
            let end = self.start + mapped as u64 * self.piece;
            // SAFETY: the mapping's last piece becomes longer, where nothing else is.
            let grown =
                unsafe { syscall::call(MREMAP, [end - self.piece, self.piece, (1 + new) * self.piece, 0, 0, 0]) };
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
    let Some(_lock) = Lock::take_here(&process_block().growing) else { return false };
    let region = regions();
    if region != known {
        return true;
    }
    if region >= MAX_REGIONS {
        return false;
    }
    let address = region_address(region);
    if !map_private(address, private::BYTES as u64) {
        return false;
    }
    // SAFETY: the owner words, which a fork child must not take for its own.
    if unsafe { syscall::call(MADVISE, [address, private::WIPED_BYTES as u64, WIPE_ON_FORK, 0, 0, 0]) } != 0 {
        return false;
    }
    process_block().further_regions.fetch_add(1, Ordering::Release);
    true
}

/// Maps memory of the process's own, unless it is there.
pub(crate) fn map_private(address: u64, bytes: u64) -> bool {
    // SAFETY: new memory, where nothing is. Older kernels take the address for a hint.
    let mapped = unsafe { syscall::call(MMAP, [address, bytes, READ_AND_WRITE, PRIVATE_MEMORY, u64::MAX, 0]) } as u64;
    if mapped == address {
        return true;
    }
    if mapped & (PAGE - 1) == 0 {
        // SAFETY: what was just mapped.
        unsafe { syscall::call(MUNMAP, [mapped, bytes, 0, 0, 0, 0]) };
    }
    syscall::is_readable(address, 1)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::arch::raw;
    use std::boxed::Box;

    const PIECE: u64 = 4 * PAGE;
    const SHARED: u64 = 1;
    const PRIVATE: u64 = 2;
    const ANONYMOUS: u64 = 0x20;
    const EXACTLY_THERE: u64 = 0x10_0000;
    /// Where nobody else maps anything.
    const FAR_AWAY: u64 = 0x2000_0000_0000;

    /// A row of shared memory with two pieces mapped, and room for more behind them. Each test has its own addresses.
    fn row(most: usize, number: u64) -> Row {
        const MEMFD_CREATE: u64 = 319;
        const FTRUNCATE: u64 = 77;
        let start = FAR_AWAY + number * (1 << 30);
        // SAFETY: memory and a descriptor of the test's own.
        unsafe {
            let file = raw(MEMFD_CREATE, [c"row".as_ptr() as u64, 0, 0, 0, 0, 0]) as u64;
            assert_eq!(raw(FTRUNCATE, [file, most as u64 * PIECE, 0, 0, 0, 0]), 0);
            let mapped = raw(MMAP, [start, 2 * PIECE, READ_AND_WRITE, SHARED | EXACTLY_THERE, file, 0]);
            assert_eq!(mapped as u64, start);
            let [further, growing] = [(); 2].map(|()| &*Box::leak(Box::new(AtomicU32::new(0))));
            Row { start, piece: PIECE, first: 2, further, step: 3, most, growing }
        }
    }

    fn word(row: &Row, piece: u64) -> *mut u64 {
        (row.start + piece * PIECE) as *mut u64
    }

    #[test]
    fn a_row_grows_step_by_step_as_far_as_it_goes() {
        let row = row(9, 0);
        assert!(row.map(1) && row.mapped() == 2);
        assert!(row.map(2) && row.mapped() == 5);
        // SAFETY: mapped just now.
        unsafe { word(&row, 4).write_volatile(7) };
        assert!(row.map(8) && row.mapped() == 9);
        assert!(!row.map(9), "there is no such piece");
        // SAFETY: mapped just now.
        unsafe { assert_eq!((word(&row, 4).read_volatile(), word(&row, 8).read_volatile()), (7, 0)) };
    }

    #[test]
    fn what_was_mapped_and_not_noted_is_found() {
        let row = row(9, 1);
        assert!(row.map(4));
        // As a fork finds it that came in between.
        row.further.store(0, Ordering::Relaxed);
        assert!(row.map(7) && row.mapped() == 8);
        // SAFETY: mapped just now.
        unsafe { word(&row, 7).write_volatile(1) };
    }

    #[test]
    fn a_row_does_not_grow_over_what_others_have() {
        let row = row(9, 2);
        let other = row.start + 4 * PIECE;
        // SAFETY: memory of nobody.
        let mapped = unsafe { raw(MMAP, [other, PAGE, 0, PRIVATE | ANONYMOUS | EXACTLY_THERE, u64::MAX, 0]) };
        assert_eq!(mapped as u64, other);
        assert!(!row.map(2) && row.mapped() == 2);
        assert_eq!(row.growing.load(Ordering::Relaxed), 0);
    }
}
