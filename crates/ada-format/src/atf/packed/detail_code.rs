//! Blocks of detail records: each is stored as its difference to the last one of the same function, then compressed.

use super::block::{BlockHeader, MOST_RECORD_BYTES};
use super::number;
use crate::atf::detail::{DetailRecord, Hop, hop};
use crate::atf::layout::{RECORD_HEADER_SIZE, record, u32_at};
use crate::atf::{Arch, BlockFault};

/// Bytes of a payload before its parts.
const PREFIX: usize = 16;
const STORED: u8 = 0;
const ZSTD: u8 = 1;
/// The level that costs the least.
const LEVEL: i32 = 1;
/// Places of the table that finds the last record of the same function.
const KNOWN: usize = 1024;
/// The words of a record that are stored as the difference to the record before: its event and thread, and its time.
const COUNTED_WORDS: std::ops::Range<usize> = record::INDEX_SEQ / 8..record::TIMESTAMP / 8 + 1;
/// The word that has the function: the first of every payload that ada knows.
const FUNCTION_WORD: usize = RECORD_HEADER_SIZE / 8;

/// Packs the records of one block after the other, in the same memory.
pub(crate) struct RecordPacker {
    compressor: Option<zstd::bulk::Compressor<'static>>,
    known: Vec<Option<(u64, u64, u32)>>,
    models: Vec<usize>,
    body: Vec<u8>,
    masks: Vec<u8>,
    data: Vec<u8>,
}

impl Default for RecordPacker {
    fn default() -> Self {
        Self {
            // Without memory for it, blocks are stored as they are.
            compressor: zstd::bulk::Compressor::new(LEVEL).ok(),
            known: Vec::new(),
            models: Vec::new(),
            body: Vec::new(),
            masks: Vec::new(),
            data: Vec::new(),
        }
    }
}

impl RecordPacker {
    /// Makes a payload of whole records.
    pub(crate) fn pack(&mut self, records: &[u8], payload: &mut Vec<u8>) {
        self.known.clear();
        self.known.resize(KNOWN, None);
        self.models.clear();
        self.body.clear();
        self.masks.clear();
        self.data.clear();
        let (mut at, mut before) = (0, None);
        while let Hop::Whole(_, next) = hop(records, at, records.len(), Arch(0)) {
            let own = &records[at..next];
            let model = self.model(own, at);
            for number in 0..own.len().div_ceil(8) {
                let guess = match before {
                    Some(before) if COUNTED_WORDS.contains(&number) => word(&records[before..], number),
                    _ => model.map_or(0, |model| word(own_record(records, model), number)),
                };
                let word = word(own, number);
                let coded = if COUNTED_WORDS.contains(&number) { word.wrapping_sub(guess) } else { word ^ guess };
                self.put(coded);
            }
            before = Some(at);
            at = next;
        }
        let lengths = [self.body.len(), self.masks.len(), self.data.len()].map(|length| length as u32);
        self.body.extend_from_slice(&self.masks);
        self.body.extend_from_slice(&self.data);
        payload.clear();
        payload.extend_from_slice(&[STORED, 0, 0, 0]);
        lengths.iter().for_each(|length| payload.extend_from_slice(&length.to_le_bytes()));
        payload.resize(PREFIX + zstd::zstd_safe::compress_bound(self.body.len()), 0);
        let compressed =
            self.compressor.as_mut().and_then(|it| it.compress_to_buffer(&self.body, &mut payload[PREFIX..]).ok());
        match compressed.filter(|&length| length < self.body.len()) {
            Some(length) => {
                payload.truncate(PREFIX + length);
                payload[0] = ZSTD;
            }
            None => {
                payload.truncate(PREFIX);
                payload.extend_from_slice(&self.body);
            }
        }
    }

    /// The record that this one is compared with: the last one of its function and shape. Says which in the payload.
    fn model(&mut self, own: &[u8], at: usize) -> Option<usize> {
        let key = (word(own, 0), if own.len() > RECORD_HEADER_SIZE { word(own, FUNCTION_WORD) } else { 0 });
        let hash = (key.0 ^ key.1.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let known = &mut self.known[(hash >> 54) as usize % KNOWN];
        match *known {
            Some((first, second, number)) if (first, second) == key => {
                number::put(&mut self.body, number.into());
                Some(std::mem::replace(&mut self.models[number as usize], at))
            }
            _ => {
                let number = self.models.len() as u32;
                *known = Some((key.0, key.1, number));
                number::put(&mut self.body, number.into());
                self.models.push(at);
                None
            }
        }
    }

    /// Appends a word: a mask of its bytes that are not zero, and those bytes.
    #[inline]
    fn put(&mut self, word: u64) {
        if word == 0 {
            return self.masks.push(0);
        }
        let mut mask = 0;
        for (byte_index, byte) in word.to_le_bytes().into_iter().enumerate() {
            if byte != 0 {
                mask |= 1 << byte_index;
                self.data.push(byte);
            }
        }
        self.masks.push(mask);
    }
}

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
        let guess = |bytes: &[u8], number: usize| match before {
            Some(before) if COUNTED_WORDS.contains(&number) => word(&bytes[before..], number),
            _ => model.map_or(0, |model| word(own_record(&bytes[..start], model), number)),
        };
        let first = parts.take()? ^ guess(&self.bytes, 0);
        let length = first as u32 as usize;
        if length < RECORD_HEADER_SIZE || length > extent - start {
            return Err(BlockFault::TooLarge);
        }
        self.bytes.extend_from_slice(&first.to_le_bytes());
        for number in 1..length.div_ceil(8) {
            let (coded, guess) = (parts.take()?, guess(&self.bytes, number));
            let word = if COUNTED_WORDS.contains(&number) { coded.wrapping_add(guess) } else { coded ^ guess };
            let room = (length - 8 * number).min(8);
            self.bytes.extend_from_slice(&word.to_le_bytes()[..room]);
        }
        self.starts.push(start as u32);
        Ok(())
    }
}

/// The parts of a payload that are not read yet.
struct Parts<'a> {
    models: &'a [u8],
    masks: &'a [u8],
    data: &'a [u8],
}

impl<'a> Parts<'a> {
    fn split(payload: &[u8], body: &'a [u8]) -> Result<Self, BlockFault> {
        let (models, rest) = body.split_at_checked(u32_at(payload, 4) as usize).ok_or(BlockFault::Short)?;
        let (masks, data) = rest.split_at_checked(u32_at(payload, 8) as usize).ok_or(BlockFault::Short)?;
        if data.len() == u32_at(payload, 12) as usize {
            Ok(Self { models, masks, data })
        } else {
            Err(BlockFault::Short)
        }
    }

    #[inline]
    fn take(&mut self) -> Result<u64, BlockFault> {
        let (&mask, masks) = self.masks.split_first().ok_or(BlockFault::Short)?;
        self.masks = masks;
        if mask == 0 {
            return Ok(0);
        }
        let length = mask.count_ones() as usize;
        let (bytes, data) = self.data.split_at_checked(length).ok_or(BlockFault::Short)?;
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
    match prefix[0] {
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
