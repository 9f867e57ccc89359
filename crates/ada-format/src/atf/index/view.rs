//! Reads an index file from its bytes, without copying them.

use ada_event::{Event, EventSeq};

use super::check::IndexCheck;
use super::header::{IndexFooter, IndexHeader};
use super::shape::IndexShape;
use crate::atf::{AtfError, Damage};

/// Events handed to a check at once: 1 MiB.
const CHECK_STEP: usize = 32 * 1024;

/// The events of one thread.
#[derive(Clone, Debug)]
pub struct IndexView<'a> {
    events: &'a [[u8; Event::SIZE]],
    shape: IndexShape,
}

impl<'a> IndexView<'a> {
    /// Finds the events without reading them: the time does not depend on how many there are.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AtfError> {
        IndexShape::find(bytes).map(|shape| Self::with_shape(bytes, shape))
    }

    /// A view of bytes whose shape is already known.
    pub(crate) fn with_shape(bytes: &'a [u8], shape: IndexShape) -> Self {
        Self { events: bytes[shape.events.clone()].as_chunks().0, shape }
    }

    /// The header; none if the file was cut inside it.
    pub fn header(&self) -> Option<&IndexHeader> {
        self.shape.header.as_ref()
    }

    /// The footer, if the file was finished.
    pub fn footer(&self) -> Option<&IndexFooter> {
        self.shape.footer.as_ref()
    }

    /// What is wrong with the file, as far as can be known without reading the events.
    pub fn damage(&self) -> &[Damage] {
        &self.shape.damage
    }

    /// How many whole events there are.
    pub fn len(&self) -> u64 {
        self.events.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events in the order of the file.
    pub fn events(&self) -> impl ExactSizeIterator<Item = Event> + DoubleEndedIterator + Clone + use<'a> {
        self.events.iter().map(Event::from_le_bytes)
    }

    /// The events' bytes, for those who copy or scan them in bulk.
    pub fn raw_events(&self) -> &'a [[u8; Event::SIZE]] {
        self.events
    }

    /// The event at a position.
    #[inline]
    pub fn event(&self, seq: EventSeq) -> Option<Event> {
        usize::try_from(seq.0).ok().and_then(|at| self.events.get(at)).map(Event::from_le_bytes)
    }

    /// Reads everything once and gives all damage: what [`Self::damage`] has, and wrong checksums, threads and times.
    pub fn verify(&self) -> Vec<Damage> {
        let mut found = self.shape.damage.clone();
        let mut check = IndexCheck::new(&self.shape);
        for step in self.events.chunks(CHECK_STEP) {
            check.feed(step, |damage| found.push(damage));
        }
        check.finish(&self.shape, true, |damage| found.push(damage));
        found
    }
}
