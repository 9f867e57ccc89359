//! Functions that were seen to handle signals. What a handler sees is put right at its entry, so that these are recorded whatever it
//! costs: a call that is only counted is no entry.

use core::sync::atomic::{AtomicU32, Ordering};

/// So many are known; no program has more.
const MOST: usize = 256;

/// The numbers of functions, plus one; 0 where there is none yet.
#[repr(C)]
#[derive(Debug)]
pub struct HandlerFunctions {
    numbers: [AtomicU32; MOST],
}

impl HandlerFunctions {
    /// Takes note of a function.
    pub fn add(&self, function: u32) {
        let word = function.wrapping_add(1);
        for number in &self.numbers {
            match number.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed) {
                Err(other) if other != word => {}
                _ => return,
            }
        }
    }

    /// Whether a function is known to be one.
    pub fn has(&self, function: u32) -> bool {
        // They are noted one behind the other.
        let mut known =
            self.numbers.iter().map(|number| number.load(Ordering::Relaxed)).take_while(|number| *number != 0);
        known.any(|number| number == function.wrapping_add(1))
    }

    /// Those that are known.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.numbers.iter().filter_map(|number| number.load(Ordering::Relaxed).checked_sub(1))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    #[test]
    fn each_function_is_noted_once_as_long_as_there_is_room() {
        // SAFETY: zeroes are valid in all fields.
        let functions = unsafe { Box::<HandlerFunctions>::new_zeroed().assume_init() };
        [7, 0, 7, 9].into_iter().for_each(|function| functions.add(function));
        assert_eq!(functions.iter().collect::<Vec<u32>>(), [7, 0, 9]);
        assert_eq!([0, 7, 8, 9].map(|function| functions.has(function)), [true, true, false, true]);
        (0..2 * MOST as u32).for_each(|function| functions.add(function));
        assert_eq!(functions.iter().count(), MOST);
    }
}
