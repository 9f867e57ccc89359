//! Who made room for a write that had to wait.

use super::finder::Finder;
use super::streams::{CallPlace, Source};
use super::tables::ObjectIndex;
use crate::io_call_span::IoCallSpan;

impl Finder<'_> {
    /// Whether the last write to something before a call found no room there. What had room becomes writable for nobody.
    pub(super) fn was_full(&self, object: ObjectIndex, call: &IoCallSpan) -> bool {
        let stream = self.reader_of(object).and_then(|reader| self.streams.get(&reader));
        let last = stream.and_then(|stream| stream.last_write_before(call.start));
        last.is_some_and(|write| write.bytes == 0)
    }

    /// The read that a write waited for, where the kernel says that the thread slept in it: what only took long has waited for nobody.
    /// The flag says whether nobody else can have read.
    pub(super) fn room_made(&self, object: ObjectIndex, place: CallPlace, call: &IoCallSpan) -> Option<(Source, bool)> {
        let reader = self.reader_of(object)?;
        if !(self.processes[place.process].has_slept)(call.thread, call.start, call.end) {
            return None;
        }
        let Some(stream) = self.streams.get(&reader) else { return Some((Source::Unexplained, false)) };
        let source = match stream.source_of_room(call.start, call.end) {
            // The other end's kernel takes what comes before anybody reads it.
            Source::Call(read) if self.object(object).is_by_network => Source::Perhaps(read),
            source => source,
        };
        Some((source, self.is_among_us(reader, call.end)))
    }
}
