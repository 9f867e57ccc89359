//! Where each field of the files lies. `docs/formats/atf-v2.md` is the same in tables.
//!
//! All numbers are little-endian and packed: the detail header's 8-byte fields start at offset 20.

/// Bytes of the header of either file.
pub(crate) const HEADER_SIZE: usize = 64;
/// Bytes of the footer of either file.
pub(crate) const FOOTER_SIZE: usize = 64;
/// Bytes before the payload of a detail record.
pub(crate) const RECORD_HEADER_SIZE: usize = 24;

/// The only byte order there is.
pub(crate) const LITTLE_ENDIAN: u8 = 1;
/// The version byte of both files.
pub(crate) const VERSION: u8 = 1;
/// Index header flag: a detail file exists beside this file.
pub(crate) const FLAG_HAS_DETAIL: u32 = 1;

/// The first eight bytes, which both files share.
pub(crate) mod preamble {
    pub(crate) const ENDIAN: usize = 4;
    pub(crate) const VERSION: usize = 5;
    pub(crate) const ARCH: usize = 6;
    pub(crate) const OS: usize = 7;
}

/// The index file.
pub(crate) mod index {
    pub(crate) const MAGIC: [u8; 4] = *b"ATI2";
    pub(crate) const FLAGS: usize = 8;
    pub(crate) const THREAD: usize = 12;
    pub(crate) const CLOCK: usize = 16;
    pub(crate) const EVENT_SIZE: usize = 24;
    pub(crate) const EVENT_COUNT: usize = 28;
    pub(crate) const EVENTS_OFFSET: usize = 32;
    pub(crate) const FOOTER_OFFSET: usize = 40;
    pub(crate) const TIME_START: usize = 48;
    pub(crate) const TIME_END: usize = 56;
}

/// The index file's last 64 bytes.
pub(crate) mod index_footer {
    pub(crate) const MAGIC: [u8; 4] = *b"2ITA";
    pub(crate) const CRC32: usize = 4;
    pub(crate) const EVENT_COUNT: usize = 8;
    pub(crate) const TIME_START: usize = 16;
    pub(crate) const TIME_END: usize = 24;
    pub(crate) const BYTES_WRITTEN: usize = 32;
    pub(crate) const RESERVED: usize = 40;
}

/// The detail file.
pub(crate) mod detail {
    pub(crate) const MAGIC: [u8; 4] = *b"ATD2";
    pub(crate) const FLAGS: usize = 8;
    pub(crate) const THREAD: usize = 12;
    pub(crate) const EVENTS_OFFSET: usize = 20;
    pub(crate) const EVENT_COUNT: usize = 28;
    pub(crate) const BYTES_LENGTH: usize = 36;
    pub(crate) const INDEX_SEQ_START: usize = 44;
    pub(crate) const INDEX_SEQ_END: usize = 52;
}

/// The detail file's last 64 bytes.
pub(crate) mod detail_footer {
    pub(crate) const MAGIC: [u8; 4] = *b"2DTA";
    pub(crate) const CRC32: usize = 4;
    pub(crate) const EVENT_COUNT: usize = 8;
    pub(crate) const BYTES_LENGTH: usize = 16;
    pub(crate) const TIME_START: usize = 24;
    pub(crate) const TIME_END: usize = 32;
}

/// The header of a detail record.
pub(crate) mod record {
    pub(crate) const TOTAL_LENGTH: usize = 0;
    pub(crate) const EVENT_TYPE: usize = 4;
    pub(crate) const FLAGS: usize = 6;
    pub(crate) const INDEX_SEQ: usize = 8;
    pub(crate) const THREAD: usize = 12;
    pub(crate) const TIMESTAMP: usize = 16;
}

/// The number at `at`. Like its neighbours it is for fixed-size headers and for lengths that were checked: outside
/// the bytes it panics.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The number at `at`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The number at `at`.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Stores a number's little-endian bytes at `at`.
#[inline]
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, number: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&number);
}
