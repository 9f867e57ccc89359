//! Checks an index file's events piece by piece, so that a large file need not be in memory at once.

use ada_event::{Event, EventSeq, ThreadId, TraceNanos};

use super::shape::IndexShape;
use crate::atf::Damage;
use crate::atf::layout::index_footer;

/// A check under way.
pub(crate) struct IndexCheck {
    crc: crc32fast::Hasher,
    thread: Option<ThreadId>,
    next: u64,
    first: Option<TraceNanos>,
    last: TraceNanos,
}

impl IndexCheck {
    pub(crate) fn new(shape: &IndexShape) -> Self {
        let thread = shape.header.as_ref().map(|header| header.thread);
        Self { crc: crc32fast::Hasher::new(), thread, next: 0, first: None, last: TraceNanos(0) }
    }

    /// Checks the events that follow those of the last call.
    pub(crate) fn feed(&mut self, events: &[[u8; Event::SIZE]], mut found: impl FnMut(Damage)) {
        self.crc.update(events.as_flattened());
        for event in events.iter().map(Event::from_le_bytes) {
            let seq = EventSeq(self.next);
            self.next += 1;
            self.first.get_or_insert(event.timestamp);
            if event.timestamp < self.last {
                found(Damage::TimeBackwards { seq, before: self.last, time: event.timestamp });
            }
            self.last = event.timestamp;
            if let Some(expected) = self.thread.filter(|&thread| thread != event.thread) {
                found(Damage::WrongThread { seq: Some(seq), found: event.thread, expected });
            }
        }
    }

    /// Has the next event be the one at a position: those before are lost.
    pub(crate) fn go_on_at(&mut self, seq: EventSeq) {
        self.next = seq.0;
    }

    /// Compares what was seen with what header and footer say; `has_crc` if the footer has a checksum.
    pub(crate) fn finish(self, shape: &IndexShape, has_crc: bool, mut found: impl FnMut(Damage)) {
        let (Some(header), Some(footer)) = (&shape.header, &shape.footer) else { return };
        let computed = self.crc.finalize();
        if has_crc && computed != footer.crc32 {
            let offset = shape.footer_offset + index_footer::CRC32 as u64;
            found(Damage::Crc { offset, stored: footer.crc32, computed });
        }
        let Some(first) = self.first else { return };
        let actual = (first, self.last);
        let stale = shape.damage.iter().any(|damage| matches!(damage, Damage::StaleHeader { .. }));
        let in_header = (header.time_start, header.time_end);
        let in_footer = (footer.time_start, footer.time_end);
        if let Some(&stored) = [in_footer, in_header].iter().take(if stale { 1 } else { 2 }).find(|&&it| it != actual) {
            found(Damage::TimeRange { stored, actual });
        }
    }
}
