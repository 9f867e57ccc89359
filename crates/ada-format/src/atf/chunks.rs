//! A thread's events in pieces; pages of the piece before are released.

use std::iter::FusedIterator;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex};

use ada_event::{Event, EventSeq};

use super::EventVisitor;
use super::map::Mapping;
use super::packed::{EventDecoder, PackedFile};

/// The largest piece: small enough to stay in a processor's cache, large enough for a system call not to matter.
const LARGEST: usize = 1 << 20;
/// The smallest piece: a few pages, for thousands of threads at once.
const SMALLEST: usize = 64 << 10;
/// Bytes that all threads of a merge may have in memory together.
const TOGETHER: usize = 16 << 20;

/// A thread's events in the order of its file, many at a time. Blocks of a packed file that cannot be read are left out.
pub struct EventChunks<'a> {
    source: Source<'a>,
}

enum Source<'a> {
    Raw(RawChunks<'a>),
    Packed(Box<PackedChunks<'a>>),
}

/// Some events that follow each other.
pub struct EventChunk<'a> {
    first: EventSeq,
    events: ChunkEvents<'a>,
}

enum ChunkEvents<'a> {
    Borrowed(&'a [[u8; Event::SIZE]]),
    Decoded(Decoded),
}

/// Events of a block, in memory that is used again.
struct Decoded {
    events: Vec<[u8; Event::SIZE]>,
    spare: Arc<Spare>,
}

/// Memory for the events of a block.
type Spare = Mutex<Vec<Vec<[u8; Event::SIZE]>>>;

impl Drop for Decoded {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(std::mem::take(&mut self.events));
        }
    }
}

impl EventChunk<'_> {
    /// No events.
    pub(crate) fn empty() -> Self {
        Self { first: EventSeq(0), events: ChunkEvents::Borrowed(&[]) }
    }

    /// The position of the first event.
    pub fn first_seq(&self) -> EventSeq {
        self.first
    }
}

impl Deref for EventChunk<'_> {
    type Target = [[u8; Event::SIZE]];

    #[inline]
    fn deref(&self) -> &Self::Target {
        match &self.events {
            ChunkEvents::Borrowed(events) => events,
            ChunkEvents::Decoded(decoded) => &decoded.events,
        }
    }
}

impl<'a> EventChunks<'a> {
    /// Events in plain memory.
    pub fn of(events: &'a [[u8; Event::SIZE]]) -> Self {
        Self { source: Source::Raw(RawChunks { events, next: 0, step: LARGEST / Event::SIZE, file: None }) }
    }

    /// Events of a mapped file, of which `beside` others are read at the same time.
    pub(crate) fn mapped(map: &'a Mapping, events: Range<usize>, beside: usize) -> Self {
        let (step, offset) = (step(beside), events.start);
        let events = map.bytes()[events].as_chunks().0;
        Self { source: Source::Raw(RawChunks { events, next: 0, step, file: Some(MappedFile { map, offset }) }) }
    }

    /// Events of a packed file, of which `beside` others are read at the same time, with the same memory for decoding.
    pub(crate) fn packed(file: &'a PackedFile, beside: usize, scratch: Arc<Scratch>) -> Self {
        let spare = Arc::default();
        let packed = PackedChunks { file, next: (0, 0), step: step(beside), scratch, spare };
        Self { source: Source::Packed(Box::new(packed)) }
    }

    /// Hands all events to a visitor.
    #[inline]
    pub fn visit(self, visitor: &mut impl EventVisitor) {
        for chunk in self {
            visitor.begin(chunk.first_seq(), chunk.len() as u64);
            chunk.iter().for_each(|bytes| visitor.event(Event::from_le_bytes(bytes)));
        }
    }
}

/// Events of a piece, where so many other threads are read at the same time.
fn step(beside: usize) -> usize {
    (TOGETHER / (beside + 1)).clamp(SMALLEST, LARGEST) / Event::SIZE
}

/// Memory for decoding, shared by all threads that are read in turn.
#[derive(Default)]
pub(crate) struct Scratch {
    decoder: Mutex<Option<(EventDecoder, Vec<[u8; Event::SIZE]>)>>,
}

impl<'a> Iterator for EventChunks<'a> {
    type Item = EventChunk<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.source {
            Source::Raw(raw) => raw.next(),
            Source::Packed(packed) => packed.next(),
        }
    }
}

impl FusedIterator for EventChunks<'_> {}

struct RawChunks<'a> {
    events: &'a [[u8; Event::SIZE]],
    next: usize,
    step: usize,
    file: Option<MappedFile<'a>>,
}

/// The mapped file that the events are in.
#[derive(Clone, Copy, Debug)]
struct MappedFile<'a> {
    map: &'a Mapping,
    /// Where in the file the first event is.
    offset: usize,
}

impl<'a> RawChunks<'a> {
    fn next(&mut self) -> Option<EventChunk<'a>> {
        let (first, end) = (self.next, (self.next + self.step).min(self.events.len()));
        if let Some(MappedFile { map, offset }) = self.file {
            let before = first.saturating_sub(self.step);
            map.release(offset + before * Event::SIZE..offset + first * Event::SIZE);
        }
        let events = &self.events[first..end];
        self.next = end;
        let chunk = EventChunk { first: EventSeq(first as u64), events: ChunkEvents::Borrowed(events) };
        (!events.is_empty()).then_some(chunk)
    }
}

struct PackedChunks<'a> {
    file: &'a PackedFile,
    /// The next piece: its block, and where in it.
    next: (usize, usize),
    step: usize,
    scratch: Arc<Scratch>,
    spare: Arc<Spare>,
}

impl<'a> PackedChunks<'a> {
    fn next(&mut self) -> Option<EventChunk<'a>> {
        let PackedFile { map, shape } = self.file;
        let mut scratch = self.scratch.decoder.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (decoder, whole) = scratch.get_or_insert_default();
        while self.next.0 < shape.block_count() {
            let (block, from) = self.next;
            let range = shape.block_range(block);
            let length = (range.end - range.start) as usize;
            let until = length.min(from + self.step);
            self.next = if until == length { (block + 1, 0) } else { (block, until) };
            let mut events = self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
            let is_whole = until - from == length;
            let decoded = if is_whole { &mut events } else { &mut *whole };
            let read = shape.read_events(map.bytes(), block, decoder, decoded);
            map.release(shape.byte_range(block));
            // `Session::verify` reports a block that cannot be read; here its events are missing.
            if read.is_err() {
                self.next = (block + 1, 0);
                continue;
            }
            if !is_whole {
                // A merge of many threads keeps only a part of each block, and decodes the block once for each part.
                events.clear();
                events.extend_from_slice(&whole[from..until]);
            }
            let first = EventSeq(range.start + from as u64);
            let decoded = Decoded { events, spare: self.spare.clone() };
            return Some(EventChunk { first, events: ChunkEvents::Decoded(decoded) });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_whole() {
        let events: Vec<[u8; 32]> = (0..100_000_u32).map(|n| [n as u8; 32]).collect();
        let mut chunks = EventChunks::of(&events);
        let lengths: Vec<_> = chunks.by_ref().map(|chunk| (chunk.first_seq().0, chunk.len())).collect();
        assert_eq!(lengths, [(0, 32768), (32768, 32768), (65536, 32768), (98304, 1696)]);
        assert!(chunks.next().is_none());
        let whole: Vec<[u8; 32]> = EventChunks::of(&events).flat_map(|chunk| chunk.to_vec()).collect();
        assert!(whole == events);
    }
}
