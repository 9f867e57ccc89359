//! Reading a thread's events one by one, without memory for many of them.

use ada_event::{Event, EventSeq};

use super::chunks::EventChunks;

/// Hears of a thread's events in the order of its file.
pub trait EventVisitor {
    /// So many events follow each other from this position on.
    fn begin(&mut self, first: EventSeq, count: u64);

    /// The next event.
    fn event(&mut self, event: Event);

    /// The same, for a call or a return of a function that has a place in a list: until the next [`Self::begin`] the
    /// same place is the same function, so that it can be looked up once.
    #[inline(always)]
    fn event_of(&mut self, _place: u16, event: Event) {
        self.event(event);
    }
}

impl EventChunks<'_> {
    /// Tells of all events.
    #[inline]
    pub fn visit(self, visitor: &mut impl EventVisitor) {
        for chunk in self {
            visitor.begin(chunk.first_seq(), chunk.len() as u64);
            chunk.iter().for_each(|bytes| visitor.event(Event::from_le_bytes(bytes)));
        }
    }
}
