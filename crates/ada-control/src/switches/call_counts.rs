//! What the threads' counters add up to, by process.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use ada_event::ProcessId;
use ada_process::process_exists;
use ada_ring::counters::FIRST;
use ada_ring::{DropReason, Pool};

use crate::install::rings::Rings;

/// A count of each process that has one.
pub(super) type ByProcess = BTreeMap<ProcessId, u64>;

/// What the counters of processes that have ended held. Of these there can be thousands, and each has called little of all
/// that is counted.
#[derive(Default)]
pub(super) struct CallCounts {
    ended: BTreeMap<ProcessId, BTreeMap<usize, u64>>,
    /// The sum of all of them, by slot.
    ended_in_all: Vec<u64>,
}

/// All counters at one moment.
pub(super) struct Sums<'a> {
    /// By slot.
    running: BTreeMap<ProcessId, Vec<u64>>,
    ended: &'a CallCounts,
}

impl CallCounts {
    /// What each slot below `slots` has counted so far. Blocks of ended processes become free.
    pub(super) fn sums(&mut self, rings: &Rings, slots: usize) -> Sums<'_> {
        let mut running: BTreeMap<ProcessId, Vec<u64>> = BTreeMap::new();
        self.ended_in_all.resize(slots.max(self.ended_in_all.len()), 0);
        for (number, pool) in rings.pools().enumerate() {
            let is_believed = |pid: ProcessId| rings.is_word_of(number, pid);
            (1..pool.most_blocks()).for_each(|block| self.add(&pool, block, slots, &mut running, is_believed));
        }
        Sums { running, ended: self }
    }

    /// Adds what a block has counted.
    fn add(
        &mut self,
        pool: &Pool,
        block: usize,
        slots: usize,
        running: &mut BTreeMap<ProcessId, Vec<u64>>,
        is_believed: impl Fn(ProcessId) -> bool,
    ) {
        let owner = &pool.control().counter_owners[block];
        let process = ProcessId(owner.load(Ordering::Acquire));
        if process == ProcessId(0) || !is_believed(process) {
            return;
        }
        // Checked before reading: a process that has ended has counted all its calls.
        if process_exists(process) {
            let sums = running.entry(process).or_insert_with(|| vec![0; slots]);
            for (slot, sum) in sums.iter_mut().enumerate().skip(FIRST) {
                *sum = sum.wrapping_add(pool.counter(block, slot).load(Ordering::Relaxed));
            }
            return;
        }
        let sums = self.ended.entry(process).or_default();
        for slot in FIRST..slots {
            let count = pool.counter(block, slot).swap(0, Ordering::Relaxed);
            if count > 0 {
                // The target counts, and may say anything.
                let sum = sums.entry(slot).or_default();
                *sum = sum.wrapping_add(count);
                self.ended_in_all[slot] = self.ended_in_all[slot].wrapping_add(count);
            }
        }
        owner.store(0, Ordering::Release);
    }
}

impl Sums<'_> {
    /// What a process has counted in a slot.
    pub(super) fn of(&self, process: ProcessId, slot: usize) -> u64 {
        let running = self.running.get(&process).and_then(|sums| sums.get(slot));
        let ended = self.ended.ended.get(&process).and_then(|sums| sums.get(&slot));
        running.copied().unwrap_or(0).wrapping_add(ended.copied().unwrap_or(0))
    }

    /// What each process has counted in a slot, if it has.
    pub(super) fn of_slot(&self, slot: usize) -> ByProcess {
        let processes = self.running.keys().chain(self.ended.ended.keys());
        processes.map(|&process| (process, self.of(process, slot))).filter(|(_, count)| *count > 0).collect()
    }

    /// What all processes have counted in a slot.
    pub(super) fn of_all(&self, slot: usize) -> u64 {
        let counts = self.running.values().map(|sums| sums.get(slot)).chain([self.ended.ended_in_all.get(slot)]);
        counts.flatten().fold(0, |sum: u64, count| sum.wrapping_add(*count))
    }
}

/// Whether every call was counted: each thread had counters of its own.
pub(super) fn are_exact(rings: &Rings) -> bool {
    rings.sum(|pool| pool.control().counter_sharers.load(Ordering::Relaxed)) == 0
        && rings.drops(DropReason::StatesExhausted) == 0
}

#[cfg(test)]
mod tests {
    use ada_process::this_process;
    use ada_ring::{DetailMode, OnFull};

    use super::*;
    use crate::install::shared_memory::SharedMemory;

    /// No process has this id: they have 22 bits.
    const ENDED: ProcessId = ProcessId(1 << 23);

    #[test]
    fn counts_of_ended_processes_stay_and_their_blocks_become_free() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let pool = shared.pool();
        let mut counts = CallCounts::default();
        let (own, other) = (this_process(), FIRST + 1);
        for (process, slot, calls) in [(own, FIRST, 1), (own, FIRST, 2), (ENDED, FIRST, 4), (ENDED, other, 8)] {
            let block = pool.claim_block(process.0).unwrap();
            pool.counter(block, slot).store(calls, Ordering::Relaxed);
        }
        for _ in 0..2 {
            let sums = counts.sums(&shared.rings, FIRST + 2);
            assert_eq!((sums.of(own, FIRST), sums.of(ENDED, FIRST), sums.of(ENDED, other)), (3, 4, 8));
            assert_eq!((sums.of_all(FIRST), sums.of_all(other), sums.of_all(other + 1)), (7, 8, 0));
            assert_eq!(sums.of_slot(other), ByProcess::from([(ENDED, 8)]), "whoever has counted nothing is not named");
        }
        let owners = pool.control().counter_owners.iter().filter(|owner| owner.load(Ordering::Relaxed) != 0).count();
        assert_eq!(owners, 2);
    }

    #[test]
    fn counters_that_a_target_made_up_do_not_overflow() {
        let shared = SharedMemory::new(2, OnFull::Wait, DetailMode::Off).unwrap();
        let pool = shared.pool();
        for process in [this_process(), this_process(), ENDED, ENDED] {
            let block = pool.claim_block(process.0).unwrap();
            pool.counter(block, FIRST).store(u64::MAX, Ordering::Relaxed);
        }
        let mut counts = CallCounts::default();
        let sums = counts.sums(&shared.rings, FIRST + 1);
        // Four times -1.
        assert_eq!((sums.of(this_process(), FIRST), sums.of_all(FIRST)), (u64::MAX - 1, u64::MAX - 3));
    }
}
