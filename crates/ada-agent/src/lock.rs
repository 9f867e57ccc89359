//! A lock among the threads of a process. Signals are blocked while one has it.
//!
//! Whoever has it may be kept from going on all the same: LeakSanitizer stops all threads, by ptrace and from a process with the same
//! memory, and computes meanwhile; a child of vfork may be killed. Nobody waits for these for ever. What the locks are for is
//! bookkeeping, and can be done without.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::syscall;

/// How often to try before sleeping, …
const SPINS: u32 = 200;
/// … and how often to sleep, a fifth of a second in all: a thread that is only preempted is back by then, on a busy machine too.
const SLEEPS: u32 = 1500;
const WAIT_STEP: u32 = 100_000;
/// Beside the thread that has the lock: somebody has waited in vain.
const STANDS_STILL: u32 = 1 << 31;
/// Whoever cannot tell which thread it is.
const SOMEBODY: u32 = STANDS_STILL - 1;

pub(crate) struct Lock<'a> {
    word: &'a AtomicU32,
}

impl<'a> Lock<'a> {
    /// Takes the lock for a thread; `None` where whoever has it stands still. After the first nobody waits for such a one.
    pub(crate) fn take(word: &'a AtomicU32, thread: u32) -> Option<Self> {
        let thread = if (1..SOMEBODY).contains(&thread) { thread } else { SOMEBODY };
        let mut tries = 0;
        loop {
            let Err(found) = word.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed) else {
                return Some(Self { word });
            };
            tries += 1;
            if found & STANDS_STILL != 0 {
                let is_gone = Self::is_gone(found & !STANDS_STILL);
                let takes = || word.compare_exchange(found, thread, Ordering::Acquire, Ordering::Relaxed).is_ok();
                // Not made before it is known: one that is dropped gives the lock back.
                return (is_gone && takes()).then(|| Self { word });
            } else if tries < SPINS {
                core::hint::spin_loop();
            } else if tries < SPINS + SLEEPS {
                syscall::sleep_nanoseconds(WAIT_STEP);
            } else {
                let _ = word.compare_exchange(found, found | STANDS_STILL, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    /// The same for the calling thread, whichever it is.
    pub(crate) fn take_here(word: &'a AtomicU32) -> Option<Self> {
        Self::take(word, syscall::thread())
    }

    /// Whether nobody will give the lock back. A thread that finds itself has had a child of vfork, which went by its state. By that
    /// of another goes also who shares it without anybody's knowledge: so the system is asked.
    fn is_gone(holder: u32) -> bool {
        holder != SOMEBODY && (holder == syscall::thread() || syscall::is_thread_gone(holder))
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.word.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::sync::Barrier;
    use std::time::{Duration, Instant};

    /// No thread has this number.
    const NOBODY: u32 = 0x3fff_fff0;

    #[test]
    fn nobody_waits_twice_for_a_thread_that_stands_still() {
        let word = AtomicU32::new(0);
        let (taken, goes_on) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            let stopped = scope.spawn(|| {
                let _held = Lock::take_here(&word);
                taken.wait();
                goes_on.wait();
            });
            taken.wait();
            let holder = word.load(Ordering::Relaxed);
            // Also for whoever goes by the state of the one that has it.
            assert!(Lock::take(&word, holder).is_none() && Lock::take_here(&word).is_none());
            let start = Instant::now();
            for _ in 0..1000 {
                assert!(Lock::take_here(&word).is_none());
            }
            // Minutes, if each one waited.
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
            goes_on.wait();
            stopped.join().unwrap();
            assert!(Lock::take_here(&word).is_some(), "it has gone on, and given it back");
        });
        assert_eq!(word.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_the_dead_had_is_taken_from_them() {
        for holder in [NOBODY, syscall::thread()] {
            let word = AtomicU32::new(0);
            core::mem::forget(Lock::take(&word, holder));
            assert!(Lock::take_here(&word).is_some(), "{holder}");
            assert_eq!(word.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn what_somebody_has_is_not() {
        let word = AtomicU32::new(0);
        let _held = Lock::take(&word, 0).unwrap();
        assert!(Lock::take(&word, 0).is_none());
    }
}
