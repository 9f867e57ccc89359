//! What makes a file unreadable, and what makes writing one impossible.

use std::io;
use std::path::{Path, PathBuf};

/// A file that contradicts the format or itself. Each variant names the byte where it does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AtfError {
    /// A function list has a line that is not one.
    #[error("byte {offset}: {reason}")]
    FunctionList {
        /// Where the line starts.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// What follows in a bundle is no thread.
    #[error("byte {offset}: {reason}")]
    Bundle {
        /// Where.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// A bundle ends within a thread.
    #[error("byte {offset}: the file ends within a thread")]
    BundleCut {
        /// Where the thread begins.
        offset: u64,
    },
    /// The file is of another kind.
    #[error("byte {offset}: magic is {found:?}, expected {expected:?}", found = text(found), expected = text(expected))]
    Magic {
        /// Where the magic stands.
        offset: u64,
        /// What stands there.
        found: [u8; 4],
        /// What should.
        expected: [u8; 4],
    },
    /// The byte order is not little-endian.
    #[error("byte {offset}: byte order {found} is not 1 (little-endian)")]
    Endian {
        /// Where.
        offset: u64,
        /// The value there.
        found: u8,
    },
    /// The version is one that this reader does not know.
    #[error("byte {offset}: version {found} is unknown; a newer ada may read it")]
    Version {
        /// Where.
        offset: u64,
        /// The value there.
        found: u8,
    },
    /// Events have another size than 32 bytes.
    #[error("byte {offset}: event size is {found}, expected 32")]
    EventSize {
        /// Where.
        offset: u64,
        /// The value there.
        found: u32,
    },
    /// Events would begin inside the header or outside the file.
    #[error("byte {offset}: events begin at byte {found}, in a file of {len} bytes with a header of 64")]
    EventsOffset {
        /// Where the offset is stated.
        offset: u64,
        /// The stated offset.
        found: u64,
        /// The file's length.
        len: u64,
    },
    /// The header points at a footer that cannot be there.
    #[error("byte {offset}: the footer would be at byte {found}, which contradicts the header's count or length")]
    FooterOffset {
        /// Where the offset, or the length that leads to it, is stated.
        offset: u64,
        /// Where the footer would be.
        found: u64,
    },
    /// A footer counts other events than the file has room for.
    #[error("byte {offset}: the count is {stored}, but there are {actual}")]
    Count {
        /// Where the count is stated.
        offset: u64,
        /// The stated count.
        stored: u64,
        /// What the file holds.
        actual: u64,
    },
    /// A footer states another length than the section has.
    #[error("byte {offset}: the length is {stored}, but the section has {actual} bytes")]
    Length {
        /// Where the length is stated.
        offset: u64,
        /// The stated length.
        stored: u64,
        /// The section's length.
        actual: u64,
    },
    /// A detail record is shorter than its own header.
    #[error("byte {offset}: a detail record of {length} bytes is shorter than its header of 24")]
    RecordTooShort {
        /// Where the record begins.
        offset: u64,
        /// Its stated length.
        length: u32,
    },
    /// A detail record runs past the section that holds it.
    #[error("byte {offset}: a detail record of {length} bytes runs past the end of its section at byte {end}")]
    RecordPastEnd {
        /// Where the record begins.
        offset: u64,
        /// Its stated length.
        length: u32,
        /// Where the section ends.
        end: u64,
    },
    /// A payload ends before what it announces.
    #[error("byte {offset}: the payload needs {needed} bytes and has {found}")]
    PayloadTooShort {
        /// Where the payload begins.
        offset: u64,
        /// The length that its own fields ask for.
        needed: u64,
        /// The length it has.
        found: u64,
    },
    /// A payload goes on after what it announces.
    #[error("byte {offset}: the payload ends after {expected} bytes but has {found}")]
    PayloadTooLong {
        /// Where the payload begins.
        offset: u64,
        /// The length that its own fields ask for.
        expected: u64,
        /// The length it has.
        found: u64,
    },
    /// A payload has a group of values that this reader does not know.
    #[error("byte {offset}: unknown payload groups {found:#06x}; a newer ada may read it")]
    PayloadGroups {
        /// Where the bitmap stands.
        offset: u64,
        /// The bitmap.
        found: u16,
    },
    /// A payload claims more stack bytes than a window can have.
    #[error("byte {offset}: a stack window of {found} bytes is larger than 512")]
    StackSize {
        /// Where the size stands.
        offset: u64,
        /// The stated size.
        found: u16,
    },
    /// A payload claims more probe reads than a record can have.
    #[error("byte {offset}: {found} probe reads are more than 64")]
    ProbeCount {
        /// Where the count stands.
        offset: u64,
        /// The stated count.
        found: u64,
    },
    /// A manifest is not the JSON that it should be.
    #[error("byte {offset} (line {line}, column {column}): {reason}")]
    Manifest {
        /// Where, in bytes from the start.
        offset: u64,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A manifest has a version that this reader does not know.
    #[error("the manifest has format_version {found}, and {known} is the newest known here")]
    ManifestVersion {
        /// The manifest's version.
        found: u32,
        /// The newest version that this reader knows.
        known: u32,
    },
}

impl AtfError {
    /// The error's short name, for machine-readable output.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::FunctionList { .. } => "bad_function_list",
            Self::Bundle { .. } | Self::BundleCut { .. } => "bad_bundle",
            Self::Magic { .. } => "wrong_magic",
            Self::Endian { .. } => "wrong_endian",
            Self::Version { .. } => "unknown_version",
            Self::EventSize { .. } => "wrong_event_size",
            Self::EventsOffset { .. } => "wrong_events_offset",
            Self::FooterOffset { .. } => "wrong_footer_offset",
            Self::Count { .. } => "wrong_count",
            Self::Length { .. } => "wrong_length",
            Self::RecordTooShort { .. } => "record_too_short",
            Self::RecordPastEnd { .. } => "record_past_end",
            Self::PayloadTooShort { .. } => "payload_too_short",
            Self::PayloadTooLong { .. } => "payload_too_long",
            Self::PayloadGroups { .. } => "unknown_payload_groups",
            Self::StackSize { .. } => "stack_too_large",
            Self::ProbeCount { .. } => "too_many_probes",
            Self::Manifest { .. } => "bad_manifest",
            Self::ManifestVersion { .. } => "unknown_manifest_version",
        }
    }
}

/// Why something could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file system refused, and this is where.
    #[error("cannot write {path}", path = path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Raw bytes that are not whole records.
    #[error("{len} raw bytes are not whole events of 32")]
    RawLength {
        /// How many bytes were handed over.
        len: usize,
    },
    /// Raw bytes that are not whole detail records.
    #[error(transparent)]
    RawRecord(#[from] AtfError),
    /// More records than a 32-bit link can reach. The event itself can still be written without detail.
    #[error("record {position} cannot be linked: links have 32 bits")]
    LinkOverflow {
        /// The position that does not fit.
        position: u64,
    },
    /// A stack window that is larger than 512 bytes.
    #[error("a stack window of {len} bytes is larger than 512")]
    StackTooLong {
        /// The window's length.
        len: usize,
    },
    /// More probe reads than a record can have.
    #[error("{count} probe reads are more than 64")]
    TooManyProbes {
        /// How many there were.
        count: usize,
    },
    /// A payload that a record's 32-bit length cannot hold.
    #[error("a payload of {len} bytes does not fit into a record")]
    PayloadTooLong {
        /// The payload's length.
        len: usize,
    },
}

impl WriteError {
    /// Adds the path of a file system error, if it has none yet.
    pub(crate) fn at(self, path: &Path) -> Self {
        match self {
            Self::Io(source) => Self::File { path: path.to_owned(), source },
            other => other,
        }
    }
}

/// Why there is no session to read at a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The folder cannot be read.
    #[error("cannot read {path}", path = path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder holds neither processes nor threads.
    #[error("{path} is not a session: it has no pid_* or thread_* folder; give a session_* folder", path = path.display())]
    NotASession {
        /// Which one.
        path: PathBuf,
    },
}

fn text(magic: &[u8; 4]) -> String {
    magic.escape_ascii().to_string()
}
