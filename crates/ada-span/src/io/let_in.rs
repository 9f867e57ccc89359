//! Calls of `connect` that had to wait, and those of `accept` that let them in.

use super::finder::{Finder, piece};
use super::streams::{CallPlace, Source};
use super::tables::ObjectIndex;
use crate::io_call_span::IoCallSpan;

impl Finder<'_> {
    /// Notes what a call that takes connections has taken.
    pub(super) fn add_accept(&mut self, listener: Option<ObjectIndex>, place: CallPlace, call: &IoCallSpan) {
        self.listeners.extend(listener);
        let Some((listener, descriptor)) = listener.zip(call.small_result()) else { return };
        let table = &self.tables[place.process];
        let end = table.object(table.place(descriptor, call.end));
        self.queues.take(listener, end, piece(place, call, 0));
    }

    /// Who made room for a connection, where the kernel says that the thread slept: the other end was taken from a queue in the end, and that one was
    /// full. The flag says whether nobody else can have taken one.
    pub(super) fn let_in(&self, object: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> Option<(Source, bool)> {
        if !(self.processes[place.process].has_slept)(call.thread, call.start, call.end) {
            return None;
        }
        let peer = self.object(object).peer?;
        let Some(taken) = self.queues.queue_of(peer) else { return Some((Source::Unexplained, false)) };
        let is_among_us = call.end < self.known_until && self.object(taken.0).is_made_here;
        Some((self.queues.room_for(taken, call), is_among_us))
    }
}
