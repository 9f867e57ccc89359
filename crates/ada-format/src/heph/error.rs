//! What can be wrong with a packet, read or to be written.

use std::fmt;

use thiserror::Error;

use super::Nanos;

/// Why a packet was refused. Offsets count from the first byte of the trace (or the datagram).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading: neither kind of packet starts here.
    #[error("byte {offset}: no packet starts with {found:#010x}")]
    NotAPacket {
        /// Where a packet is due.
        offset: u64,
        /// The four bytes there.
        found: u32,
    },
    /// Reading: the packet claims to be smaller than its fixed fields.
    #[error("byte {offset}: a packet of {size} bytes is too small, it needs {minimum}")]
    PacketTooSmall {
        /// Where the packet starts.
        offset: u64,
        /// The size it claims.
        size: u32,
        /// What its fixed fields take.
        minimum: u32,
    },
    /// Reading: the packet claims to be larger than the reader allows.
    #[error("byte {offset}: a packet claims {size} bytes, and {limit} are allowed")]
    PacketTooLarge {
        /// Where the packet starts.
        offset: u64,
        /// The size it claims.
        size: u32,
        /// The reader's limit.
        limit: u32,
    },
    /// Reading: the input ends within a packet.
    #[error("byte {offset}: the input ends after {available} bytes of a packet of at least {needed}")]
    Truncated {
        /// Where the packet starts.
        offset: u64,
        /// The size it claims; 8 where the input ends before the size.
        needed: u32,
        /// The bytes that are there.
        available: u64,
    },
    /// Reading: bytes follow where exactly one packet was to be decoded.
    #[error("byte {offset}: {extra} bytes follow the packet")]
    TrailingBytes {
        /// Where the packet ends.
        offset: u64,
        /// The bytes after it.
        extra: u64,
    },
    /// Reading: a length points outside the packet.
    #[error("byte {offset}: {field} takes {needed} bytes, and the packet has {available} more")]
    FieldOutsidePacket {
        /// Where the field starts.
        offset: u64,
        /// What does not fit.
        field: Field,
        /// The bytes it takes.
        needed: u64,
        /// The bytes that remain of the packet.
        available: u64,
    },
    /// Reading: text is not UTF-8.
    #[error("byte {offset}: {field} is not UTF-8")]
    NotUtf8 {
        /// The first byte that is not.
        offset: u64,
        /// What it is part of.
        field: Field,
    },
    /// Reading: an attribute's type byte is none that the format defines.
    #[error("byte {offset}: {found:#010b} is no type of an attribute's value")]
    UnknownValueType {
        /// Where the type byte is.
        offset: u64,
        /// The type byte.
        found: u8,
    },
    /// Reading: an attribute is an array of nothing in particular.
    #[error("byte {offset}: an array without the type of its values")]
    ArrayWithoutType {
        /// Where the type byte is.
        offset: u64,
    },
    /// Reading: the value of the `epoch` option is not a 64-bit integer.
    #[error("byte {offset}: an epoch of {length} bytes, which must be 8")]
    EpochLength {
        /// Where the option's value starts.
        offset: u64,
        /// Its length in bytes.
        length: u64,
    },
    /// Reading: an event ends before it starts.
    #[error("byte {offset}: an event that starts at {start} ns ends before, at {end} ns")]
    ReadEndBeforeStart {
        /// Where the packet starts.
        offset: u64,
        /// The event's start.
        start: Nanos,
        /// The event's end.
        end: Nanos,
    },
    /// Writing: an event ends before it starts.
    #[error("an event that starts at {start} ns cannot end before, at {end} ns")]
    WriteEndBeforeStart {
        /// The event's start.
        start: Nanos,
        /// The event's end.
        end: Nanos,
    },
    /// Writing: the format has 16 bits for the length of a string.
    #[error("{field} of {length} bytes is too long, at most 65535 can be written")]
    StringTooLong {
        /// What is too long.
        field: Field,
        /// Its length in bytes.
        length: usize,
    },
    /// Writing: the format has 16 bits for the length of an array.
    #[error("an array of {length} values is too long, at most 65535 can be written")]
    ArrayTooLong {
        /// Its length in values.
        length: usize,
    },
    /// Writing: the format has 32 bits for the size of a packet.
    #[error("a packet of {size} bytes is too large, at most 4294967295 can be written")]
    PacketOver4GiB {
        /// The size it would have.
        size: u64,
    },
    /// Writing: the `epoch` option given as raw bytes that are not a 64-bit integer.
    #[error("an epoch takes 8 bytes, not {length}")]
    WriteEpochLength {
        /// The length given.
        length: usize,
    },
}

impl Error {
    /// Where in the input it is; nothing for an error of writing.
    pub const fn offset(&self) -> Option<u64> {
        match *self {
            Self::NotAPacket { offset, .. }
            | Self::PacketTooSmall { offset, .. }
            | Self::PacketTooLarge { offset, .. }
            | Self::Truncated { offset, .. }
            | Self::TrailingBytes { offset, .. }
            | Self::FieldOutsidePacket { offset, .. }
            | Self::NotUtf8 { offset, .. }
            | Self::UnknownValueType { offset, .. }
            | Self::ArrayWithoutType { offset }
            | Self::EpochLength { offset, .. }
            | Self::ReadEndBeforeStart { offset, .. } => Some(offset),
            Self::WriteEndBeforeStart { .. }
            | Self::StringTooLong { .. }
            | Self::ArrayTooLong { .. }
            | Self::PacketOver4GiB { .. }
            | Self::WriteEpochLength { .. } => None,
        }
    }
}

/// A part of a packet that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// The fields that each packet of its kind has.
    Header,
    /// The name of a metadata packet's option.
    OptionName,
    /// What an event is called.
    Description,
    /// The name of an attribute.
    AttributeName,
    /// The byte that says how an attribute's value is laid out.
    ValueType,
    /// The value of an attribute, or of an element of its array.
    Value,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "a fixed field",
            Self::OptionName => "an option name",
            Self::Description => "a description",
            Self::AttributeName => "an attribute name",
            Self::ValueType => "an attribute's type",
            Self::Value => "an attribute's value",
        })
    }
}
