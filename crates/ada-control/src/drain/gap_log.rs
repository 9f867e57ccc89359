//! Where a thread lost events or waited for room, for the manifests.

use std::collections::{HashMap, VecDeque};

use ada_event::{ProcessId, ThreadId, TraceNanos};
use ada_format::atf::Gap;
use ada_process::Clock;
use ada_ring::DropReason;

/// Gaps of a process that are listed; where there are more, the newest.
const MOST: usize = 1 << 16;

/// A wait for a chunk, by the time-stamp counter: how long, and when the first record was written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) ticks: u64,
    pub(crate) until: u64,
}

/// The gaps of all processes.
#[derive(Default)]
pub(crate) struct GapLog {
    processes: HashMap<ProcessId, VecDeque<Gap>>,
    /// Records that were given up for want of chunks, whose position was learnt.
    placed: u64,
    /// How many gaps with losses had to be forgotten.
    forgotten: u64,
}

impl GapLog {
    /// A thread's records before a time are missing.
    pub(crate) fn lost(&mut self, pid: ProcessId, thread: ThreadId, time: TraceNanos, count: u64) {
        self.push(pid, Gap { thread, time_ns: time, lost: count, ..Gap::default() });
    }

    /// The same, for want of a chunk.
    pub(crate) fn lost_without_chunk(&mut self, pid: ProcessId, thread: ThreadId, time: TraceNanos, count: u64) {
        // Counts are the target's word.
        self.placed = self.placed.saturating_add(count);
        self.lost(pid, thread, time, count);
    }

    /// A thread waited. Gives the nanoseconds.
    pub(crate) fn waited(&mut self, pid: ProcessId, thread: ThreadId, clock: &Clock, wait: Wait) -> u64 {
        let time = clock.at(wait.until);
        let waited_ns = time.since(clock.at(wait.until.saturating_sub(wait.ticks)));
        if waited_ns > 0 {
            self.push(pid, Gap { thread, time_ns: time, waited_ns, ..Gap::default() });
        }
        waited_ns
    }

    fn push(&mut self, pid: ProcessId, gap: Gap) {
        let gaps = self.processes.entry(pid).or_default();
        if gaps.len() == MOST
            && let Some(oldest) = gaps.pop_front()
        {
            self.forgotten += u64::from(oldest.lost > 0);
        }
        gaps.push_back(gap);
    }

    /// Lets go of gaps before a time, together with the events around them.
    pub(crate) fn forget_before(&mut self, time: TraceNanos) {
        self.processes.values_mut().for_each(|gaps| gaps.retain(|gap| gap.time_ns >= time));
    }

    /// A process's gaps by thread and time.
    pub(crate) fn of_process(&self, pid: ProcessId) -> Vec<Gap> {
        let mut gaps: Vec<Gap> = self.processes.get(&pid).into_iter().flatten().cloned().collect();
        gaps.sort_by_key(|gap| (gap.thread, gap.time_ns));
        gaps
    }

    /// Of so many events that were dropped for a reason, how many may be missing anywhere.
    pub(crate) fn unplaced(&self, reason: &str, count: u64) -> u64 {
        let exhausted = DropReason::PoolExhausted.name();
        match reason {
            _ if self.forgotten > 0 => count,
            // A thread without a state records nothing, and so has no holes. Registers are not events.
            "states_exhausted" | "forbidden" | "detail_lost" => 0,
            reason if reason == exhausted => count.saturating_sub(self.placed),
            reason if reason == DropReason::RecorderGone.name() => count,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_position_may_be_missing_anywhere() {
        let mut log = GapLog::default();
        log.lost(ProcessId(1), ThreadId(7), TraceNanos(50), 100);
        log.lost_without_chunk(ProcessId(1), ThreadId(7), TraceNanos(20), 16);
        let times: Vec<u64> = log.of_process(ProcessId(1)).iter().map(|gap| gap.time_ns.0).collect();
        assert_eq!(times, [20, 50]);
        assert_eq!((log.unplaced("ring_full", 100), log.unplaced("pool_exhausted", 48)), (0, 32));
        log.forget_before(TraceNanos(30));
        assert_eq!(log.of_process(ProcessId(1)).len(), 1);
        (0..MOST as u64).for_each(|time| log.lost(ProcessId(1), ThreadId(7), TraceNanos(60 + time), 1));
        assert_eq!((log.of_process(ProcessId(1)).len(), log.unplaced("ring_full", 100)), (MOST, 100));
    }
}
