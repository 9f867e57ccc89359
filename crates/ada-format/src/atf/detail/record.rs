//! One record of a detail file, and the hop from one to the next.

use ada_event::{EventSeq, ThreadId, TraceNanos};

use crate::atf::layout::{RECORD_HEADER_SIZE, record, u16_at, u32_at, u64_at};
use crate::atf::payload::Payload;
use crate::atf::{Arch, AtfError, DetailType};

/// One record: its header's fields, and its payload's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetailRecord<'a> {
    /// Call, return or something newer.
    pub kind: DetailType,
    /// No bits are defined.
    pub flags: u16,
    /// The event that this record belongs to, as a position in the index file.
    pub index_seq: u32,
    /// On which thread.
    pub thread: ThreadId,
    /// When.
    pub timestamp: TraceNanos,
    /// The architecture of the file.
    pub arch: Arch,
    /// Where the record begins in its file.
    pub offset: u64,
    /// The bytes after the record's header.
    pub bytes: &'a [u8],
}

impl<'a> DetailRecord<'a> {
    /// The event that this record belongs to.
    pub fn event_seq(&self) -> EventSeq {
        EventSeq(self.index_seq.into())
    }

    /// What the payload says. Each call reads it anew.
    pub fn payload(&self) -> Result<Payload<'a>, AtfError> {
        Payload::decode(self.arch, self.kind, self.bytes, self.offset + RECORD_HEADER_SIZE as u64)
    }
}

/// What stands at an offset of the section.
pub(crate) enum Hop<'a> {
    /// A whole record, and where the next one begins.
    Whole(DetailRecord<'a>, usize),
    /// The section's end, exactly.
    End,
    /// A record that does not fit between here and the end.
    Cut { length: Option<u32> },
    /// A record that is shorter than its own header.
    TooShort { length: u32 },
}

/// Reads the record at `at` of a file whose section ends at `end`.
#[inline]
pub(crate) fn hop(bytes: &[u8], at: usize, end: usize, arch: Arch) -> Hop<'_> {
    let rest = &bytes[at..end];
    if rest.is_empty() {
        return Hop::End;
    }
    if rest.len() < 4 {
        return Hop::Cut { length: None };
    }
    let length = u32_at(rest, record::TOTAL_LENGTH);
    if (length as usize) < RECORD_HEADER_SIZE {
        return Hop::TooShort { length };
    }
    if length as usize > rest.len() {
        return Hop::Cut { length: Some(length) };
    }
    let found = DetailRecord {
        kind: DetailType(u16_at(rest, record::EVENT_TYPE)),
        flags: u16_at(rest, record::FLAGS),
        index_seq: u32_at(rest, record::INDEX_SEQ),
        thread: ThreadId(u32_at(rest, record::THREAD)),
        timestamp: TraceNanos(u64_at(rest, record::TIMESTAMP)),
        arch,
        offset: at as u64,
        bytes: &rest[RECORD_HEADER_SIZE..length as usize],
    };
    Hop::Whole(found, at + length as usize)
}

/// A record's header as files store it.
pub(crate) fn encode_header(
    total_length: u32,
    kind: DetailType,
    index_seq: u32,
    thread: ThreadId,
    timestamp: TraceNanos,
) -> [u8; RECORD_HEADER_SIZE] {
    let mut bytes = [0; RECORD_HEADER_SIZE];
    let words = header_words(total_length, kind, index_seq, thread, timestamp).map(u64::to_le_bytes);
    bytes.copy_from_slice(words.as_flattened());
    bytes
}

/// The same as numbers, which stay in registers.
#[inline]
pub(crate) fn header_words(
    total_length: u32,
    kind: DetailType,
    index_seq: u32,
    thread: ThreadId,
    timestamp: TraceNanos,
) -> [u64; RECORD_HEADER_SIZE / 8] {
    const { assert!(record::EVENT_TYPE == 4 && record::INDEX_SEQ == 8 && record::THREAD == 12) };
    [u64::from(total_length) | u64::from(kind.0) << 32, u64::from(index_seq) | u64::from(thread.0) << 32, timestamp.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_end_exactly_or_say_why_not() {
        let mut bytes = encode_header(26, DetailType::CALL, 1, ThreadId(2), TraceNanos(3)).to_vec();
        bytes.extend([8, 9]);
        let Hop::Whole(record, 26) = hop(&bytes, 0, 26, Arch::X86_64) else { panic!("a whole record") };
        assert_eq!((record.kind, record.index_seq, record.bytes), (DetailType::CALL, 1, &[8, 9][..]));
        assert_eq!((record.thread, record.timestamp), (ThreadId(2), TraceNanos(3)));
        assert!(matches!(hop(&bytes, 26, 26, Arch::X86_64), Hop::End));
        assert!(matches!(hop(&bytes, 0, 25, Arch::X86_64), Hop::Cut { length: Some(26) }));
        assert!(matches!(hop(&bytes, 0, 3, Arch::X86_64), Hop::Cut { length: None }));
        assert!(matches!(hop(&[23, 0, 0, 0, 0], 0, 5, Arch::X86_64), Hop::TooShort { length: 23 }));
    }
}
