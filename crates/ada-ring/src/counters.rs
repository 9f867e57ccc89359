//! Exact counts of calls that are not recorded.
//!
//! A counter that all threads share would have to be locked, at some 20 cycles a call, and more where they meet. So each
//! thread has a *block* of counters to itself and adds to it with a plain instruction; the sum over all blocks is the
//! count. A block belongs to a process for as long as it lives: of its threads one uses it at a time, and the next one
//! goes on adding where the last one stopped. The recorder takes what the blocks of ended processes hold, and frees them.
//!
//! Functions get a slot when they are first counted, so that those that are lie close together in a block: the hot ones
//! of a program fit in a few lines of the processor's cache.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::Pool;
use crate::chunk::CHUNK_SIZE;
use crate::pool::CHUNKS_AT;

/// How many blocks there can be. The first is nobody's: threads for which none is left share it, and may lose counts.
pub const MAX_BLOCKS: usize = 8192;
/// How many a process has mapped from the start …
pub const FIRST_BLOCKS: usize = 512;
/// … and maps at one time beyond these, when it needs one.
pub const BLOCKS_MAPPED_AT_ONCE: usize = 256;
/// Counters of a block.
pub const SLOTS: usize = 8192;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = SLOTS * size_of::<u64>();
/// The slot of all functions whose calls nobody wants to know of; slot 0 is none.
pub const UNWANTED: usize = 1;
/// The first slot that is a function's own.
pub const FIRST: usize = 2;

/// What a function's switch holds for its calls to be counted in a slot; 0 is for recording them.
pub const fn switch_word(slot: usize) -> u32 {
    (slot * size_of::<u64>()) as u32
}

impl Pool {
    /// How many bytes the blocks lie behind the pool's start: behind all the chunks that there can be.
    pub fn counters_at(&self) -> usize {
        CHUNKS_AT + self.most_chunks() * CHUNK_SIZE
    }

    /// How many blocks there can be.
    pub fn most_blocks(&self) -> usize {
        (self.control().most_blocks.load(Ordering::Relaxed) as usize).min(MAX_BLOCKS)
    }

    /// A block's first counter.
    pub fn counters(&self, block: usize) -> *const AtomicU64 {
        assert!(block < MAX_BLOCKS);
        // SAFETY: `Pool::at` promises that the blocks that are asked for lie within the mapping.
        unsafe { self.base().add(self.counters_at() + block * BLOCK_BYTES).cast_const().cast() }
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

    /// Claims a block for a thread of a process, if there is one left. The caller has to see to it that it is mapped, or
    /// give it back.
    pub fn claim_block(&self, process: u32) -> Option<usize> {
        let owners = &self.control().counter_owners[..self.most_blocks()];
        let take = |owner: &AtomicU32| {
            owner.load(Ordering::Relaxed) == 0
                && owner.compare_exchange(0, process, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        owners.iter().skip(1).position(take).map(|position| position + 1)
    }

    /// Gives a block back that was claimed and not used.
    pub fn give_block_back(&self, block: usize) {
        self.control().counter_owners[block].store(0, Ordering::Release);
    }

    /// A thread uses the block that is nobody's.
    pub fn share_block(&self) -> usize {
        self.control().counter_sharers.fetch_add(1, Ordering::Relaxed);
        0
    }
}
