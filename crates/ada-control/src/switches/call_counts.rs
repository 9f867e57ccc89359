//! What the threads' counters add up to, by process.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use ada_event::ProcessId;
use ada_process::process_exists;
use ada_ring::counters::FIRST;
use ada_ring::{DropReason, Pool};

/// A count of each process that has one.
pub(super) type ByProcess = BTreeMap<ProcessId, u64>;

/// Sums of counters, those of ended processes included.
#[derive(Default)]
pub(super) struct CallCounts {
    /// Of processes that have ended, by slot.
    ended: BTreeMap<ProcessId, Vec<u64>>,
}

impl CallCounts {
    /// What each slot below `slots` has counted so far, by process. Blocks of ended processes become free.
    pub(super) fn sums(&mut self, pool: &Pool, slots: usize) -> BTreeMap<ProcessId, Vec<u64>> {
        let mut running: BTreeMap<ProcessId, Vec<u64>> = BTreeMap::new();
        for block in 1..pool.most_blocks() {
            let owner = &pool.control().counter_owners[block];
            let process = ProcessId(owner.load(Ordering::Acquire));
            if process == ProcessId(0) {
                continue;
            }
            // Asked before reading: a process that has ended by then has counted all that it ever will.
            let has_ended = !process_exists(process);
            let sums = if has_ended { &mut self.ended } else { &mut running }.entry(process).or_default();
            sums.resize(slots.max(sums.len()), 0);
            for (slot, sum) in sums.iter_mut().enumerate().take(slots).skip(FIRST) {
                let counter = pool.counter(block, slot);
                *sum += if has_ended { counter.swap(0, Ordering::Relaxed) } else { counter.load(Ordering::Relaxed) };
            }
            if has_ended {
                owner.store(0, Ordering::Release);
            }
        }
        for (process, sums) in &self.ended {
            let all = running.entry(*process).or_default();
            all.resize(slots.max(all.len()), 0);
            all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        running
    }
}

/// Whether every call was counted: each thread had counters of its own.
pub(super) fn are_exact(pool: &Pool) -> bool {
    let control = pool.control();
    control.counter_sharers.load(Ordering::Relaxed) == 0
        && control.drops[DropReason::StatesExhausted as usize].load(Ordering::Relaxed) == 0
}

/// One slot of all processes that have counted something there.
pub(super) fn of_slot(sums: &BTreeMap<ProcessId, Vec<u64>>, slot: usize) -> ByProcess {
    let counts = sums.iter().map(|(&process, sums)| (process, sums.get(slot).copied().unwrap_or(0)));
    counts.filter(|(_, count)| *count > 0).collect()
}
