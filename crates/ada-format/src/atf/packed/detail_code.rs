//! Reads blocks of detail records: each is stored as its difference to the last one of the same function, and all are
//! compressed together. What `record_encoder.rs` writes is sparse; earlier files have the masks of all words.

use super::block::{BlockHeader, MOST_RECORD_BYTES};
use super::number;
use super::recent_words::RecentWords;
use crate::atf::detail::{DetailRecord, Hop, hop};
use crate::atf::layout::{RECORD_HEADER_SIZE, record, u32_at};
use crate::atf::{Arch, BlockFault};

/// Bytes of a payload before its parts.
pub(super) const PREFIX: usize = 16;
/// How the parts are written: as they are, or compressed …
pub(super) const STORED: u8 = 0;
pub(super) const ZSTD: u8 = 1;
/// … and in addition to either, with the masks of only those words that differ.
pub(super) const SPARSE: u8 = 2;
/// Of how many words a map says whether they differ.
pub(super) const MAP_BITS: u32 = u64::BITS;
/// Instead of a mask: the word is a recent one.
pub(super) const RECENT: u8 = 0;
/// The words of a record that are stored as the difference to the record before: its event and thread, and its time.
pub(super) const COUNTED_WORDS: std::ops::Range<usize> = record::INDEX_SEQ / 8..record::TIMESTAMP / 8 + 1;

/// A record at an offset of a block's records.
fn own_record(records: &[u8], at: usize) -> &[u8] {
    let length = u32_at(&records[at..], record::TOTAL_LENGTH) as usize;
    records[at..].get(..length).unwrap_or(&records[at..])
}

/// A record's word, zero where it has none; bytes behind the last whole one are the lowest of theirs.
#[inline]
fn word(record: &[u8], number: usize) -> u64 {
    let Some(rest) = record.get(8 * number..) else { return 0 };
    match rest.first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(bytes)
        }
    }
}

/// A block's records in the raw form, and where each begins.
#[derive(Debug)]
pub(crate) struct DetailBlock {
    /// The position of the first one.
    pub(crate) first: u64,
    /// Where the first one begins in the raw file.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) starts: Vec<u32>,
}

impl DetailBlock {
    /// Reads a block whose checksum is right.
    pub(crate) fn decode(header: &BlockHeader, payload: &[u8]) -> Result<Self, BlockFault> {
        if header.extent > MOST_RECORD_BYTES || header.count > header.extent / RECORD_HEADER_SIZE as u32 {
            return Err(BlockFault::TooLarge);
        }
        let mut block = Self { first: header.first, offset: header.origin, bytes: Vec::new(), starts: Vec::new() };
        let body = decompress(payload)?;
        let mut parts = Parts::split(payload, &body)?;
        block.bytes.reserve(header.extent as usize);
        let mut models: Vec<usize> = Vec::new();
        for _ in 0..header.count {
            block.read_record(&mut parts, &mut models, header.extent as usize)?;
        }
        let is_read = parts.models.is_empty() && parts.masks.is_empty() && parts.data.is_empty();
        match block.bytes.len() == header.extent as usize && is_read {
            true => Ok(block),
            false => Err(BlockFault::Long),
        }
    }

    /// The records in their order.
    pub(crate) fn records(&self, arch: Arch) -> impl Iterator<Item = DetailRecord<'_>> {
        self.starts.iter().map_while(move |&start| match hop(&self.bytes, start as usize, self.bytes.len(), arch) {
            Hop::Whole(record, _) => Some(DetailRecord { offset: self.offset + u64::from(start), ..record }),
            _ => None,
        })
    }

    fn read_record(&mut self, parts: &mut Parts<'_>, models: &mut Vec<usize>, extent: usize) -> Result<(), BlockFault> {
        let number = number::take(&mut parts.models)?;
        let start = self.bytes.len();
        let model = match usize::try_from(number) {
            Ok(known) if known < models.len() => Some(std::mem::replace(&mut models[known], start)),
            Ok(new) if new == models.len() => {
                models.push(start);
                None
            }
            _ => return Err(BlockFault::Code),
        };
        let before = self.starts.last().map(|&start| start as usize);
        // The event of a record is mostly the one behind that of the record before.
        let is_sparse = parts.is_sparse;
        let step = |number: usize| u64::from(is_sparse && number == COUNTED_WORDS.start);
        let guess = |bytes: &[u8], number: usize| match before {
            Some(before) if COUNTED_WORDS.contains(&number) => {
                word(&bytes[before..], number).wrapping_add(step(number))
            }
            _ => model.map_or(0, |model| word(own_record(&bytes[..start], model), number)),
        };
        let first = parts.take(0, guess(&self.bytes, 0))?;
        let length = first as u32 as usize;
        if length < RECORD_HEADER_SIZE || length > extent - start {
            return Err(BlockFault::TooLarge);
        }
        self.bytes.extend_from_slice(&first.to_le_bytes());
        for number in 1..length.div_ceil(8) {
            let word = parts.take(number, guess(&self.bytes, number))?;
            let room = (length - 8 * number).min(8);
            self.bytes.extend_from_slice(&word.to_le_bytes()[..room]);
        }
        self.starts.push(start as u32);
        parts.end_record()
    }
}

/// The parts of a payload that are not read yet.
struct Parts<'a> {
    models: &'a [u8],
    masks: &'a [u8],
    data: &'a [u8],
    is_sparse: bool,
    /// Which of the next words differ, the lowest bit for the next one.
    map: u64,
    recent: RecentWords,
}

impl<'a> Parts<'a> {
    fn split(payload: &[u8], body: &'a [u8]) -> Result<Self, BlockFault> {
        let (models, rest) = body.split_at_checked(u32_at(payload, 4) as usize).ok_or(BlockFault::Short)?;
        let (masks, data) = rest.split_at_checked(u32_at(payload, 8) as usize).ok_or(BlockFault::Short)?;
        if data.len() == u32_at(payload, 12) as usize {
            let is_sparse = payload[0] & SPARSE != 0;
            Ok(Self { models, masks, data, is_sparse, map: 0, recent: RecentWords::default() })
        } else {
            Err(BlockFault::Short)
        }
    }

    /// A record has no words behind its end.
    fn end_record(&self) -> Result<(), BlockFault> {
        if self.map == 0 { Ok(()) } else { Err(BlockFault::Long) }
    }

    /// The word of this number in its record, for which there is a guess.
    #[inline]
    fn take(&mut self, number: usize, guess: u64) -> Result<u64, BlockFault> {
        if self.is_sparse {
            if number.is_multiple_of(MAP_BITS as usize) {
                self.map = number::take(&mut self.models)?;
            }
            let is_as_guessed = self.map & 1 == 0;
            self.map >>= 1;
            if is_as_guessed {
                return Ok(guess);
            }
        }
        let (&mask, masks) = self.masks.split_first().ok_or(BlockFault::Short)?;
        self.masks = masks;
        if self.is_sparse && mask == RECENT {
            let (&index, data) = self.data.split_first().ok_or(BlockFault::Short)?;
            self.data = data;
            return Ok(self.recent.at(index));
        }
        let difference = self.bytes(mask)?;
        let is_counted = COUNTED_WORDS.contains(&number);
        let word = if is_counted { guess.wrapping_add(difference) } else { guess ^ difference };
        if self.is_sparse {
            self.recent.find_or_add(difference, word);
        }
        Ok(word)
    }

    /// A word of which the bytes that the mask has follow.
    #[inline]
    fn bytes(&mut self, mask: u8) -> Result<u64, BlockFault> {
        let (bytes, data) = self.data.split_at_checked(mask.count_ones() as usize).ok_or(BlockFault::Short)?;
        self.data = data;
        let mut word = 0;
        let mut remaining = mask;
        for &byte in bytes {
            word |= u64::from(byte) << (8 * remaining.trailing_zeros());
            remaining &= remaining - 1;
        }
        Ok(word)
    }
}

fn decompress(payload: &[u8]) -> Result<std::borrow::Cow<'_, [u8]>, BlockFault> {
    let (prefix, body) = payload.split_at_checked(PREFIX).ok_or(BlockFault::Short)?;
    // A word takes a byte at least, and nine at most.
    const MOST: u64 = 2 * MOST_RECORD_BYTES as u64;
    let length = u64::from(u32_at(prefix, 4)) + u64::from(u32_at(prefix, 8)) + u64::from(u32_at(prefix, 12));
    match prefix[0] & !SPARSE {
        _ if length > MOST => Err(BlockFault::TooLarge),
        STORED if body.len() as u64 == length => Ok(body.into()),
        STORED => Err(BlockFault::Short),
        ZSTD => match zstd::bulk::decompress(body, length as usize) {
            Ok(body) if body.len() as u64 == length => Ok(body.into()),
            _ => Err(BlockFault::Compression),
        },
        _ => Err(BlockFault::Code),
    }
}
