//! Entries of [`ExecCalls`] whose threads were killed before they could ask.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ada_event::ProcessId;
use ada_process::futex;
use ada_process::procfs::ProcessDir;
use ada_ring::ExecStage;
use ada_ring::control::ExecCalls;

/// How long an entry must look abandoned. A thread of another PID namespace looks so too, for as long as it takes to write
/// three words.
const LONG: Duration = Duration::from_secs(1);

/// Which entries looked abandoned when, and whose they were.
#[derive(Default)]
pub(super) struct AbandonedCalls {
    suspects: Vec<(usize, u32, Instant)>,
}

impl AbandonedCalls {
    /// Frees those that have looked so for long.
    pub(super) fn look(&mut self, execs: &ExecCalls, now: Instant) {
        let looks_abandoned = |index: usize| {
            let call = &execs.calls[index];
            let tid = call.tid.load(Ordering::Acquire);
            (tid != 0 && call.is_at(ExecStage::Idle) && !ProcessDir::of(ProcessId(tid)).exists()).then_some(tid)
        };
        self.suspects.retain(|&(index, tid, _)| looks_abandoned(index) == Some(tid));
        for index in 0..execs.calls.len() {
            let Some(tid) = looks_abandoned(index) else { continue };
            match self.suspects.iter().find(|suspect| suspect.0 == index) {
                Some((_, _, since)) if now.duration_since(*since) > LONG => {
                    execs.give_back(&execs.calls[index]);
                    futex::wake(&execs.freed);
                }
                Some(_) => (),
                None => self.suspects.push((index, tid, now)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ada_ring::{DetailMode, OnFull};

    use super::*;
    use crate::install::shared_memory::SharedMemory;

    #[test]
    fn the_entry_of_a_thread_that_is_gone_becomes_free_and_no_other() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let pool = shared.pool();
        let execs = &pool.control().execs;
        let (nobody, other) = (u32::MAX / 2, u32::MAX / 2 + 1);
        let entry = execs.claim(nobody).unwrap();
        execs.claim(std::process::id()).unwrap();
        execs.claim(other).unwrap().stage.store(ExecStage::Go as u32, Ordering::Relaxed);
        let mut abandoned = AbandonedCalls::default();
        let start = Instant::now();
        for (after, is_taken) in [(0, true), (999, true), (1001, false), (9000, false)] {
            abandoned.look(execs, start + Duration::from_millis(after));
            assert_eq!(entry.tid.load(Ordering::Relaxed) == nobody, is_taken, "after {after} ms");
        }
        assert!(execs.of_thread(std::process::id()).is_some() && execs.of_thread(other).is_some());
        // Its next owner has as much time.
        execs.claim(nobody).unwrap();
        abandoned.look(execs, start + Duration::from_millis(9050));
        assert!(execs.of_thread(nobody).is_some());
    }
}
