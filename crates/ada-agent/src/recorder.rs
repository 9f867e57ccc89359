//! Whether the recorder still lives, for those that wait for it.

use ada_ring::Pool;
use core::sync::atomic::Ordering;

use crate::arch::clock;
use crate::memory::process_block;
use crate::{passing, syscall};

/// How long one wait lasts, in nanoseconds.
pub(crate) const WAIT_STEP: u32 = 100_000_000;
/// Nanoseconds without a sign of life from the recorder, after which it is given up for all.
const PATIENCE: u64 = 2_000_000_000;

/// How often to look for a sign of life, in ticks of the clock: a tenth of a second at most. Threads that come and go ask for
/// chunks all the time, and the kernel's clock takes a system call.
const LOOK_EVERY: u64 = 100_000_000;

/// What remains of a thread's patience.
pub(crate) struct Patience {
    pool: Pool,
    rounds: u64,
    /// When the recorder last gave a sign of life.
    seen: u64,
}

impl Patience {
    pub(crate) fn new(pool: Pool) -> Self {
        Self { pool, rounds: pool.orders().heartbeats.load(Ordering::Relaxed), seen: syscall::now() }
    }

    /// Whether to wait once more.
    pub(crate) fn lasts(&mut self) -> bool {
        let (rounds, now) = (self.pool.orders().heartbeats.load(Ordering::Relaxed), syscall::now());
        if rounds != self.rounds {
            (self.rounds, self.seen) = (rounds, now);
        } else if now - self.seen >= PATIENCE {
            self.pool.control().recorder_gone.store(1, Ordering::SeqCst);
        }
        self.pool.control().recorder_gone.load(Ordering::Relaxed) == 0
    }
}

/// Whether the recorder has given no sign of life since one was last looked for, by any thread of this process, and that
/// was long ago. From then on calls pass unrecorded. `pause` gives it the time to give one: both may have been stopped for
/// long. Called with signals blocked.
pub(crate) fn is_gone(pool: Pool, pause: impl FnOnce()) -> bool {
    let is_gone = pool.control().recorder_gone.load(Ordering::Relaxed) != 0 || is_found_gone(pool, pause);
    if is_gone {
        passing::let_calls_pass(pool.control());
    } else {
        passing::record_again();
    }
    is_gone
}

fn is_found_gone(pool: Pool, pause: impl FnOnce()) -> bool {
    let (control, orders) = (pool.control(), pool.orders());
    let (block, ticks) = (process_block(), clock());
    if ticks.wrapping_sub(block.looked_at.load(Ordering::Relaxed)) < LOOK_EVERY {
        return false;
    }
    block.looked_at.store(ticks, Ordering::Relaxed);
    let now = syscall::now();
    let beats = orders.heartbeats.load(Ordering::Relaxed);
    let is_news = block.heartbeats_seen.swap(beats, Ordering::Relaxed) != beats;
    let is_first_look = block.seen_at.load(Ordering::Relaxed) == 0;
    if is_news || is_first_look {
        block.seen_at.store(now, Ordering::Relaxed);
    } else if now.saturating_sub(block.seen_at.load(Ordering::Relaxed)) >= PATIENCE {
        pause();
        if orders.heartbeats.load(Ordering::Relaxed) == beats {
            control.recorder_gone.store(1, Ordering::SeqCst);
        }
    }
    control.recorder_gone.load(Ordering::Relaxed) != 0
}
