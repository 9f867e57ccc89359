//! Who counts where: claiming blocks of counters, and finding them.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::Pool;
use crate::chunk::CHUNK_SIZE;
use crate::counters::{BLOCK_BYTES, MAX_BLOCKS, SLOTS};
use crate::pool::CHUNKS_AT;

impl Pool {
    /// How many bytes the blocks lie behind the pool's start: behind all the chunks that there can be.
    pub fn counters_at(&self) -> usize {
        CHUNKS_AT + self.most_chunks() * CHUNK_SIZE
    }

    /// How many blocks there can be.
    pub fn most_blocks(&self) -> usize {
        (self.orders().most_blocks.load(Ordering::Relaxed) as usize).min(MAX_BLOCKS)
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

    /// Claims a block for a thread of a process, if there is a free one. The caller has to see to it that it is mapped, or
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
