//! Damage that leaves something to read: data beside what was read, not an error.

use std::fmt;

use ada_event::{DetailSeq, EventSeq, ThreadId, TraceNanos};

use super::BlockFault;

/// One thing that is wrong with a file or a session, while its whole events can still be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The file ends inside its header: nothing was recorded, or nothing of it remains.
    HeaderCut {
        /// The file's length.
        len: u64,
    },
    /// The header was written when the file was begun, and never again, although the footer is there.
    StaleHeader {
        /// Where the footer is.
        footer: u64,
    },
    /// There is no footer: the writer died, and nothing vouches for the events.
    FooterMissing {
        /// Where the events end.
        offset: u64,
    },
    /// The file was finished and has been cut since.
    Truncated {
        /// The length it had.
        expected: u64,
        /// The length it has.
        len: u64,
    },
    /// The last event or record is not whole.
    PartialRecord {
        /// Where it begins.
        offset: u64,
        /// How many bytes of it there are.
        len: u64,
    },
    /// There are bytes after the footer.
    TrailingBytes {
        /// Where they begin.
        offset: u64,
        /// How many there are.
        len: u64,
    },
    /// The events are not the ones that the footer was written for.
    Crc {
        /// Where the checksum is stored.
        offset: u64,
        /// The stored checksum.
        stored: u32,
        /// The checksum of what is there.
        computed: u32,
    },
    /// The header or the footer states another time range than the events have.
    TimeRange {
        /// What is stated.
        stored: (TraceNanos, TraceNanos),
        /// What the events have.
        actual: (TraceNanos, TraceNanos),
    },
    /// A block of a packed file cannot be read; the others can.
    BlockDamaged {
        /// Where it begins.
        offset: u64,
        /// The first event, or detail record, in it.
        first: EventSeq,
        /// How many there are in it.
        count: u32,
        /// What is wrong with it.
        reason: BlockFault,
    },
    /// Bytes between the blocks of a packed file are no block.
    BytesSkipped {
        /// Where they begin.
        offset: u64,
        /// How many there are.
        len: u64,
    },
    /// The directory of a packed file cannot be used; its blocks were looked for.
    DirectoryLost {
        /// Where it begins.
        offset: u64,
    },
    /// An event is earlier than the one before it.
    TimeBackwards {
        /// Which event, or which detail record.
        seq: EventSeq,
        /// The time before.
        before: TraceNanos,
        /// Its own time.
        time: TraceNanos,
    },
    /// An event, a header or a folder name claims another thread than the rest.
    WrongThread {
        /// Which event; none for a header.
        seq: Option<EventSeq>,
        /// The thread it claims.
        found: ThreadId,
        /// The thread it should be.
        expected: ThreadId,
    },
    /// An event links to a detail record that does not exist, or that belongs to another event.
    DetailLink {
        /// Which event.
        seq: EventSeq,
        /// The detail record that it links to.
        detail: DetailSeq,
        /// The event that this record links back to, if it exists.
        back: Option<u32>,
    },
    /// A detail record links to an event that does not exist, or that has another detail record.
    IndexLink {
        /// Which detail record.
        detail: DetailSeq,
        /// The event that it links to.
        seq: EventSeq,
    },
    /// A detail record has another time than its event.
    DetailTime {
        /// Which detail record.
        detail: DetailSeq,
        /// Its time.
        time: TraceNanos,
        /// Its event's time.
        event: TraceNanos,
    },
    /// A detail file's header states other first and last events than its records link to.
    LinkRange {
        /// What is stated.
        stored: (EventSeq, EventSeq),
        /// What the records have.
        actual: (EventSeq, EventSeq),
    },
    /// The manifest counts other events of a thread than its index file has.
    EventCount {
        /// What the manifest says.
        listed: u64,
        /// What the file has.
        found: u64,
    },
    /// The session has no manifest; its folders were listed instead.
    ManifestMissing,
    /// The session's writer never finished; its folders were listed instead.
    Unfinished,
    /// The manifest lists a thread that has no index file.
    ThreadMissing {
        /// Which thread.
        thread: ThreadId,
    },
    /// A thread's folder is not in the manifest.
    ThreadUnlisted {
        /// Which thread.
        thread: ThreadId,
    },
    /// Manifest and folder disagree on whether a thread has detail.
    DetailPresence {
        /// What the manifest says.
        listed: bool,
    },
}

impl Damage {
    /// Whether a file that is being written has it, which is then none.
    pub(super) const fn is_of_writing(&self) -> bool {
        matches!(
            self,
            Self::Unfinished | Self::FooterMissing { .. } | Self::HeaderCut { .. } | Self::PartialRecord { .. }
        )
    }

    /// The damage's short name, for machine-readable output.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::HeaderCut { .. } => "header_cut",
            Self::StaleHeader { .. } => "stale_header",
            Self::FooterMissing { .. } => "footer_missing",
            Self::Truncated { .. } => "truncated",
            Self::PartialRecord { .. } => "partial_record",
            Self::TrailingBytes { .. } => "trailing_bytes",
            Self::Crc { .. } => "crc_mismatch",
            Self::TimeRange { .. } => "time_range",
            Self::BlockDamaged { .. } => "block_damaged",
            Self::BytesSkipped { .. } => "bytes_skipped",
            Self::DirectoryLost { .. } => "directory_lost",
            Self::TimeBackwards { .. } => "time_backwards",
            Self::WrongThread { .. } => "wrong_thread",
            Self::DetailLink { .. } => "detail_link",
            Self::IndexLink { .. } => "index_link",
            Self::DetailTime { .. } => "detail_time",
            Self::LinkRange { .. } => "link_range",
            Self::EventCount { .. } => "event_count",
            Self::ManifestMissing => "manifest_missing",
            Self::Unfinished => "unfinished",
            Self::ThreadMissing { .. } => "thread_missing",
            Self::ThreadUnlisted { .. } => "thread_unlisted",
            Self::DetailPresence { .. } => "detail_presence",
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeaderCut { len } => write!(f, "cut at byte {len}, inside the header; there are no events"),
            Self::StaleHeader { footer } => {
                write!(f, "the header is a stale one; the footer at byte {footer} was used")
            }
            Self::FooterMissing { offset } => write!(f, "no footer at byte {offset}; whole events were recovered"),
            Self::Truncated { expected, len } => {
                write!(f, "cut at byte {len} of {expected}; whole events before that were recovered")
            }
            Self::PartialRecord { offset, len } => {
                write!(f, "byte {offset}: the last record is not whole; its {len} bytes were left out")
            }
            Self::TrailingBytes { offset, len } => write!(f, "byte {offset}: {len} bytes follow the footer"),
            Self::Crc { offset, stored, computed } => {
                write!(f, "byte {offset}: the checksum is {stored:08x}, but the events have {computed:08x}")
            }
            Self::TimeRange { stored, actual } => {
                write!(f, "times {}..{} are stated, but events have {}..{}", stored.0, stored.1, actual.0, actual.1)
            }
            Self::BlockDamaged { offset, first, count, reason } => {
                write!(f, "byte {offset}: the block of {count} from {first} on was left out: {reason}")
            }
            Self::BytesSkipped { offset, len } => {
                write!(f, "byte {offset}: {len} bytes are no block; they were left out")
            }
            Self::DirectoryLost { offset } => {
                write!(f, "byte {offset}: the directory cannot be read; the blocks were looked for")
            }
            Self::TimeBackwards { seq, before, time } => {
                write!(f, "event {seq}: time goes back from {before} to {time}")
            }
            Self::WrongThread { seq: Some(seq), found, expected } => {
                write!(f, "event {seq}: of thread {found} in the file of thread {expected}")
            }
            Self::WrongThread { seq: None, found, expected } => {
                write!(f, "the header says thread {found} in the folder of thread {expected}")
            }
            Self::DetailLink { seq, detail, back: None } => {
                write!(f, "event {seq}: links to detail {detail}, which does not exist")
            }
            Self::DetailLink { seq, detail, back: Some(back) } => {
                write!(f, "event {seq}: links to detail {detail}, which belongs to event {back}")
            }
            Self::IndexLink { detail, seq } => {
                write!(f, "detail {detail}: links to event {seq}, which does not link back")
            }
            Self::DetailTime { detail, time, event } => {
                write!(f, "detail {detail}: its time is {time}, but its event's is {event}")
            }
            Self::LinkRange { stored, actual } => write!(
                f,
                "the header says that details belong to events {} to {}, but they belong to {} to {}",
                stored.0, stored.1, actual.0, actual.1
            ),
            Self::EventCount { listed, found } => {
                write!(f, "the manifest says {listed} events, but the index file has {found}")
            }
            Self::ManifestMissing => f.write_str("no manifest.json; the folders were listed instead"),
            Self::Unfinished => f.write_str("the session was not finished; the folders were listed instead"),
            Self::ThreadMissing { thread } => write!(f, "thread {thread} is in the manifest but has no index file"),
            Self::ThreadUnlisted { thread } => write!(f, "thread {thread} is not in the manifest"),
            Self::DetailPresence { listed: true } => {
                f.write_str("the manifest says there is detail, but there is none")
            }
            Self::DetailPresence { listed: false } => f.write_str("the manifest says there is no detail, but there is"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_described_in_one_line() {
        let damage = Damage::Truncated { expected: 1000, len: 99 };
        assert_eq!(damage.to_string(), "cut at byte 99 of 1000; whole events before that were recovered");
        assert_eq!(damage.kind(), "truncated");
    }
}
