//! Who has a chunk: the two words on which its thread and the drain agree, without a lock.
//!
//! Written for any kind of word, so that `tests/loom.rs` tries every order in which the two sides can meet.

use core::sync::atomic::{AtomicU32, Ordering, fence};

use crate::ChunkState;

/// A shared word.
pub trait Word {
    /// Its value; what was written before that value was stored is seen.
    fn load(&self) -> u32;

    /// Stores a value, after all that was written before.
    fn store(&self, value: u32);

    /// Stores a value if it has another one now.
    fn replace(&self, old: u32, new: u32) -> bool;

    /// Of two threads that each store to a word, come here, and load the other's word, one at least sees what the other stored.
    fn fence();
}

impl Word for AtomicU32 {
    #[inline]
    fn load(&self) -> u32 {
        Self::load(self, Ordering::Acquire)
    }

    #[inline]
    fn store(&self, value: u32) {
        Self::store(self, value, Ordering::Release);
    }

    #[inline]
    fn replace(&self, old: u32, new: u32) -> bool {
        self.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn fence() {
        fence(Ordering::SeqCst);
    }
}

/// The words of a chunk.
#[derive(Clone, Copy)]
pub struct Handover<'a, W> {
    /// A [`ChunkState`] as a number.
    pub state: &'a W,
    /// 1 while the drain reads.
    pub reader_busy: &'a W,
}

impl<W: Word> Handover<'_, W> {
    /// Moves the chunk from one state to another, if it is still in the first.
    #[inline]
    pub fn change(&self, from: ChunkState, to: ChunkState) -> bool {
        self.state.replace(from as u32, to as u32)
    }

    /// The drain comes to read. False where there is nothing to read: then it is not there.
    pub fn begin_reading(&self) -> bool {
        self.reader_busy.store(1);
        // Pairs with `take_back`: either the thread sees that we are here, or we see that it has the chunk.
        W::fence();
        let state = self.state.load();
        let is_readable = state == ChunkState::Active as u32 || state == ChunkState::Full as u32;
        if !is_readable {
            self.end_reading();
        }
        is_readable
    }

    /// The drain goes.
    pub fn end_reading(&self) {
        self.reader_busy.store(0);
    }

    /// The thread takes a full chunk back, to drop what is in it. False where the drain has it, or is reading: a thread that
    /// looks for the drain has the chunk for a moment, in which the drain cannot keep it.
    pub fn take_back(&self) -> bool {
        if !self.change(ChunkState::Full, ChunkState::Claimed) {
            return false;
        }
        W::fence();
        let is_read = self.reader_busy.load() != 0;
        if is_read {
            self.change(ChunkState::Claimed, ChunkState::Full);
        }
        !is_read
    }
}
