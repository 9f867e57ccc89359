//! A file's last block: the directory of the others, and what the raw file has around its events.

use super::block::{BLOCK_HEADER_SIZE, BlockHeader};
use crate::atf::layout::{put, u16_at, u32_at, u64_at};

/// Bytes of the pointer at a file's very end.
pub(super) const TRAILER_SIZE: usize = 16;
const TRAILER_MAGIC: [u8; 4] = *b"PEND";
/// The checksum in the raw file's footer is left out: it was right, and can be computed.
pub(super) const CRC_LEFT_OUT: u32 = 1;
/// Where a raw footer has its checksum.
pub(super) const FOOTER_CRC: std::ops::Range<usize> = 4..8;

/// A block, as the directory has it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Where the block begins in its file.
    pub(crate) offset: u64,
    pub(crate) header: BlockHeader,
    /// A filter of the functions in it; empty where it is not known.
    pub(crate) functions: Vec<u8>,
}

impl Entry {
    /// Bytes that it takes in the directory.
    pub(super) fn len(&self) -> u64 {
        (8 + BLOCK_HEADER_SIZE + 2 + self.functions.len()) as u64
    }
}

/// What the raw file has before and behind its events or records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Around {
    pub(crate) head: Vec<u8>,
    pub(crate) tail: Vec<u8>,
    pub(crate) is_crc_left_out: bool,
}

impl Around {
    /// Of a file that was never raw: no checksum was computed.
    pub(crate) fn without_crc<const N: usize>(header: [u8; N], footer: [u8; N]) -> Self {
        Self { head: header.to_vec(), tail: footer.to_vec(), is_crc_left_out: true }
    }
}

pub(super) fn encode(entries: &[Entry], around: &Around) -> Vec<u8> {
    let mut bytes = Vec::new();
    let flags = if around.is_crc_left_out { CRC_LEFT_OUT } else { 0 };
    for number in [flags, entries.len() as u32, around.head.len() as u32, around.tail.len() as u32] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for entry in entries {
        bytes.extend_from_slice(&entry.offset.to_le_bytes());
        bytes.extend_from_slice(&entry.header.encode());
        bytes.extend_from_slice(&(entry.functions.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&entry.functions);
    }
    bytes.extend_from_slice(&around.head);
    bytes.extend_from_slice(&around.tail);
    bytes
}

/// Reads a closing block's bytes, whose checksum was found right. None if they are not one all the same.
pub(super) fn decode(bytes: &[u8]) -> Option<(Vec<Entry>, Around)> {
    let (prefix, mut rest) = bytes.split_at_checked(16)?;
    let mut entries = Vec::new();
    for _ in 0..u32_at(prefix, 4) {
        let (fixed, behind) = rest.split_at_checked(8 + BLOCK_HEADER_SIZE + 2)?;
        let header = BlockHeader::decode(fixed[8..].first_chunk()?)?;
        let (functions, behind) = behind.split_at_checked(u16_at(fixed, 8 + BLOCK_HEADER_SIZE).into())?;
        entries.push(Entry { offset: u64_at(fixed, 0), header, functions: functions.to_vec() });
        rest = behind;
    }
    let (head, tail) = rest.split_at_checked(u32_at(prefix, 8) as usize)?;
    let is_crc_left_out = u32_at(prefix, 0) & CRC_LEFT_OUT != 0;
    if tail.len() != u32_at(prefix, 12) as usize || is_crc_left_out && tail.len() < FOOTER_CRC.end {
        return None;
    }
    Some((entries, Around { head: head.to_vec(), tail: tail.to_vec(), is_crc_left_out }))
}

/// The bytes that lead from a file's end to its closing block.
pub(super) fn trailer(offset: u64) -> [u8; TRAILER_SIZE] {
    let mut bytes = [0; TRAILER_SIZE];
    put(&mut bytes, 0, offset.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..8]);
    put(&mut bytes, 8, crc.to_le_bytes());
    put(&mut bytes, 12, TRAILER_MAGIC);
    bytes
}

/// Where the closing block of a file begins, as its last bytes say.
pub(super) fn read_trailer(file: &[u8]) -> Option<u64> {
    let bytes = file.last_chunk::<TRAILER_SIZE>()?;
    let is_one = bytes[12..] == TRAILER_MAGIC && u32_at(bytes, 8) == crc32fast::hash(&bytes[..8]);
    is_one.then(|| u64_at(bytes, 0))
}
