//! Events that were missed, by the counter that each stream numbers its events with.
//!
//! The counter wraps, and datagrams arrive late, twice or never, so a step is judged by its distance: up to 2^31
//! forward is a gap, anything else came late. The last 1,024 numbers of each stream are remembered one by one: a late
//! event that is among the missed is missed no more, and one that was seen is a repetition. What comes later still
//! counts as a repetition and stays missed. Events before a stream's first one seen are unknown: the listener may
//! have come in the middle.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{EventCounter, StreamId};

const WINDOW_WORDS: usize = 16;
const WINDOW: u32 = WINDOW_WORDS as u32 * 64;

/// What the counters of one stream show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamCount {
    /// The number of the first event that arrived.
    pub first: EventCounter,
    /// The highest number that arrived, in the order of the counter.
    pub last: EventCounter,
    /// Events that arrived, repetitions included.
    pub received: u64,
    /// Events between `first` and `last` that did not arrive.
    pub missed: u64,
    /// Events that arrived late, after one that follows them.
    pub reordered: u64,
    /// Events that arrived again, or too late to know.
    pub repeated: u64,
}

/// The counters of all streams of a sender. Memory is bounded: what exceeds the allowed streams is counted as
/// untracked.
#[derive(Clone, Debug)]
pub struct EventCounters {
    streams: HashMap<StreamId, Track>,
    max_streams: usize,
    untracked: u64,
}

impl EventCounters {
    /// Counters for up to `max_streams` streams, of less than 256 bytes each.
    pub fn with_max_streams(max_streams: usize) -> Self {
        Self { streams: HashMap::new(), max_streams, untracked: 0 }
    }

    /// Takes note of an event.
    pub fn record(&mut self, stream: StreamId, counter: EventCounter) {
        let room = self.streams.len() < self.max_streams;
        match self.streams.entry(stream) {
            Entry::Occupied(entry) => entry.into_mut().record(counter),
            Entry::Vacant(entry) if room => {
                entry.insert(Track::starting_at(counter));
            }
            Entry::Vacant(_) => self.untracked += 1,
        }
    }

    /// What is known of each stream, in the order of their ids.
    pub fn streams(&self) -> Vec<(StreamId, StreamCount)> {
        let mut streams: Vec<_> = self.streams.iter().map(|(&stream, track)| (stream, track.count)).collect();
        streams.sort_unstable_by_key(|&(stream, _)| stream);
        streams
    }

    /// Events of streams beyond the allowed number.
    pub const fn untracked(&self) -> u64 {
        self.untracked
    }
}

#[derive(Clone, Debug)]
struct Track {
    count: StreamCount,
    /// Bit `n % WINDOW`: whether number `n` of the last `WINDOW` needs nothing more: it arrived, or is older than the
    /// first.
    settled: [u64; WINDOW_WORDS],
}

impl Track {
    const fn starting_at(counter: EventCounter) -> Self {
        let count = StreamCount { first: counter, last: counter, received: 1, missed: 0, reordered: 0, repeated: 0 };
        Self { count, settled: [u64::MAX; WINDOW_WORDS] }
    }

    fn record(&mut self, counter: EventCounter) {
        self.count.received += 1;
        let ahead = counter.0.wrapping_sub(self.count.last.0);
        match ahead {
            0 => self.count.repeated += 1,
            1..0x8000_0000 => self.advance(counter, ahead),
            _ => self.arrived_late(counter, ahead.wrapping_neg()),
        }
    }

    fn advance(&mut self, counter: EventCounter, ahead: u32) {
        self.count.missed += u64::from(ahead - 1);
        for missed in 1..ahead.min(WINDOW + 1) {
            self.set_settled(counter.0.wrapping_sub(missed), false);
        }
        self.set_settled(counter.0, true);
        self.count.last = counter;
    }

    fn arrived_late(&mut self, counter: EventCounter, behind: u32) {
        if behind < WINDOW && !self.is_settled(counter.0) {
            self.set_settled(counter.0, true);
            self.count.missed -= 1;
            self.count.reordered += 1;
        } else {
            self.count.repeated += 1;
        }
    }

    const fn is_settled(&self, number: u32) -> bool {
        let bit = number % WINDOW;
        self.settled[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    const fn set_settled(&mut self, number: u32, settled: bool) {
        let bit = number % WINDOW;
        let (word, mask) = (&mut self.settled[(bit / 64) as usize], 1 << (bit % 64));
        *word = if settled { *word | mask } else { *word & !mask };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(counters: impl IntoIterator<Item = u32>) -> StreamCount {
        let mut all = EventCounters::with_max_streams(1);
        for counter in counters {
            all.record(StreamId(7), EventCounter(counter));
        }
        all.streams()[0].1
    }

    fn summary(counters: impl IntoIterator<Item = u32>) -> (u64, u64, u64) {
        let StreamCount { missed, reordered, repeated, .. } = count(counters);
        (missed, reordered, repeated)
    }

    #[test]
    fn a_gap_is_missed_events() {
        assert_eq!(summary([0, 1, 2, 5, 6]), (2, 0, 0));
        assert_eq!(summary([0, 5000, 10_000]), (9998, 0, 0));
    }

    #[test]
    fn the_counter_wraps() {
        assert_eq!(summary([u32::MAX - 1, u32::MAX, 0, 1]), (0, 0, 0));
        assert_eq!(summary([u32::MAX - 1, 1]), (2, 0, 0));
        let count = count([u32::MAX, 1, 0]);
        assert_eq!((count.first.0, count.last.0, count.missed), (u32::MAX, 1, 0));
    }

    #[test]
    fn a_late_event_is_missed_no_more() {
        assert_eq!(summary([0, 3, 1, 2]), (0, 2, 0));
        assert_eq!(summary([0, 3, 1]), (1, 1, 0));
    }

    #[test]
    fn a_repetition_is_not_billions_missed() {
        assert_eq!(summary([0, 1, 1, 0, 2]), (0, 0, 2));
        assert_eq!(summary([0, 3, 1, 1, 1]), (1, 1, 2));
    }

    #[test]
    fn what_comes_before_the_first_is_not_missed() {
        assert_eq!(summary([10, 9, 8, 11]), (0, 0, 2));
    }

    #[test]
    fn an_event_that_is_too_late_stays_missed() {
        assert_eq!(summary([0, 2, WINDOW, 1]), (u64::from(WINDOW) - 3, 1, 0), "just in the window");
        assert_eq!(summary([0, 2, WINDOW + 1, 1]), (u64::from(WINDOW) - 1, 0, 1), "just out of it");
    }

    #[test]
    fn any_order_of_a_few_events_misses_none() {
        let stride = (0..1000_u32).map(|i| i * 7 % 1000);
        let (missed, reordered, repeated) = summary(stride);
        assert_eq!((missed, repeated), (0, 0));
        assert!(reordered > 0);
    }

    #[test]
    fn streams_beyond_the_bound_are_untracked() {
        let mut all = EventCounters::with_max_streams(2);
        for stream in 0..5 {
            all.record(StreamId(stream), EventCounter(0));
        }
        assert_eq!((all.streams().len(), all.untracked()), (2, 3));
        all.record(StreamId(0), EventCounter(1));
        assert_eq!(all.untracked(), 3);
    }
}
