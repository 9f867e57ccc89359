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

use ada_process::maps;
use ada_process::procfs::ProcessDir;
use ada_ring::counters::PASSED;
use ada_ring::{DropReason, Pool};

use crate::install::arena_list;
use crate::install::memory_layout::MemoryLayout;
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
        self.shared.rings.pools().for_each(|pool| pool.control().recorder_gone.store(1, Ordering::SeqCst));
    }
}

/// `passed` is how many calls have passed that are counted already.
fn beat(shared: &SharedMemory, is_over: &AtomicBool, passed: &mut u64) {
    shared.pool().orders().heartbeats.fetch_add(1, Ordering::Relaxed);
    let taken_for_gone: Vec<Pool> =
        shared.rings.pools().filter(|pool| pool.control().recorder_gone.swap(0, Ordering::SeqCst) != 0).collect();
    if taken_for_gone.is_empty() {
        return;
    }
    if is_over.load(Ordering::SeqCst) {
        // `end` has just set it.
        taken_for_gone.iter().for_each(|pool| pool.control().recorder_gone.store(1, Ordering::SeqCst));
        return;
    }
    record_what_passes(shared);
    let counted = shared.rings.sum(passed_calls);
    shared.pool().control().count_drop(DropReason::RecorderGone, counted.saturating_sub(*passed));
    *passed = counted.max(*passed);
}

fn passed_calls(pool: Pool) -> u64 {
    let is_owned = |block: &usize| pool.control().counter_owners[*block].load(Ordering::Acquire) != 0;
    let counted = (1..pool.most_blocks()).filter(is_owned).map(|it| pool.counter(it, PASSED).load(Ordering::Relaxed));
    counted.fold(0, u64::saturating_add)
}

/// Has calls recorded again that pass because the recorder was taken for gone.
fn record_what_passes(shared: &SharedMemory) {
    let Ok(memfd) = shared.memfd() else { return };
    for pid in memfd.users() {
        let found = maps::of_process(pid).ok().and_then(|mappings| MemoryLayout::find(&mappings));
        let memory = ProcessDir::of(pid).writable_memory().ok();
        if let (Some((layout, _)), Some(memory)) = (found.filter(|(_, of)| *of == memfd), memory) {
            // Where this fails the process has ended, or lets its calls pass for good.
            arena_list::record_what_passes(&memory, layout);
        }
    }
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
        assert!(!is_gone() && pool.orders().heartbeats.load(Ordering::SeqCst) == 1, "it lives");
        let heartbeat = Heartbeat::start(shared.clone());
        heartbeat.end();
        is_over.store(true, Ordering::SeqCst);
        beat(&shared, &is_over, &mut passed);
        assert!(is_gone());
        drop(heartbeat);
        assert!(is_gone());
    }

    #[test]
    fn calls_that_passed_while_a_recorder_was_taken_for_gone_are_counted_once() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
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
            assert_eq!(dropped(), all);
        }
    }
}
