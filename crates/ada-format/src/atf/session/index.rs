//! A thread's events, whichever form its file has.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use ada_event::{Event, EventSeq, FunctionId, TraceNanos};

use super::block_cache::BlockCache;
use crate::atf::chunks::Scratch;
use crate::atf::index::IndexShape;
use crate::atf::map::Mapping;
use crate::atf::packed::{EventDecoder, PackedFile, PackedShape, compact_reader};
use crate::atf::{AtfError, Damage, EventChunks, EventVisitor, IndexView};

/// Events of one block.
pub(super) type EventBlock = Vec<[u8; Event::SIZE]>;

/// An index file, mapped.
#[derive(Debug)]
pub(super) enum IndexFile {
    Raw { map: Mapping, shape: IndexShape },
    Packed(PackedIndex),
}

/// A packed one.
#[derive(Debug)]
pub(super) struct PackedIndex {
    pub(super) file: Arc<PackedFile>,
    cache: Arc<BlockCache<EventBlock>>,
    number: u64,
}

impl IndexFile {
    pub(super) fn raw(map: Mapping) -> Result<Self, AtfError> {
        let shape = IndexShape::find(map.bytes())?;
        Ok(Self::Raw { map, shape })
    }

    pub(super) fn packed(map: Mapping, cache: Arc<BlockCache<EventBlock>>) -> Result<Self, AtfError> {
        let shape = PackedShape::of_index(map.bytes())?;
        let number = cache.add_file();
        Ok(Self::Packed(PackedIndex { file: Arc::new(PackedFile { map, shape }), cache, number }))
    }

    /// Whether it shows no sign of a write under way.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Self::Raw { .. } => true,
            Self::Packed(packed) => packed.file.shape.is_settled(),
        }
    }

    pub(super) fn map(&self) -> &Mapping {
        match self {
            Self::Raw { map, .. } => map,
            Self::Packed(packed) => &packed.file.map,
        }
    }

    pub(super) fn damage(&self) -> &[Damage] {
        match self {
            Self::Raw { shape, .. } => &shape.damage,
            Self::Packed(packed) => packed.file.shape.damage(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Raw { shape, .. } => (shape.events.len() / Event::SIZE) as u64,
            Self::Packed(packed) => packed.file.shape.len(),
        }
    }

    pub(super) fn chunks(&self, beside: usize, scratch: &Arc<Scratch>) -> EventChunks<'_> {
        match self {
            Self::Raw { map, shape } => EventChunks::mapped(map, shape.events.clone(), beside),
            Self::Packed(packed) => EventChunks::packed(&packed.file, beside, scratch.clone()),
        }
    }

    #[inline]
    pub(super) fn visit(&self, has_processor: bool, visitor: &mut impl EventVisitor) {
        match self {
            Self::Raw { map, shape } => EventChunks::mapped(map, shape.events.clone(), 0).visit(visitor),
            Self::Packed(packed) => compact_reader::visit(&packed.file, has_processor, visitor),
        }
    }

    pub(super) fn view(&self) -> ThreadEvents<'_> {
        let inner = match self {
            Self::Raw { map, shape } => Inner::Raw(IndexView::with_shape(map.bytes(), shape.clone())),
            Self::Packed(packed) => Inner::Packed { packed, recent: RefCell::default() },
        };
        ThreadEvents { inner }
    }
}

impl PackedIndex {
    fn block(&self, block: usize) -> Option<Arc<EventBlock>> {
        let read = || {
            let mut events = Vec::new();
            self.file.shape.read_events(self.file.map.bytes(), block, &mut EventDecoder::default(), &mut events)?;
            Ok::<_, Damage>(events)
        };
        self.cache.get(self.number, block, read).ok()
    }
}

/// The events of a thread, found by position or by time. Each view remembers the block that it was asked for last.
#[derive(Clone, Debug)]
pub struct ThreadEvents<'a> {
    inner: Inner<'a>,
}

#[derive(Clone, Debug)]
enum Inner<'a> {
    Raw(IndexView<'a>),
    Packed { packed: &'a PackedIndex, recent: RefCell<Option<(u64, Arc<EventBlock>)>> },
}

impl<'a> ThreadEvents<'a> {
    /// How many events there are, those that cannot be read included.
    pub fn len(&self) -> u64 {
        match &self.inner {
            Inner::Raw(view) => view.len(),
            Inner::Packed { packed, .. } => packed.file.shape.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is wrong with the file, as far as can be known without reading the events.
    pub fn damage(&self) -> &[Damage] {
        match &self.inner {
            Inner::Raw(view) => view.damage(),
            Inner::Packed { packed, .. } => packed.file.shape.damage(),
        }
    }

    /// The event at a position; none behind the last one, and in a block that cannot be read.
    #[inline]
    pub fn event(&self, seq: EventSeq) -> Option<Event> {
        match &self.inner {
            Inner::Raw(view) => view.event(seq),
            Inner::Packed { packed, recent } => {
                let event_in = |(first, events): &(u64, Arc<EventBlock>)| {
                    events.get(usize::try_from(seq.0.checked_sub(*first)?).ok()?).map(Event::from_le_bytes)
                };
                if let Some(event) = recent.borrow().as_ref().and_then(event_in) {
                    return Some(event);
                }
                let block = packed.file.shape.block_with(seq.0)?;
                let read = (packed.file.shape.block_range(block).start, packed.block(block)?);
                let event = event_in(&read);
                recent.replace(Some(read));
                event
            }
        }
    }

    /// The events in the order of the file.
    pub fn events(&self) -> Events<'a> {
        Events { index: self.clone(), remaining: 0..self.len() }
    }

    /// The position of the first event that is not before a time, in a thread whose clock runs forward. A packed file is
    /// read for that in one block.
    pub fn first_at(&self, time: TraceNanos) -> EventSeq {
        let range = match &self.inner {
            Inner::Raw(view) => 0..view.len(),
            Inner::Packed { packed, .. } => match packed.file.shape.block_not_before(time) {
                block if block == packed.file.shape.block_count() => return EventSeq(self.len()),
                block => packed.file.shape.block_range(block),
            },
        };
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.event(EventSeq(middle)) {
                Some(event) if event.timestamp < time => low = middle + 1,
                _ => high = middle,
            }
        }
        EventSeq(low)
    }

    /// The first position from `from` on that may have an event of one of these functions: where the file says so, blocks
    /// without them are passed over.
    pub fn skip_without(&self, functions: &[FunctionId], from: EventSeq) -> EventSeq {
        let Inner::Packed { packed, .. } = &self.inner else { return from };
        let Some(first) = packed.file.shape.block_with(from.0) else { return from };
        let may_have = |block: &usize| packed.file.shape.may_have(*block, functions);
        match (first..packed.file.shape.block_count()).find(may_have) {
            Some(block) => EventSeq(packed.file.shape.block_range(block).start).max(from),
            None => EventSeq(packed.file.shape.len()),
        }
    }

    /// A number that changes with the events: the file's checksum, and its newest events where it has none yet.
    pub fn fingerprint(&self) -> u64 {
        match &self.inner {
            Inner::Raw(view) => {
                let newest = view.raw_events();
                let newest = newest[newest.len().saturating_sub(64)..].as_flattened();
                let crc = view.footer().map_or(0, |footer| footer.crc32);
                u64::from(crc) << 32 | u64::from(crc32fast::hash(newest))
            }
            Inner::Packed { packed, .. } => packed.file.shape.fingerprint(),
        }
    }
}

/// A thread's events from both ends; those that cannot be read are left out.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    index: ThreadEvents<'a>,
    remaining: Range<u64>,
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let seq = self.remaining.next()?;
            if let Some(event) = self.index.event(EventSeq(seq)) {
                return Some(event);
            }
        }
    }
}

impl DoubleEndedIterator for Events<'_> {
    fn next_back(&mut self) -> Option<Event> {
        loop {
            let seq = self.remaining.next_back()?;
            if let Some(event) = self.index.event(EventSeq(seq)) {
                return Some(event);
            }
        }
    }
}
