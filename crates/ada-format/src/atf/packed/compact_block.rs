//! A block's events in eight bytes each, on their way from the decoder to a visitor.
//!
//! Decoder and visitor may run on different processors, and then the memory between them takes the time: with 32 bytes
//! an event, reading them took as long as decoding them.

use std::ops::Range;
use std::slice;

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ThreadId, TraceNanos};

use super::detail_runs::DetailRun;
use super::event_decoder::{BlockSink, EventDecoder};
use super::shape::PackedShape;
use crate::atf::{Damage, EventVisitor};

/// The events of a block. Its memory is used again for the next one.
#[derive(Default)]
pub(crate) struct CompactBlock {
    first: EventSeq,
    thread: ThreadId,
    /// The block's list of functions.
    functions: Vec<FunctionId>,
    words: Vec<Word>,
    /// Events that a word has no room for.
    others: Vec<Event>,
    details: Vec<DetailRun>,
}

/// An event without its link: time since the event before, function by its symbol, depth and kind.
#[derive(Clone, Copy)]
struct Word(u64);

const SYMBOL_SHIFT: u32 = 32;
const DEPTH_SHIFT: u32 = 48;
const DEPTHS: u32 = 1 << 14;
const IS_ENTRY: u64 = 1 << 62;
/// With [`IS_ENTRY`], a tail call.
const IS_RETURN: u64 = 1 << 63;
/// The two bits are this far up, and stand for these.
const KIND_SHIFT: u32 = 62;
const KINDS: [EventKind; 4] = [EventKind::CALL, EventKind::ENTRY, EventKind::RETURN, EventKind::TAIL];
/// Instead of a symbol: the event is one of the others. No list of functions is that long ([`super::model`]).
const OTHER: u16 = u16::MAX;

impl Word {
    #[inline(always)]
    fn symbol(self) -> u16 {
        (self.0 >> SYMBOL_SHIFT) as u16
    }

    #[inline(always)]
    fn depth(self) -> u32 {
        (self.0 >> DEPTH_SHIFT) as u32 % DEPTHS
    }

    #[inline(always)]
    fn since_last(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }
}

impl CompactBlock {
    /// Reads a block. After a failure there are no events.
    pub(crate) fn read(
        &mut self,
        shape: &PackedShape,
        bytes: &[u8],
        block: usize,
        decoder: &mut EventDecoder,
    ) -> Result<(), Damage> {
        let positions = shape.block_range(block);
        self.first = EventSeq(positions.start);
        self.others.clear();
        let read = if shape.has_links(block) {
            let mut events = Vec::new();
            shape.read_events(bytes, block, decoder, &mut events).map(|()| self.take(&events))
        } else {
            self.words.resize(positions.count(), Word(0));
            self.thread = shape.block_thread(block);
            let sink = Filling { others: &mut self.others, thread: self.thread, time: 0 };
            shape.decode(bytes, block, decoder, &mut self.words, sink).map(|details| {
                self.details = details;
                self.functions.clear();
                self.functions.extend(decoder.functions());
            })
        };
        if read.is_err() {
            self.words.clear();
            self.details.clear();
        }
        read
    }

    /// Takes whole events: those of the few blocks with links that were written later.
    fn take(&mut self, events: &[[u8; Event::SIZE]]) {
        self.words.clear();
        self.words.resize(events.len(), Word(u64::from(OTHER) << SYMBOL_SHIFT));
        self.others.extend(events.iter().map(Event::from_le_bytes));
        self.details.clear();
    }

    /// Hands the events to a visitor.
    #[inline]
    pub(crate) fn visit(&self, visitor: &mut impl EventVisitor) {
        visitor.begin(self.first, self.words.len() as u64);
        let mut cursor = Cursor { others: self.others.iter(), time: 0, position: 0 };
        for run in &self.details {
            self.visit_stretch(cursor.position..run.events.start, None, &mut cursor, visitor);
            self.visit_stretch(run.events.clone(), Some(run.first), &mut cursor, visitor);
        }
        self.visit_stretch(cursor.position..self.words.len(), None, &mut cursor, visitor);
    }

    /// Visits events that have no detail, or whose detail records are consecutive.
    fn visit_stretch<V: EventVisitor>(
        &self,
        stretch: Range<usize>,
        first: Option<DetailSeq>,
        cursor: &mut Cursor<'_>,
        visitor: &mut V,
    ) {
        cursor.position = stretch.end;
        let (mut detail, step) = first.map_or((DetailSeq::NONE, 0), |first| (first, 1));
        for &word in &self.words[stretch] {
            let symbol = word.symbol();
            if symbol == OTHER {
                if let Some(&event) = cursor.others.next() {
                    cursor.time = event.timestamp.0;
                    // A detail that was linked later is in the event itself.
                    let detail = if step == 0 { event.detail } else { detail };
                    visitor.event(Event { detail, ..event });
                }
            } else {
                cursor.time += word.since_last();
                let function = self.functions[usize::from(symbol)];
                let (timestamp, thread, depth) = (TraceNanos(cursor.time), self.thread, word.depth());
                let event = Event { timestamp, function, thread, kind: EventKind::CALL, depth, detail };
                if !V::HAS_CODE_BY_KIND {
                    visitor.event_of(symbol, Event { kind: KINDS[(word.0 >> KIND_SHIFT) as usize], ..event });
                } else if word.0 & IS_RETURN != 0 {
                    let kind = if word.0 & IS_ENTRY != 0 { EventKind::TAIL } else { EventKind::RETURN };
                    visitor.event_of(symbol, Event { kind, ..event });
                } else {
                    let kind = if word.0 & IS_ENTRY != 0 { EventKind::ENTRY } else { EventKind::CALL };
                    visitor.event_of(symbol, Event { kind, ..event });
                }
            }
            detail.0 = detail.0.wrapping_add(step);
        }
    }
}

impl PackedShape {
    /// Hands a block's events to a visitor one by one; none of them if the block cannot be read.
    pub fn visit_block(
        &self,
        bytes: &[u8],
        block: usize,
        decoder: &mut EventDecoder,
        visitor: &mut impl EventVisitor,
    ) -> Result<(), Damage> {
        let mut compact = CompactBlock::default();
        compact.read(self, bytes, block, decoder)?;
        compact.visit(visitor);
        Ok(())
    }
}

/// How far a visit has come.
struct Cursor<'a> {
    others: slice::Iter<'a, Event>,
    time: u64,
    position: usize,
}

/// Takes a block's events from the decoder.
struct Filling<'a> {
    others: &'a mut Vec<Event>,
    thread: ThreadId,
    time: u64,
}

impl BlockSink for Filling<'_> {
    type Slot = Word;

    #[inline(always)]
    fn event(&mut self, slot: &mut Word, event: Event) {
        self.time = event.timestamp.0;
        *slot = Word(u64::from(OTHER) << SYMBOL_SHIFT);
        push_other(self.others, event);
    }

    #[inline(always)]
    fn event_of(&mut self, slot: &mut Word, symbol: u16, function: FunctionId, kind: EventKind, depth: u32, time: u64) {
        let since_last = time.wrapping_sub(self.time);
        if since_last > u64::from(u32::MAX) || depth >= DEPTHS {
            let (timestamp, thread, detail) = (TraceNanos(time), self.thread, DetailSeq::NONE);
            return self.event(slot, Event { timestamp, function, thread, kind, depth, detail });
        }
        self.time = time;
        let kind = match kind {
            EventKind::RETURN => IS_RETURN,
            EventKind::ENTRY => IS_ENTRY,
            EventKind::TAIL => IS_RETURN | IS_ENTRY,
            _ => 0,
        };
        *slot = Word(since_last | u64::from(symbol) << SYMBOL_SHIFT | u64::from(depth) << DEPTH_SHIFT | kind);
    }
}

#[cold]
#[inline(never)]
fn push_other(others: &mut Vec<Event>, event: Event) {
    others.push(event);
}
