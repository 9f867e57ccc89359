//! What the agent takes of the program's time.

use core::sync::atomic::Ordering;

use crate::arch::clock;
use crate::memory::pool;

/// In ticks. Who seems to have taken longer has waited, or was put off its processor.
const LONGEST: u64 = 100_000;

/// Counts a call of the agent's, and the time until it goes.
pub(crate) struct Metered {
    begun: u64,
}

impl Metered {
    pub(crate) fn new() -> Self {
        Self { begun: clock() }
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        let pool = pool();
        let time = &pool.control().agent_time;
        time.calls.fetch_add(1, Ordering::Relaxed);
        time.ticks.fetch_add(clock().wrapping_sub(self.begun).min(LONGEST), Ordering::Relaxed);
    }
}
