//! Merges the events of many threads into one order: time, then thread, then position in the thread's file.
//!
//! Time decides between threads only. Within a thread the file's order stands, even where a damaged file's times run
//! backwards.

use std::hint::select_unpredictable;
use std::iter::FusedIterator;

use ada_event::{Event, EventSeq};

use super::chunks::{EventChunk, EventChunks};

/// One event of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedEvent {
    /// Which of the merged threads, counted in the order in which they were given.
    pub lane: u32,
    /// The event's position in its thread's file.
    pub seq: EventSeq,
    /// The event.
    pub event: Event,
}

/// Events of many threads in one order, found with a tree of losers: one comparison for each doubling of the number
/// of threads, and no allocation after the start.
pub struct Merge<'a> {
    lanes: Vec<Lane<'a>>,
    /// Node `n` has the loser of the match between its children `2n` and `2n + 1`; leaves come after all nodes.
    losers: Vec<Key>,
    winner: Key,
}

impl<'a> Merge<'a> {
    /// Merges threads. Where times are equal, the thread given first comes first.
    pub fn new(threads: impl IntoIterator<Item = EventChunks<'a>>) -> Self {
        let mut lanes: Vec<Lane<'a>> = threads.into_iter().map(Lane::new).collect();
        lanes.resize_with(lanes.len().next_power_of_two(), || Lane::new(EventChunks::of(&[])));
        let width = lanes.len();
        let mut winners = vec![Key::NEVER; width];
        winners.extend(lanes.iter().enumerate().map(|(lane, it)| it.key(lane)));
        let mut losers = vec![Key::NEVER; width];
        for node in (1..width).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], losers[node]) = left.against(right);
        }
        let winner = winners[1];
        Self { lanes, losers, winner }
    }
}

impl Iterator for Merge<'_> {
    type Item = MergedEvent;

    #[inline]
    fn next(&mut self) -> Option<MergedEvent> {
        if self.winner == Key::NEVER {
            return None;
        }
        let at = self.winner.lane as usize;
        let lane = &mut self.lanes[at];
        let merged = MergedEvent { lane: at as u32, seq: lane.seq, event: lane.head };
        lane.advance();
        let mut key = lane.key(at);
        let mut node = (self.losers.len() + at) / 2;
        while node > 0 {
            (key, self.losers[node]) = key.against(self.losers[node]);
            node /= 2;
        }
        self.winner = key;
        Some(merged)
    }
}

impl FusedIterator for Merge<'_> {}

/// What decides a match: time, then lane.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    time: u64,
    lane: u64,
}

impl Key {
    /// A lane without events loses against all, even against an event at the end of time.
    const NEVER: Self = Self { time: u64::MAX, lane: u64::MAX };

    #[inline]
    fn new(event: &Event, lane: usize) -> Self {
        Self { time: event.timestamp.0, lane: lane as u64 }
    }

    /// Winner and loser of a match. Who wins is a coin toss, which a processor predicts wrongly half of the time; so
    /// nothing here jumps. Two 64-bit numbers rather than one of 128 bits: only the former have conditional moves.
    #[inline]
    fn against(self, other: Self) -> (Self, Self) {
        let loses = (other.time < self.time) | ((other.time == self.time) & (other.lane < self.lane));
        let winner = Self {
            time: select_unpredictable(loses, other.time, self.time),
            lane: select_unpredictable(loses, other.lane, self.lane),
        };
        let loser = Self {
            time: select_unpredictable(loses, self.time, other.time),
            lane: select_unpredictable(loses, self.lane, other.lane),
        };
        (winner, loser)
    }
}

/// A thread on its way through the merge.
struct Lane<'a> {
    chunks: EventChunks<'a>,
    chunk: EventChunk<'a>,
    /// The position behind the head in its chunk.
    next: usize,
    head: Event,
    seq: EventSeq,
    done: bool,
}

impl<'a> Lane<'a> {
    fn new(chunks: EventChunks<'a>) -> Self {
        let (chunk, head) = (EventChunk::empty(), Event::default());
        let mut lane = Self { chunks, chunk, next: 0, head, seq: EventSeq(0), done: false };
        lane.refill();
        lane
    }

    #[inline]
    fn advance(&mut self) {
        match self.chunk.get(self.next) {
            Some(bytes) => {
                self.head = Event::from_le_bytes(bytes);
                self.seq.0 += 1;
                self.next += 1;
            }
            None => self.refill(),
        }
    }

    #[cold]
    fn refill(&mut self) {
        // Before the next, so that its memory can be used again.
        self.chunk = EventChunk::empty();
        match self.chunks.next() {
            // No chunk is empty.
            Some(chunk) => {
                self.head = Event::from_le_bytes(&chunk[0]);
                (self.seq, self.next, self.chunk) = (chunk.first_seq(), 1, chunk);
            }
            None => self.done = true,
        }
    }

    #[inline]
    fn key(&self, lane: usize) -> Key {
        if self.done { Key::NEVER } else { Key::new(&self.head, lane) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::TraceNanos;
    use proptest::prelude::*;

    fn thread(times: &[u64]) -> Vec<[u8; 32]> {
        times.iter().map(|&time| Event { timestamp: TraceNanos(time), ..Event::default() }.to_le_bytes()).collect()
    }

    fn merged(threads: &[Vec<[u8; 32]>]) -> Vec<(u64, u32, u64)> {
        let merge = Merge::new(threads.iter().map(|events| EventChunks::of(events)));
        merge.map(|it| (it.event.timestamp.0, it.lane, it.seq.0)).collect()
    }

    #[test]
    fn equal_times_keep_the_order_of_threads_and_files() {
        let threads = [thread(&[5, 5]), thread(&[]), thread(&[4, 5, 6])];
        assert_eq!(merged(&threads), [(4, 2, 0), (5, 0, 0), (5, 0, 1), (5, 2, 1), (6, 2, 2)]);
    }

    #[test]
    fn nothing_and_the_last_nanosecond_are_merged_too() {
        assert_eq!(merged(&[]), []);
        assert_eq!(merged(&[thread(&[]), thread(&[])]), []);
        assert_eq!(merged(&[thread(&[u64::MAX]), thread(&[u64::MAX])]), [(u64::MAX, 0, 0), (u64::MAX, 1, 0)]);
    }

    #[test]
    fn a_clock_that_runs_backwards_does_not_reorder_a_thread() {
        assert_eq!(merged(&[thread(&[9, 1]), thread(&[5])]), [(5, 1, 0), (9, 0, 0), (1, 0, 1)]);
    }

    proptest! {
        #[test]
        fn a_merge_is_a_sort(mut times in prop::collection::vec(prop::collection::vec(0_u64..50, 0..40), 0..11)) {
            times.iter_mut().for_each(|times| times.sort_unstable());
            let threads: Vec<_> = times.iter().map(|times| thread(times)).collect();
            let mut expected: Vec<(u64, u32, u64)> = times.iter().enumerate().flat_map(|(lane, times)| {
                times.iter().enumerate().map(move |(seq, &time)| (time, lane as u32, seq as u64))
            }).collect();
            expected.sort_unstable();
            prop_assert_eq!(merged(&threads), expected);
        }
    }
}
