//! A lock among the threads of a process. Signals are blocked while one has it.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::syscall;

/// How often to try before sleeping.
const SPINS: u32 = 200;
const WAIT_STEP: u32 = 100_000;

pub(crate) struct Lock<'a> {
    word: &'a AtomicU32,
}

impl<'a> Lock<'a> {
    pub(crate) fn take(word: &'a AtomicU32) -> Self {
        let mut spins = 0;
        while word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            spins += 1;
            if spins < SPINS {
                core::hint::spin_loop();
            } else {
                syscall::sleep_nanoseconds(WAIT_STEP);
            }
        }
        Self { word }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.word.store(0, Ordering::Release);
    }
}
