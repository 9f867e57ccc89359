//! Edits of the program's code while it runs: hooks that are removed, by the program's own threads.
//!
//! The word that holds a hook's jump is changed by one store of eight bytes, which other threads' processors see
//! whole or not at all. No store from outside has this promise, so the recorder only lists what to change, and a
//! thread that is in the agent anyway changes it. Only a jump is ever replaced: no thread can be in the middle of one.
//!
//! All processors promise this for aligned words; some for all that lie in one line of their caches.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many edits a session can have.
pub const MAX_EDITS: usize = 4096;

/// The processors' caches have lines of so many bytes; a word that lies in two of them is never changed.
pub const LINE: u64 = 64;

/// One word of code to change.
#[repr(C)]
#[derive(Debug)]
pub struct CodeEdit {
    /// The number of the program that it is about.
    pub program: AtomicU32,
    /// Where the word is, which lies in one line of the caches.
    pub address: AtomicU64,
    /// What it holds; anything else is left alone.
    pub old: AtomicU64,
    /// What it is to hold.
    pub new: AtomicU64,
    /// The time, in ticks, after which it is not to be made: the process may have become another meanwhile.
    pub until: AtomicU64,
}

/// All edits, the oldest first.
#[repr(C)]
pub struct CodeEdits {
    /// How many there are. Written last.
    count: AtomicU32,
    edits: [CodeEdit; MAX_EDITS],
}

/// What became of them: the programs' word.
#[repr(C)]
pub struct EditsMade {
    /// How many processes have made each.
    pub done: [AtomicU32; MAX_EDITS],
    /// How often one could not be made.
    pub failed: AtomicU32,
}

impl CodeEdits {
    /// Adds an edit; called by the recorder alone. Gives its number, or none where there is no room.
    pub fn add(&self, program: u32, address: u64, old: u64, new: u64, until: u64) -> Option<usize> {
        let number = self.count.load(Ordering::Relaxed) as usize;
        let edit = self.edits.get(number).filter(|_| is_in_a_line(address))?;
        edit.program.store(program, Ordering::Relaxed);
        edit.address.store(address, Ordering::Relaxed);
        edit.old.store(old, Ordering::Relaxed);
        edit.new.store(new, Ordering::Relaxed);
        edit.until.store(until, Ordering::Relaxed);
        // Release pairs with Acquire in `added`.
        self.count.store(number as u32 + 1, Ordering::Release);
        Some(number)
    }

    /// How many edits there are.
    pub fn added(&self) -> usize {
        (self.count.load(Ordering::Acquire) as usize).min(MAX_EDITS)
    }

    /// An edit that was added.
    pub fn get(&self, number: usize) -> Option<&CodeEdit> {
        self.edits.get(number)
    }
}

/// Whether the eight bytes at an address lie in one line of the caches.
pub const fn is_in_a_line(address: u64) -> bool {
    address % LINE <= LINE - 8
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    #[test]
    fn edits_have_numbers_until_there_is_no_room() {
        // SAFETY: zeroes are valid in all fields.
        let edits = unsafe { Box::<CodeEdits>::new_zeroed().assume_init() };
        assert_eq!((edits.added(), edits.add(1, 0x1039, 0, 0, 9)), (0, None), "in two lines");
        for number in 0..MAX_EDITS {
            assert_eq!(edits.add(1, 8 * number as u64, 2, 3, 9), Some(number));
        }
        assert_eq!((edits.added(), edits.add(1, 8, 2, 3, 9)), (MAX_EDITS, None));
        assert_eq!(edits.get(7).unwrap().address.load(Ordering::Relaxed), 56);
    }
}
