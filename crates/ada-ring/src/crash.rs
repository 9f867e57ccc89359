//! Crash records: what a thread writes when a fatal signal hits it. They have fixed slots of their own in the control
//! block, so that no load and no full ring can drop them.
//!
//! ```text
//! Free --handler--> Claimed --handler--> Written --drain--> Free
//! ```

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::arch::CRASH_REGISTERS;

/// How many crashes can wait for the drain at one time. A thread that finds no room waits.
pub const CRASH_SLOTS: usize = 64;
/// How many of the open frames are recorded, newest first.
pub const CRASH_FRAMES: usize = 256;

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const WRITTEN: u32 = 2;

/// One crash. Zeroed memory is a free slot.
#[repr(C)]
pub struct CrashSlot {
    state: AtomicU32,
    /// The process.
    pub pid: AtomicU32,
    /// The thread.
    pub tid: AtomicU32,
    /// The signal.
    pub signal: AtomicI32,
    /// `si_code`: positive where the kernel found the fault, otherwise who sent it.
    pub code: AtomicI32,
    /// How many of `frames` are filled in.
    pub frame_count: AtomicU32,
    /// How many frames were open.
    pub depth: AtomicU64,
    /// The time-stamp counter.
    pub tsc: AtomicU64,
    /// The signal information's word at 16: the address of a fault, or the sender's process in its low half.
    pub address: AtomicU64,
    /// The registers where the signal hit.
    pub registers: [AtomicU64; CRASH_REGISTERS],
    /// Functions of the open frames, by their numbers in the process.
    pub frames: [AtomicU32; CRASH_FRAMES],
}

/// All slots, and how many crashes found none.
#[repr(C)]
pub struct CrashSlots {
    slots: [CrashSlot; CRASH_SLOTS],
    /// Crashes that could not be recorded.
    pub unrecorded: AtomicU64,
}

impl CrashSlots {
    /// Takes a free slot, for its thread alone until it is published.
    pub fn claim(&self) -> Option<&CrashSlot> {
        self.slots
            .iter()
            .find(|slot| slot.state.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok())
    }

    /// Gives each written slot to `take`, and frees it.
    pub fn drain(&self, mut take: impl FnMut(&CrashSlot)) {
        for slot in &self.slots {
            // Acquire pairs with the Release in `publish`.
            if slot.state.load(Ordering::Acquire) == WRITTEN {
                take(slot);
                slot.state.store(FREE, Ordering::Release);
            }
        }
    }

    /// How many threads have begun to write and have not finished.
    pub fn unfinished(&self) -> usize {
        self.slots.iter().filter(|slot| slot.state.load(Ordering::Relaxed) == CLAIMED).count()
    }
}

impl CrashSlot {
    /// Makes a filled slot known to the drain.
    pub fn publish(&self) {
        self.state.store(WRITTEN, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    #[test]
    fn a_slot_is_read_once_and_then_free_again() {
        // SAFETY: all fields are atomics, for which zeroes are valid.
        let slots: Box<CrashSlots> = unsafe { Box::new_zeroed().assume_init() };
        let claimed: std::vec::Vec<&CrashSlot> = core::iter::from_fn(|| slots.claim()).collect();
        assert_eq!(claimed.len(), CRASH_SLOTS);
        claimed[3].pid.store(7, Ordering::Relaxed);
        claimed[3].publish();
        assert_eq!(slots.unfinished(), CRASH_SLOTS - 1);
        let mut seen = std::vec::Vec::new();
        slots.drain(|slot| seen.push(slot.pid.load(Ordering::Relaxed)));
        slots.drain(|_| panic!("it was read already"));
        assert_eq!(seen, [7]);
        assert!(slots.claim().is_some());
        assert!(slots.claim().is_none());
    }
}
