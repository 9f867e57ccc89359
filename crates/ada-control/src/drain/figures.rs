//! What the drain can tell of its work.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use ada_event::Event;
use ada_format::atf::{Crash, Drops, Gap, LaneFigures, LatencyFigures, PoolFigures, Window};
use ada_ring::{DropReason, Pool};

use crate::drain::Drain;
use crate::drain::event_tally::SharedTally;
use crate::error::ControlError;
use crate::program_id::ProgramId;

impl Drain {
    /// Records given up, by reason.
    pub(crate) fn drops(&self) -> Vec<(&'static str, u64)> {
        let control = self.pool.control();
        DropReason::ALL
            .iter()
            .map(|&reason| (reason.name(), control.drops[reason as usize].load(Ordering::Relaxed)))
            .chain([("torn", self.torn), ("detail_lost", self.details_lost), ("disk_full", self.unwritten)])
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// The same for manifests: by lane, and how many are missing nobody knows where.
    pub(crate) fn placed(&self, drops: &[(&'static str, u64)]) -> Vec<Drops> {
        let told = |&(reason, count): &(&'static str, u64)| {
            let lane = if reason == "detail_lost" { "detail" } else { "index" };
            let unplaced = Some(self.gaps.unplaced(reason, count)).filter(|_| lane == "index");
            Drops { lane: lane.into(), reason: reason.into(), count, unplaced, ..Drops::default() }
        };
        drops.iter().map(told).collect()
    }

    /// Where a process's threads lost events or waited.
    pub(crate) fn gaps(&self, pid: u32) -> Vec<Gap> {
        self.gaps.of_process(pid)
    }

    /// A process's windows, and how many more there were than are told of.
    pub(crate) fn windows(&self, pid: u32) -> (Vec<Window>, u64) {
        self.windows.of_process(pid)
    }

    /// What went through the lanes, and how full the rings were.
    pub(crate) fn figures(&self) -> (BTreeMap<String, LaneFigures>, PoolFigures) {
        let bytes = Event::SIZE as u64 * self.events;
        let mut index = LaneFigures { written: self.events, bytes, ..self.index.clone() };
        let latency = |share| self.latencies.quantile(share);
        index.latency_ns = Some(LatencyFigures { p50: latency(0.5), p95: latency(0.95), p99: latency(0.99) });
        let lanes = [("index", index), ("detail", self.details.clone()), ("probe", self.probes.clone())];
        let pool = PoolFigures {
            pieces: self.pool.chunk_count() as u64,
            low_water: self.low_water as u64,
            exhausted: self.pool.control().exhausted.load(Ordering::Relaxed),
            waited_ns: self.waited_ns,
            ..PoolFigures::default()
        };
        let used = lanes.into_iter().filter(|(_, lane)| lane.written > 0);
        (used.map(|(name, lane)| (name.to_owned(), lane)).collect(), pool)
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pool
    }

    /// The programs that each process was seen to run.
    pub(crate) fn programs(&self) -> &HashMap<u32, BTreeSet<ProgramId>> {
        &self.programs
    }

    /// The processes that were first heard of since the last question.
    pub(crate) fn newcomers(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.newcomers)
    }

    /// Who forked each process that is a fork.
    pub(crate) fn forks(&self) -> &HashMap<u32, u32> {
        &self.forks
    }

    /// The status that a process called `_exit` with, if it did.
    pub(crate) fn exit_call(&self, pid: u32) -> Option<i32> {
        self.exit_calls.get(&pid).copied()
    }

    /// How many events each function makes: for whoever wants to know while the drain goes on.
    pub(crate) fn tally(&self) -> SharedTally {
        self.tally.clone()
    }

    /// Events written so far.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Why the session is incomplete, if it is.
    pub(crate) fn failure(&self) -> Option<&ControlError> {
        self.failure.as_ref()
    }

    /// The fatal signals that hit a process's threads.
    pub(crate) fn crashes(&self, pid: u32) -> Vec<Crash> {
        let numbers = self.numbers.read().expect("nobody panics with the lock");
        self.crashes.of_process(pid, &self.clock, &numbers)
    }

    /// Crashes of which no record came to be.
    pub(crate) fn untold_crashes(&self) -> u64 {
        let crashes = &self.pool.control().crashes;
        crashes.untold.load(Ordering::Relaxed) + crashes.unfinished() as u64
    }

    /// How long threads have waited for room.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.waited_ns
    }
}
