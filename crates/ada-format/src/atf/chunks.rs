//! A thread's events in pieces, with the pages of the piece before given back.

use std::iter::FusedIterator;
use std::ops::Range;

use ada_event::{Event, EventSeq};

use super::map::Mapping;

/// The largest piece: small enough to stay in a processor's cache, large enough for a system call not to matter.
const LARGEST: usize = 1 << 20;
/// The smallest piece: a few pages, for thousands of threads at once.
const SMALLEST: usize = 64 << 10;
/// Bytes that all threads of a merge may have in memory together.
const TOGETHER: usize = 16 << 20;

/// A thread's events in the order of its file, many at a time.
#[derive(Debug)]
pub struct EventChunks<'a> {
    events: &'a [[u8; Event::SIZE]],
    next: usize,
    step: usize,
    source: Option<Source<'a>>,
}

/// The mapped file that the events are in.
#[derive(Clone, Copy, Debug)]
struct Source<'a> {
    map: &'a Mapping,
    /// Where in the file the first event is.
    offset: usize,
}

impl<'a> EventChunks<'a> {
    /// Events in plain memory.
    pub fn of(events: &'a [[u8; Event::SIZE]]) -> Self {
        Self { events, next: 0, step: LARGEST / Event::SIZE, source: None }
    }

    /// Events of a mapped file, of which `beside` others are read at the same time.
    pub(crate) fn mapped(map: &'a Mapping, events: Range<usize>, beside: usize) -> Self {
        let step = (TOGETHER / (beside + 1)).clamp(SMALLEST, LARGEST) / Event::SIZE;
        let offset = events.start;
        Self { events: map.bytes()[events].as_chunks().0, next: 0, step, source: Some(Source { map, offset }) }
    }

    /// The position of the next piece's first event.
    pub fn next_seq(&self) -> EventSeq {
        EventSeq(self.next as u64)
    }

    fn bytes_of(&self, events: Range<usize>) -> Range<usize> {
        let offset = self.source.map_or(0, |source| source.offset);
        offset + events.start * Event::SIZE..offset + events.end * Event::SIZE
    }
}

impl<'a> Iterator for EventChunks<'a> {
    type Item = &'a [[u8; Event::SIZE]];

    fn next(&mut self) -> Option<Self::Item> {
        let end = (self.next + self.step).min(self.events.len());
        if let Some(source) = self.source {
            source.map.release(self.bytes_of(self.next.saturating_sub(self.step)..self.next));
        }
        let chunk = &self.events[self.next..end];
        self.next = end;
        (!chunk.is_empty()).then_some(chunk)
    }
}

impl FusedIterator for EventChunks<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_whole() {
        let events: Vec<[u8; 32]> = (0..100_000_u32).map(|n| [n as u8; 32]).collect();
        let mut chunks = EventChunks::of(&events);
        assert_eq!(chunks.by_ref().map(<[_]>::len).collect::<Vec<_>>(), [32768, 32768, 32768, 1696]);
        assert_eq!((chunks.next(), chunks.next_seq()), (None, EventSeq(100_000)));
        assert!(EventChunks::of(&events).flatten().eq(&events));
    }
}
