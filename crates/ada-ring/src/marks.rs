//! Which functions the triggers of a recording are about, so that a thread can decide by itself which of its detail is
//! worth keeping: it overwrites its oldest long before the drain has seen what it was about.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many functions can be marked; the drain looks at those with higher numbers itself.
pub const MARKED_FUNCTIONS: usize = 1 << 18;
/// A call of the function opens a window.
pub const MARK_CALL: u8 = 1;
/// A call of the function opens a window if it takes long.
pub const MARK_SLOW: u8 = 2;

const BITS: usize = 2;
const PER_WORD: usize = 64 / BITS;

/// The marks, two bits a function. All zero is a valid start.
#[repr(C)]
pub struct Marks {
    /// 1 while any function is marked.
    pub is_on: AtomicU32,
    /// Room.
    pub reserved: u32,
    /// How many events after a trigger are kept …
    pub post_events: AtomicU64,
    /// … and for how many ticks of the time-stamp counter.
    pub post_ticks: AtomicU64,
    /// From how many ticks on a call takes long.
    pub slow_ticks: AtomicU64,
    words: [AtomicU64; MARKED_FUNCTIONS / PER_WORD],
}

impl Marks {
    /// A function's marks.
    pub fn of(&self, function: u32) -> u8 {
        let number = function as usize;
        let Some(word) = self.words.get(number / PER_WORD) else { return 0 };
        (word.load(Ordering::Relaxed) >> (number % PER_WORD * BITS)) as u8 & 3
    }

    /// Marks a function. False where there is no room for it.
    pub fn set(&self, function: u32, marks: u8) -> bool {
        let number = function as usize;
        let Some(word) = self.words.get(number / PER_WORD) else { return false };
        word.fetch_or(u64::from(marks & 3) << (number % PER_WORD * BITS), Ordering::Relaxed);
        true
    }

    /// Takes all marks away.
    pub fn clear(&self) {
        self.is_on.store(0, Ordering::Relaxed);
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    #[test]
    fn each_function_has_its_own_marks() {
        // SAFETY: all fields are atomics or integers, for which zeroes are valid.
        let marks: Box<Marks> = unsafe { Box::new_zeroed().assume_init() };
        assert!(marks.set(31, MARK_SLOW) && marks.set(32, MARK_CALL) && marks.set(33, MARK_CALL | MARK_SLOW));
        assert_eq!([30, 31, 32, 33, 34].map(|function| marks.of(function)), [0, 2, 1, 3, 0]);
        assert!(!marks.set(MARKED_FUNCTIONS as u32, MARK_CALL));
        assert_eq!(marks.of(u32::MAX), 0);
        marks.clear();
        assert_eq!(marks.of(33), 0);
    }
}
