//! Reading a thread's events one by one.

use ada_event::{Event, EventSeq};

/// Receives a thread's events in the order of its file.
pub trait EventVisitor {
    /// Whether it does different things for calls and for returns, so that each gets code of its own. Which comes next is hard
    /// to guess for a processor.
    const HAS_CODE_BY_KIND: bool = true;

    /// The next `count` events are consecutive, from this position on.
    fn begin(&mut self, first: EventSeq, count: u64);

    /// The next event.
    fn event(&mut self, event: Event);

    /// The same, for a call or a return of a function that has a number in a list, its symbol: until the next
    /// [`Self::begin`] the same symbol is the same function, so that it can be looked up once.
    #[inline(always)]
    fn event_of(&mut self, _symbol: u16, event: Event) {
        self.event(event);
    }
}
