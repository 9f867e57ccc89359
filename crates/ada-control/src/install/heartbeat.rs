//! The recorder's heartbeat. Threads of the target that wait for room go on without a recorder that has stopped beating.
//!
//! A thread of its own beats, from before the first hook is written until the last record is read, because the drain may
//! wait long for a disk. Threads that gave up on a busy machine all the same notice the next beat and record again; what
//! they dropped is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ada_ring::Control;

use crate::install::shared_memory::SharedMemory;

const EVERY: Duration = Duration::from_millis(50);

/// Gives it, until this is dropped.
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
            while !is_over.load(Ordering::SeqCst) {
                beat(shared.pool().control(), &is_over);
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

fn beat(control: &Control, is_over: &AtomicBool) {
    control.heartbeats.fetch_add(1, Ordering::Relaxed);
    if control.recorder_gone.swap(0, Ordering::SeqCst) != 0 && is_over.load(Ordering::SeqCst) {
        // It was said just now, and by whom it should be.
        control.recorder_gone.store(1, Ordering::SeqCst);
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
        let (control, is_over) = (pool.control(), AtomicBool::new(false));
        let is_gone = || control.recorder_gone.load(Ordering::SeqCst) != 0;
        control.recorder_gone.store(1, Ordering::SeqCst);
        beat(control, &is_over);
        assert!(!is_gone() && control.heartbeats.load(Ordering::SeqCst) == 1, "it lives");
        let heartbeat = Heartbeat::start(shared.clone());
        heartbeat.end();
        is_over.store(true, Ordering::SeqCst);
        beat(control, &is_over);
        assert!(is_gone());
        drop(heartbeat);
        assert!(is_gone());
    }
}
