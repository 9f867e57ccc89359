//! The index file's header and footer, as values.

use ada_event::{Event, ThreadId, TraceNanos};

use crate::atf::layout::preamble as preamble_at;
use crate::atf::layout::{FLAG_HAS_DETAIL, FOOTER_SIZE, HEADER_SIZE, index, index_footer, put, u32_at, u64_at};
use crate::atf::{Arch, AtfError, Clock, Os, Platform, preamble};

/// The first 64 bytes of an index file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexHeader {
    /// Where the trace was recorded.
    pub platform: Platform,
    /// Bit 0: a detail file exists. A header that was never rewritten does not know yet.
    pub flags: u32,
    /// The thread whose events these are.
    pub thread: ThreadId,
    /// How many events there are; the largest number stands for itself and all beyond. 0 until the file is finished.
    pub event_count: u32,
    /// Where the first event begins.
    pub events_offset: u64,
    /// Where the footer begins; 0 until the file is finished.
    pub footer_offset: u64,
    /// The first event's time.
    pub time_start: TraceNanos,
    /// The last event's time.
    pub time_end: TraceNanos,
}

impl IndexHeader {
    /// What a file begins with while it is being written.
    pub(crate) fn placeholder(platform: Platform, thread: ThreadId) -> Self {
        Self {
            platform,
            flags: 0,
            thread,
            event_count: 0,
            events_offset: HEADER_SIZE as u64,
            footer_offset: 0,
            time_start: TraceNanos(0),
            time_end: TraceNanos(0),
        }
    }

    /// Reads a header. Offsets are the caller's to check, who knows the file's length.
    pub fn decode(bytes: &[u8; HEADER_SIZE]) -> Result<Self, AtfError> {
        preamble::check(bytes, index::MAGIC)?;
        let event_size = u32_at(bytes, index::EVENT_SIZE);
        if event_size as usize != Event::SIZE {
            return Err(AtfError::EventSize { offset: index::EVENT_SIZE as u64, found: event_size });
        }
        Ok(Self {
            platform: Platform {
                arch: Arch(bytes[preamble_at::ARCH]),
                os: Os(bytes[preamble_at::OS]),
                clock: Clock(bytes[index::CLOCK]),
            },
            flags: u32_at(bytes, index::FLAGS),
            thread: ThreadId(u32_at(bytes, index::THREAD)),
            event_count: u32_at(bytes, index::EVENT_COUNT),
            events_offset: u64_at(bytes, index::EVENTS_OFFSET),
            footer_offset: u64_at(bytes, index::FOOTER_OFFSET),
            time_start: TraceNanos(u64_at(bytes, index::TIME_START)),
            time_end: TraceNanos(u64_at(bytes, index::TIME_END)),
        })
    }

    /// The header as files store it.
    pub fn encode(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        preamble::write(&mut bytes, index::MAGIC, self.platform.arch, self.platform.os);
        bytes[index::CLOCK] = self.platform.clock.0;
        put(&mut bytes, index::FLAGS, self.flags.to_le_bytes());
        put(&mut bytes, index::THREAD, self.thread.0.to_le_bytes());
        put(&mut bytes, index::EVENT_SIZE, (Event::SIZE as u32).to_le_bytes());
        put(&mut bytes, index::EVENT_COUNT, self.event_count.to_le_bytes());
        put(&mut bytes, index::EVENTS_OFFSET, self.events_offset.to_le_bytes());
        put(&mut bytes, index::FOOTER_OFFSET, self.footer_offset.to_le_bytes());
        put(&mut bytes, index::TIME_START, self.time_start.0.to_le_bytes());
        put(&mut bytes, index::TIME_END, self.time_end.0.to_le_bytes());
        bytes
    }

    /// Whether the header says that a detail file lies beside this file.
    pub fn has_detail(&self) -> bool {
        self.flags & FLAG_HAS_DETAIL != 0
    }

    /// Whether count and offsets describe the same file, as they do once a header was rewritten.
    pub(crate) fn agrees_with_itself(&self) -> bool {
        self.footer_offset
            .checked_sub(self.events_offset)
            .is_some_and(|room| room % Event::SIZE as u64 == 0 && self.counts(room / Event::SIZE as u64))
    }

    /// Whether the stored count stands for `events`.
    pub(crate) fn counts(&self, events: u64) -> bool {
        self.event_count == saturated(events)
    }
}

/// A count as the header's 32 bits can hold it.
pub(crate) fn saturated(events: u64) -> u32 {
    u32::try_from(events).unwrap_or(u32::MAX)
}

/// The last 64 bytes of a finished index file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFooter {
    /// CRC-32 of the events.
    pub crc32: u32,
    /// How many events there are.
    pub event_count: u64,
    /// The first event's time.
    pub time_start: TraceNanos,
    /// The last event's time.
    pub time_end: TraceNanos,
    /// Bytes of events. Writers differ in whether they count the header too, so readers do not rely on it.
    pub bytes_written: u64,
}

impl IndexFooter {
    /// Reads a footer, if these bytes are one.
    pub fn decode(bytes: &[u8; FOOTER_SIZE]) -> Option<Self> {
        bytes.starts_with(&index_footer::MAGIC).then(|| Self {
            crc32: u32_at(bytes, index_footer::CRC32),
            event_count: u64_at(bytes, index_footer::EVENT_COUNT),
            time_start: TraceNanos(u64_at(bytes, index_footer::TIME_START)),
            time_end: TraceNanos(u64_at(bytes, index_footer::TIME_END)),
            bytes_written: u64_at(bytes, index_footer::BYTES_WRITTEN),
        })
    }

    /// The footer as files store it.
    pub fn encode(&self) -> [u8; FOOTER_SIZE] {
        let mut bytes = [0; FOOTER_SIZE];
        put(&mut bytes, 0, index_footer::MAGIC);
        put(&mut bytes, index_footer::CRC32, self.crc32.to_le_bytes());
        put(&mut bytes, index_footer::EVENT_COUNT, self.event_count.to_le_bytes());
        put(&mut bytes, index_footer::TIME_START, self.time_start.0.to_le_bytes());
        put(&mut bytes, index_footer::TIME_END, self.time_end.0.to_le_bytes());
        put(&mut bytes, index_footer::BYTES_WRITTEN, self.bytes_written.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_and_footer_survive_a_round_trip() {
        let mut header = IndexHeader::placeholder(Platform::MACOS_ARM64, ThreadId(7));
        header.event_count = 3;
        header.footer_offset = 160;
        header.flags = 1;
        header.time_end = TraceNanos(9);
        assert_eq!(IndexHeader::decode(&header.encode()), Ok(header.clone()));
        assert!(header.has_detail() && header.agrees_with_itself());
        let footer = IndexFooter {
            crc32: 1,
            event_count: 2,
            time_start: TraceNanos(3),
            time_end: TraceNanos(4),
            bytes_written: 64,
        };
        assert_eq!(IndexFooter::decode(&footer.encode()), Some(footer));
        assert_eq!(IndexFooter::decode(&[0; 64]), None);
    }

    #[test]
    fn a_count_past_32_bits_is_stored_as_the_largest_number() {
        let mut header = IndexHeader::placeholder(Platform::LINUX_X86_64, ThreadId(1));
        header.event_count = saturated(1 << 33);
        header.footer_offset = 64 + (32 << 33);
        assert_eq!(header.event_count, u32::MAX);
        assert!(header.agrees_with_itself());
        header.event_count -= 1;
        assert!(!header.agrees_with_itself());
    }
}
