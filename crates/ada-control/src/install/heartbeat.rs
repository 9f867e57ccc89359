//! The recorder's heartbeat. Threads of the target go on without a recorder that has stopped beating: they wait for room no
//! longer, and let their calls pass.
//!
//! A thread of its own beats, from before the first hook is written until the last record is read, because the drain may
//! wait long for a disk. What gave up on a busy machine all the same is recorded again from the next beat on; what was
//! dropped is counted, and so are calls that passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ada_ring::DropReason;
use ada_ring::counters::PASSED;

use crate::install::shared_memory::SharedMemory;

const EVERY: Duration = Duration::from_millis(50);

/// Beats until it is dropped.
pub(crate) struct Heartbeat {
    shared: Arc<SharedMemory>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(crate) fn start(shared: Arc<SharedMemory>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let beating = (shared.clone(), is_over.clone());
        let thread = thread::spawn(move || {
            let (shared, is_over) = beating;
            let mut passed = 0;
            while !is_over.load(Ordering::SeqCst) {
                beat(&shared, &is_over, &mut passed);
                thread::park_timeout(EVERY);
            }
        });
        Self { shared, is_over, thread: Some(thread) }
    }

    /// Nothing is read any more.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.shared.pool().control().recorder_gone.store(1, Ordering::SeqCst);
    }
}

/// `passed` is how many calls have passed that are counted already.
fn beat(shared: &SharedMemory, is_over: &AtomicBool, passed: &mut u64) {
    let pool = shared.pool();
    let control = pool.control();
    control.heartbeats.fetch_add(1, Ordering::Relaxed);
    if control.recorder_gone.swap(0, Ordering::SeqCst) == 0 {
        return;
    }
    if is_over.load(Ordering::SeqCst) {
        // `end` has just set it.
        control.recorder_gone.store(1, Ordering::SeqCst);
        return;
    }
    shared.switches.record_what_passes();
    let is_owned = |block: &usize| control.counter_owners[*block].load(Ordering::Acquire) != 0;
    let counted: u64 =
        (1..pool.most_blocks()).filter(is_owned).map(|it| pool.counter(it, PASSED).load(Ordering::Relaxed)).sum();
    control.count_drop(DropReason::RecorderGone, counted.saturating_sub(*passed));
    *passed = counted.max(*passed);
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.end();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use ada_event::{FunctionId, ModuleId};
    use ada_ring::counters::{FIRST, switch_word};
    use ada_ring::{DetailMode, OnFull};

    use super::*;

    #[test]
    fn a_recorder_is_gone_when_it_says_so_and_no_sooner() {
        let shared = Arc::new(SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap());
        let pool = shared.pool();
        let (control, is_over, mut passed) = (pool.control(), AtomicBool::new(false), 0);
        let is_gone = || control.recorder_gone.load(Ordering::SeqCst) != 0;
        control.recorder_gone.store(1, Ordering::SeqCst);
        beat(&shared, &is_over, &mut passed);
        assert!(!is_gone() && control.heartbeats.load(Ordering::SeqCst) == 1, "it lives");
        let heartbeat = Heartbeat::start(shared.clone());
        heartbeat.end();
        is_over.store(true, Ordering::SeqCst);
        beat(&shared, &is_over, &mut passed);
        assert!(is_gone());
        drop(heartbeat);
        assert!(is_gone());
    }

    #[test]
    fn a_recorder_that_was_taken_for_gone_has_calls_recorded_again_and_counts_those_that_passed() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let offset = shared.reserve(4096).unwrap();
        let (module, counted) = (ModuleId(1), switch_word(FIRST));
        shared.add_switches(offset, module, 3).unwrap();
        shared.switches.set(FunctionId::new(module, 1), counted);
        let switches = || [0, 1, 2].map(|index| shared.switches.word(FunctionId::new(module, index)).unwrap());
        for index in [0, 2] {
            shared.switches.set(FunctionId::new(module, index), switch_word(PASSED));
        }
        let pool = shared.pool();
        let (control, is_over, mut passed) = (pool.control(), AtomicBool::new(false), 0);
        let block = pool.claim_block(4711).unwrap();
        let dropped = || control.drops[DropReason::RecorderGone as usize].load(Ordering::SeqCst);
        for (calls, all) in [(5, 5), (2, 7)] {
            pool.counter(block, PASSED).fetch_add(calls, Ordering::SeqCst);
            beat(&shared, &is_over, &mut passed);
            assert_eq!(dropped(), all - calls, "nobody took it for gone");
            control.recorder_gone.store(1, Ordering::SeqCst);
            beat(&shared, &is_over, &mut passed);
            assert_eq!((switches(), dropped()), ([0, counted, 0], all));
        }
    }
}
