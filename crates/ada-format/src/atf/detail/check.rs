//! Checks a detail file's records one by one, so that a large file need not be in memory at once.

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::record::DetailRecord;
use super::shape::DetailShape;
use crate::atf::layout::detail_footer;
use crate::atf::{AtfError, Damage};

/// A check under way.
pub(crate) struct DetailCheck {
    crc: crc32fast::Hasher,
    thread: Option<ThreadId>,
    next: u64,
    times: Option<(TraceNanos, TraceNanos)>,
    /// The smallest and the largest position that a record links to.
    links: Option<(EventSeq, EventSeq)>,
}

impl DetailCheck {
    pub(crate) fn new(shape: &DetailShape) -> Self {
        let thread = shape.header.as_ref().map(|header| header.thread);
        Self { crc: crc32fast::Hasher::new(), thread, next: 0, times: None, links: None }
    }

    /// Checks the record that follows the one of the last call, its payload included.
    pub(crate) fn feed(&mut self, record: &DetailRecord<'_>, mut found: impl FnMut(Damage)) -> Result<(), AtfError> {
        let seq = EventSeq(self.next);
        self.next += 1;
        let (first, last) = self.times.unwrap_or((record.timestamp, record.timestamp));
        self.times = Some((first.min(record.timestamp), last.max(record.timestamp)));
        let link = record.event_seq();
        let (smallest, largest) = self.links.unwrap_or((link, link));
        self.links = Some((smallest.min(link), largest.max(link)));
        if let Some(expected) = self.thread.filter(|&thread| thread != record.thread) {
            found(Damage::WrongThread { seq: Some(seq), found: record.thread, expected });
        }
        record.payload().map(drop)
    }

    /// Takes the section's next bytes into the checksum; pieces may be of any size.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
    }

    /// Has the next record be the one at a position: those before are lost.
    pub(crate) fn go_on_at(&mut self, position: u64) {
        self.next = position;
    }

    /// Compares what was seen with what footer and header say; `has_crc` if the footer has a checksum.
    pub(crate) fn finish(self, shape: &DetailShape, has_crc: bool, mut found: impl FnMut(Damage)) {
        let Some(footer) = &shape.footer else { return };
        let computed = self.crc.finalize();
        if has_crc && computed != footer.crc32 {
            let offset = shape.footer_offset + detail_footer::CRC32 as u64;
            found(Damage::Crc { offset, stored: footer.crc32, computed });
        }
        let stored = (footer.time_start, footer.time_end);
        match self.times {
            Some(actual) if actual != stored => found(Damage::TimeRange { stored, actual }),
            _ => {}
        }
        // A header that was never written again says nothing.
        let Some(header) = shape.header.as_ref().filter(|header| !header.is_placeholder()) else { return };
        let stored = (header.index_seq_start, header.index_seq_end);
        if let Some(actual) = self.links.filter(|actual| *actual != stored) {
            found(Damage::LinkRange { stored, actual });
        }
    }
}
