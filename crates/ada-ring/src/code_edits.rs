//! Functions to be left alone while the program runs: their first bytes are put back by the program's own threads.
//!
//! The word that holds a hook's jump is changed by one aligned store of eight bytes, which other threads' processors see
//! whole or not at all. No store from outside has this promise, so the recorder only says what to do, and a thread does
//! it that is in the agent anyway. Only a jump is ever replaced: no thread can be in the middle of one.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many orders a session can have.
pub const MAX_ORDERS: usize = 1024;

/// One word of code to change.
#[repr(C)]
#[derive(Debug)]
pub struct Order {
    /// The number of the program that it is about.
    pub image: AtomicU32,
    /// How many processes have carried it out.
    pub done: AtomicU32,
    /// Where the word is: a multiple of 8.
    pub address: AtomicU64,
    /// What it holds; anything else is left alone.
    pub old: AtomicU64,
    /// What it is to hold.
    pub new: AtomicU64,
    /// The time, in ticks, after which it is not to be carried out: the process may have become another meanwhile.
    pub until: AtomicU64,
}

/// All orders, the oldest first.
#[repr(C)]
pub struct Orders {
    /// How many there are. Written last.
    pub count: AtomicU32,
    /// How often one could not be carried out.
    pub failed: AtomicU32,
    places: [Order; MAX_ORDERS],
}

impl Orders {
    /// Adds an order; called by the recorder alone. Gives its number, or none where there is no room.
    pub fn give(&self, image: u32, address: u64, old: u64, new: u64, until: u64) -> Option<usize> {
        let number = self.count.load(Ordering::Relaxed) as usize;
        let place = self.places.get(number).filter(|_| address.is_multiple_of(8))?;
        place.image.store(image, Ordering::Relaxed);
        place.address.store(address, Ordering::Relaxed);
        place.old.store(old, Ordering::Relaxed);
        place.new.store(new, Ordering::Relaxed);
        place.until.store(until, Ordering::Relaxed);
        // Release pairs with Acquire in `given`.
        self.count.store(number as u32 + 1, Ordering::Release);
        Some(number)
    }

    /// How many orders there are.
    pub fn given(&self) -> usize {
        (self.count.load(Ordering::Acquire) as usize).min(MAX_ORDERS)
    }

    /// An order that was given.
    pub fn get(&self, number: usize) -> Option<&Order> {
        self.places.get(number)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    #[test]
    fn orders_have_numbers_until_there_is_no_room() {
        // SAFETY: zeroes are valid in all fields.
        let orders = unsafe { Box::<Orders>::new_zeroed().assume_init() };
        assert_eq!((orders.given(), orders.give(1, 0x1004, 0, 0, 9)), (0, None), "not aligned");
        for number in 0..MAX_ORDERS {
            assert_eq!(orders.give(1, 8 * number as u64, 2, 3, 9), Some(number));
        }
        assert_eq!((orders.given(), orders.give(1, 8, 2, 3, 9)), (MAX_ORDERS, None));
        assert_eq!(orders.get(7).unwrap().address.load(Ordering::Relaxed), 56);
    }
}
