//! The detail file's header and footer, as values.

use ada_event::{EventSeq, ThreadId, TraceNanos};

use crate::atf::layout::preamble as preamble_at;
use crate::atf::layout::{FOOTER_SIZE, HEADER_SIZE, RECORD_HEADER_SIZE, detail, detail_footer, put, u32_at, u64_at};
use crate::atf::{Arch, AtfError, Os, preamble};

/// The first 64 bytes of a detail file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailHeader {
    /// The architecture, which decides what payloads hold.
    pub arch: Arch,
    /// The operating system.
    pub os: Os,
    /// No bits are defined.
    pub flags: u32,
    /// The thread whose records these are.
    pub thread: ThreadId,
    /// Where the first record begins.
    pub events_offset: u64,
    /// How many records there are; 0 until the file is finished.
    pub event_count: u64,
    /// Bytes of all records; 0 until the file is finished.
    pub bytes_length: u64,
    /// The smallest position in the index file that a record links to.
    pub index_seq_start: EventSeq,
    /// The largest.
    pub index_seq_end: EventSeq,
}

impl DetailHeader {
    /// What a file begins with while it is being written.
    pub(crate) fn placeholder(arch: Arch, os: Os, thread: ThreadId) -> Self {
        Self {
            arch,
            os,
            flags: 0,
            thread,
            events_offset: HEADER_SIZE as u64,
            event_count: 0,
            bytes_length: 0,
            index_seq_start: EventSeq(0),
            index_seq_end: EventSeq(0),
        }
    }

    /// Reads a header. Offset and length are the caller's to check, who knows the file's length.
    pub fn decode(bytes: &[u8; HEADER_SIZE]) -> Result<Self, AtfError> {
        preamble::check(bytes, detail::MAGIC)?;
        Ok(Self {
            arch: Arch(bytes[preamble_at::ARCH]),
            os: Os(bytes[preamble_at::OS]),
            flags: u32_at(bytes, detail::FLAGS),
            thread: ThreadId(u32_at(bytes, detail::THREAD)),
            events_offset: u64_at(bytes, detail::EVENTS_OFFSET),
            event_count: u64_at(bytes, detail::EVENT_COUNT),
            bytes_length: u64_at(bytes, detail::BYTES_LENGTH),
            index_seq_start: EventSeq(u64_at(bytes, detail::INDEX_SEQ_START)),
            index_seq_end: EventSeq(u64_at(bytes, detail::INDEX_SEQ_END)),
        })
    }

    /// The header as files store it.
    pub fn encode(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        preamble::write(&mut bytes, detail::MAGIC, self.arch, self.os);
        put(&mut bytes, detail::FLAGS, self.flags.to_le_bytes());
        put(&mut bytes, detail::THREAD, self.thread.0.to_le_bytes());
        put(&mut bytes, detail::EVENTS_OFFSET, self.events_offset.to_le_bytes());
        put(&mut bytes, detail::EVENT_COUNT, self.event_count.to_le_bytes());
        put(&mut bytes, detail::BYTES_LENGTH, self.bytes_length.to_le_bytes());
        put(&mut bytes, detail::INDEX_SEQ_START, self.index_seq_start.0.to_le_bytes());
        put(&mut bytes, detail::INDEX_SEQ_END, self.index_seq_end.0.to_le_bytes());
        bytes
    }

    /// Whether the header was not rewritten yet.
    pub(crate) fn is_placeholder(&self) -> bool {
        self.event_count == 0 && self.bytes_length == 0
    }

    /// Where the footer should be, if the header's count and length are possible together.
    pub(crate) fn footer_offset(&self) -> Option<u64> {
        let smallest = self.event_count.checked_mul(RECORD_HEADER_SIZE as u64)?;
        let possible = smallest <= self.bytes_length && (self.event_count == 0) == (self.bytes_length == 0);
        possible.then(|| self.events_offset.checked_add(self.bytes_length)).flatten()
    }
}

/// The last 64 bytes of a finished detail file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailFooter {
    /// CRC-32 of the records.
    pub crc32: u32,
    /// How many records there are.
    pub event_count: u64,
    /// Bytes of all records.
    pub bytes_length: u64,
    /// The first record's time.
    pub time_start: TraceNanos,
    /// The last record's time.
    pub time_end: TraceNanos,
}

impl DetailFooter {
    /// Reads a footer, if these bytes are one.
    pub fn decode(bytes: &[u8; FOOTER_SIZE]) -> Option<Self> {
        bytes.starts_with(&detail_footer::MAGIC).then(|| Self {
            crc32: u32_at(bytes, detail_footer::CRC32),
            event_count: u64_at(bytes, detail_footer::EVENT_COUNT),
            bytes_length: u64_at(bytes, detail_footer::BYTES_LENGTH),
            time_start: TraceNanos(u64_at(bytes, detail_footer::TIME_START)),
            time_end: TraceNanos(u64_at(bytes, detail_footer::TIME_END)),
        })
    }

    /// The footer as files store it.
    pub fn encode(&self) -> [u8; FOOTER_SIZE] {
        let mut bytes = [0; FOOTER_SIZE];
        put(&mut bytes, 0, detail_footer::MAGIC);
        put(&mut bytes, detail_footer::CRC32, self.crc32.to_le_bytes());
        put(&mut bytes, detail_footer::EVENT_COUNT, self.event_count.to_le_bytes());
        put(&mut bytes, detail_footer::BYTES_LENGTH, self.bytes_length.to_le_bytes());
        put(&mut bytes, detail_footer::TIME_START, self.time_start.0.to_le_bytes());
        put(&mut bytes, detail_footer::TIME_END, self.time_end.0.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_and_footer_survive_a_round_trip() {
        let mut header = DetailHeader::placeholder(Arch::ARM64, Os::MACOS, ThreadId(7));
        assert!(header.is_placeholder());
        (header.event_count, header.bytes_length) = (2, 48);
        (header.index_seq_start, header.index_seq_end) = (EventSeq(3), EventSeq(u64::MAX));
        assert_eq!(DetailHeader::decode(&header.encode()), Ok(header.clone()));
        assert_eq!(header.footer_offset(), Some(112));
        let footer = DetailFooter {
            crc32: 1,
            event_count: 2,
            bytes_length: 48,
            time_start: TraceNanos(3),
            time_end: TraceNanos(4),
        };
        assert_eq!(DetailFooter::decode(&footer.encode()), Some(footer));
    }

    #[test]
    fn a_count_that_the_length_cannot_hold_leads_to_no_footer() {
        let mut header = DetailHeader::placeholder(Arch::X86_64, Os::LINUX, ThreadId(7));
        (header.event_count, header.bytes_length) = (3, 71);
        assert_eq!(header.footer_offset(), None);
        (header.event_count, header.bytes_length) = (u64::MAX, u64::MAX);
        assert_eq!(header.footer_offset(), None);
    }
}
