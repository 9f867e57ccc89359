//! The counts that a listener prints at its end.

use std::fmt;
use std::net::SocketAddr;

use ada_format::heph::{EventCounters, StreamCount, StreamId, Totals};

/// How many streams are listed one by one: those of many short connections must not fill the memory.
const LISTED_STREAMS: usize = 1000;

#[derive(Default)]
pub(super) struct Tally {
    peers: u64,
    turned_away: u64,
    malformed: u64,
    skipped: u64,
    missed: u64,
    /// Datagrams that the system had no room for.
    dropped: u64,
    untracked: u64,
    streams: Vec<(SocketAddr, StreamId, StreamCount)>,
    unlisted_streams: u64,
}

impl Tally {
    /// Takes note of what is not a sound packet.
    pub(super) const fn malformed(&mut self, totals: Totals) {
        self.malformed += totals.malformed;
        self.skipped += totals.skipped;
    }

    /// Takes note of a peer that is done.
    pub(super) fn peer(&mut self, peer: SocketAddr, counters: &EventCounters) {
        self.peers += 1;
        self.untracked += counters.untracked();
        for (stream, count) in counters.streams() {
            self.missed += count.missed;
            if self.streams.len() < LISTED_STREAMS {
                self.streams.push((peer, stream, count));
            } else {
                self.unlisted_streams += 1;
            }
        }
    }

    /// Takes note of events whose counters nobody had room for.
    pub(super) const fn untracked(&mut self, events: u64) {
        self.untracked += events;
    }

    /// Takes note of datagrams that the system has dropped.
    pub(super) const fn dropped(&mut self, datagrams: u64) {
        self.dropped += datagrams;
    }

    /// Whether everything that was sent is there, as far as is known.
    pub(super) const fn is_whole(&self) -> bool {
        self.malformed == 0 && self.missed == 0 && self.dropped == 0 && self.turned_away == 0
    }

    pub(super) const fn turned_away(&mut self) {
        self.turned_away += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "peers {}, turned away {}", self.peers, self.turned_away)?;
        writeln!(f, "malformed {}, skipped {} bytes", self.malformed, self.skipped)?;
        writeln!(f, "missed {} events", self.missed)?;
        if self.dropped > 0 {
            writeln!(f, "the system dropped {} datagrams: they came faster than they could be taken", self.dropped)?;
        }
        for (peer, stream, count) in &self.streams {
            let StreamCount { first, last, received, missed, reordered, repeated } = count;
            writeln!(
                f,
                "  {peer} stream {stream}: {received} received, {missed} missed, {reordered} reordered, \
                 {repeated} repeated, counters {first} to {last}"
            )?;
        }
        if self.unlisted_streams > 0 {
            writeln!(f, "  and {} more streams", self.unlisted_streams)?;
        }
        if self.untracked > 0 {
            writeln!(
                f,
                "{} events of peers or streams beyond the limits were written without tracking",
                self.untracked
            )?;
        }
        Ok(())
    }
}
