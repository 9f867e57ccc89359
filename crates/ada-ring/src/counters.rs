//! Exact counts of calls that are not recorded.
//!
//! A counter that all threads share would have to be locked, at some 20 cycles a call, and more where they meet. So each
//! thread has a *block* of counters to itself and adds to it with a plain instruction; the sum over all blocks is the
//! count. A block belongs to a process for as long as it lives: of its threads one uses it at a time, and the next one
//! goes on adding where the last one stopped. The recorder takes what the blocks of ended processes hold, and frees them.
//!
//! Functions get a slot when they are first counted, so that those that are lie close together in a block: the hot ones
//! of a program fit in a few lines of the processor's cache.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::Pool;
use crate::chunk::CHUNK_SIZE;
use crate::pool::CONTROL_BYTES;

/// How many blocks there are. The first is nobody's: threads for which none is left share it, and may lose counts.
pub const BLOCKS: usize = 512;
/// Counters of a block.
pub const SLOTS: usize = 8192;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = SLOTS * size_of::<u64>();
/// Bytes of all.
pub const BYTES: usize = BLOCKS * BLOCK_BYTES;
/// The slot of all functions whose calls nobody wants to know of; slot 0 is none.
pub const UNWANTED: usize = 1;
/// The first slot that is a function's own.
pub const FIRST: usize = 2;

/// What a function's switch holds for its calls to be counted in a slot; 0 is for recording them.
pub const fn switch_word(slot: usize) -> u32 {
    (slot * size_of::<u64>()) as u32
}

impl Pool {
    /// A block's first counter.
    pub fn counters(&self, block: usize) -> *const AtomicU64 {
        assert!(block < BLOCKS);
        let start = CONTROL_BYTES + (self.chunk_count() + 1) * CHUNK_SIZE;
        // SAFETY: `Pool::at` promises that the blocks lie behind the chunks and the dump.
        unsafe { self.base().add(start + block * BLOCK_BYTES).cast_const().cast() }
    }

    /// One counter.
    pub fn counter(&self, block: usize, slot: usize) -> &AtomicU64 {
        assert!(slot < SLOTS);
        // SAFETY: within the block.
        unsafe { &*self.counters(block).add(slot) }
    }

    /// The block with its first counter at an address, if it belongs to a process.
    pub fn block_of(&self, counters: u64, process: u32) -> Option<usize> {
        let block = counters.checked_sub(self.counters(0) as u64)? as usize / BLOCK_BYTES;
        let owner = self.control().counter_owners.get(block)?;
        (block != 0 && owner.load(Ordering::Relaxed) == process).then_some(block)
    }

    /// Claims a block for a thread of a process; block 0 where there is none left.
    pub fn claim_block(&self, process: u32) -> usize {
        let control = self.control();
        let is_taken = |owner: &core::sync::atomic::AtomicU32| {
            owner.compare_exchange(0, process, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        match control.counter_owners.iter().skip(1).position(is_taken) {
            Some(position) => position + 1,
            None => {
                control.counter_sharers.fetch_add(1, Ordering::Relaxed);
                0
            }
        }
    }
}
