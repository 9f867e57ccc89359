//! Whether the recorder still lives, for those that wait for it.

use ada_ring::Control;
use core::sync::atomic::Ordering;

use crate::syscall;

/// How long one wait lasts, in nanoseconds.
pub(crate) const WAIT_STEP: u32 = 100_000_000;
/// Nanoseconds without a sign of life from the recorder, after which it is given up for all.
const PATIENCE: u64 = 2_000_000_000;

/// What is left of a thread's patience.
pub(crate) struct Patience<'c> {
    control: &'c Control,
    rounds: u64,
    /// When the recorder last gave a sign of life.
    seen: u64,
}

impl<'c> Patience<'c> {
    pub(crate) fn new(control: &'c Control) -> Self {
        Self { control, rounds: control.heartbeats.load(Ordering::Relaxed), seen: syscall::now() }
    }

    /// Whether to wait once more.
    pub(crate) fn is_left(&mut self) -> bool {
        let (rounds, now) = (self.control.heartbeats.load(Ordering::Relaxed), syscall::now());
        if rounds != self.rounds {
            (self.rounds, self.seen) = (rounds, now);
        } else if now - self.seen >= PATIENCE {
            self.control.recorder_gone.store(1, Ordering::Relaxed);
        }
        self.control.recorder_gone.load(Ordering::Relaxed) == 0
    }
}
