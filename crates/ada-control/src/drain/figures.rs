//! What the drain counts of its work.

use std::collections::BTreeMap;

use ada_event::Event;
use ada_format::atf::{LaneFigures, LatencyFigures, PoolFigures};
use ada_ring::DropReason;

use super::latencies::Latencies;
use crate::install::rings::Rings;

/// Counts of a whole recording.
pub(super) struct Figures {
    /// Events written.
    pub(super) events: u64,
    /// Records that were reserved and never written.
    pub(super) torn: u64,
    pub(super) details_lost: u64,
    /// Records that were read and, because a write had failed, not written.
    pub(super) unwritten: u64,
    pub(super) waited_ns: u64,
    pub(super) latencies: Latencies,
    pub(super) index: LaneFigures,
    pub(super) details: LaneFigures,
    pub(super) probes: LaneFigures,
    /// The fewest chunks that were free at the start of a round.
    low_water: usize,
}

impl Figures {
    pub(super) fn new(chunks: usize) -> Self {
        Self {
            events: 0,
            torn: 0,
            details_lost: 0,
            unwritten: 0,
            waited_ns: 0,
            latencies: Latencies::default(),
            index: LaneFigures::default(),
            details: LaneFigures::default(),
            probes: LaneFigures::default(),
            low_water: chunks,
        }
    }

    /// A thread waited for room, for so long by what it says.
    pub(super) fn waited(&mut self, nanoseconds: u64) {
        self.waited_ns = self.waited_ns.saturating_add(nanoseconds);
    }

    /// So many chunks are free at the start of a round.
    pub(super) fn saw_free(&mut self, chunks: usize) {
        self.low_water = self.low_water.min(chunks);
    }

    /// Records given up, by reason.
    pub(super) fn drops(&self, rings: &Rings) -> Vec<(&'static str, u64)> {
        DropReason::ALL
            .iter()
            .map(|&reason| (reason.name(), rings.drops(reason)))
            .chain([("torn", self.torn), ("detail_lost", self.details_lost), ("not_written", self.unwritten)])
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// What went through the lanes that were used.
    pub(super) fn lanes(&self) -> BTreeMap<String, LaneFigures> {
        let bytes = Event::SIZE as u64 * self.events;
        let mut index = LaneFigures { written: self.events, bytes, ..self.index.clone() };
        let latency = |share| self.latencies.quantile(share);
        index.latency_ns = Some(LatencyFigures { p50: latency(0.5), p95: latency(0.95), p99: latency(0.99) });
        let lanes = [("index", index), ("detail", self.details.clone()), ("probe", self.probes.clone())];
        lanes.into_iter().filter(|(_, lane)| lane.written > 0).map(|(name, lane)| (name.to_owned(), lane)).collect()
    }

    /// How full the rings were.
    pub(super) fn pool(&self, rings: &Rings) -> PoolFigures {
        PoolFigures {
            pieces: rings.first().chunk_count() as u64,
            low_water: self.low_water as u64,
            exhausted: rings.exhausted(),
            waited_ns: self.waited_ns,
            ..PoolFigures::default()
        }
    }
}
