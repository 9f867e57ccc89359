//! Encodes detail records as they come: only what differs from the last one of the same function is written.

use super::detail_code::{COUNTED_WORDS, MAP_BITS, PREFIX, RECENT, SPARSE, STORED, ZSTD};
use super::number;
use super::recent_words::RecentWords;
use crate::atf::layout::RECORD_HEADER_SIZE;

/// The level that costs the least.
const LEVEL: i32 = 1;
/// Places of the table that finds the last record of the same function.
const KNOWN: usize = 1024;

/// Words of a record's header.
pub(super) const HEADER_WORDS: usize = RECORD_HEADER_SIZE / 8;

/// Encodes the records of one block after the other, in the same memory.
pub(super) struct RecordEncoder {
    compressor: Option<zstd::bulk::Compressor<'static>>,
    known: Vec<Option<Known>>,
    /// The words of the last record of each model, one model behind the other.
    words: Vec<u64>,
    models: u32,
    /// The counted words as they are guessed for the next record.
    before: [u64; COUNTED_WORDS.end - COUNTED_WORDS.start],
    recent: RecentWords,
    numbers: Vec<u8>,
    masks: Tape,
    data: Tape,
    body: Vec<u8>,
}

/// Records with the same first word (length and type) and function, and where the words of the last one are.
#[derive(Clone, Copy)]
struct Known {
    first: u64,
    function: u64,
    number: u32,
    start: u32,
}

impl Default for RecordEncoder {
    fn default() -> Self {
        let mut encoder = Self {
            // Without memory for it, blocks are stored as they are.
            compressor: zstd::bulk::Compressor::new(LEVEL).ok(),
            known: Vec::new(),
            words: Vec::new(),
            models: 0,
            before: Default::default(),
            recent: RecentWords::default(),
            numbers: Vec::new(),
            masks: Tape::default(),
            data: Tape::default(),
            body: Vec::new(),
        };
        encoder.begin_next();
        encoder
    }
}

impl RecordEncoder {
    /// Begins the next block.
    pub(super) fn begin_next(&mut self) {
        self.known.clear();
        self.known.resize(KNOWN, None);
        self.words.clear();
        self.models = 0;
        self.before.fill(0);
        self.recent = RecentWords::default();
        self.numbers.clear();
        (self.masks.len, self.data.len) = (0, 0);
    }

    /// Bytes of the block so far, before they are compressed.
    pub(super) fn len(&self) -> usize {
        self.numbers.len() + self.masks.len + self.data.len
    }

    /// Appends a record of so many words: those of its header, its function where it has one, and the rest in pieces, all but
    /// the last of whole words.
    #[inline]
    pub(super) fn push(&mut self, count: usize, header: [u64; HEADER_WORDS], function: Option<u64>, pieces: &[&[u8]]) {
        let start = self.model(header[0], function.unwrap_or(0), count);
        let mut model = &mut self.words[start..start + count];
        let mut words = Words {
            numbers: &mut self.numbers,
            masks: self.masks.room(count),
            // Bytes are written eight at a time, and those behind the ones that count are written over.
            data: self.data.room(8 * count + 8),
            recent: &mut self.recent,
            mask_len: 0,
            data_len: 0,
            number: 0,
            map: 0,
        };
        for (number, word) in header.into_iter().chain(function).enumerate() {
            let Some(known) = model.split_off_first_mut() else { break };
            if COUNTED_WORDS.contains(&number) {
                let guess = &mut self.before[number - COUNTED_WORDS.start];
                words.put_counted(word.wrapping_sub(*guess));
                *guess = word.wrapping_add(u64::from(number == COUNTED_WORDS.start));
            } else {
                words.put(known, word);
            }
        }
        for piece in pieces {
            let (whole, rest) = piece.as_chunks();
            let known = model.split_off_mut(..whole.len()).unwrap_or_default();
            words.put_all(known, whole);
            if !rest.is_empty()
                && let Some(known) = model.split_off_first_mut()
            {
                let mut bytes = [0; 8];
                bytes[..rest.len()].copy_from_slice(rest);
                words.put(known, u64::from_le_bytes(bytes));
            }
        }
        words.end_map();
        let (mask_len, data_len) = (words.mask_len, words.data_len);
        self.masks.len += mask_len;
        self.data.len += data_len;
    }

    /// Where the words are that a record of this kind is compared with. Says which in the block; a new one is all zeros.
    fn model(&mut self, first: u64, function: u64, count: usize) -> usize {
        let hash = (first ^ function.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let known = &mut self.known[(hash >> 54) as usize % KNOWN];
        let found = known.filter(|known| (known.first, known.function) == (first, function));
        let Known { number, start, .. } = found.unwrap_or_else(|| {
            let new = Known { first, function, number: self.models, start: self.words.len() as u32 };
            self.models += 1;
            self.words.resize(self.words.len() + count, 0);
            *known.insert(new)
        });
        number::put(&mut self.numbers, number.into());
        start as usize
    }

    /// Makes a payload of the block as it is now, compressed or not.
    pub(super) fn payload(&mut self, payload: &mut Vec<u8>, is_compressed: bool) {
        let parts = [&self.numbers, self.masks.bytes(), self.data.bytes()];
        self.body.clear();
        parts.iter().for_each(|part| self.body.extend_from_slice(part));
        payload.clear();
        payload.extend_from_slice(&[SPARSE | STORED, 0, 0, 0]);
        parts.iter().for_each(|part| payload.extend_from_slice(&(part.len() as u32).to_le_bytes()));
        payload.resize(PREFIX + zstd::zstd_safe::compress_bound(self.body.len()), 0);
        let compressor = self.compressor.as_mut().filter(|_| is_compressed);
        let compressed = compressor.and_then(|it| it.compress_to_buffer(&self.body, &mut payload[PREFIX..]).ok());
        match compressed.filter(|&length| length < self.body.len()) {
            Some(length) => {
                payload.truncate(PREFIX + length);
                payload[0] = SPARSE | ZSTD;
            }
            None => {
                payload.truncate(PREFIX);
                payload.extend_from_slice(&self.body);
            }
        }
    }
}

/// Bytes that grow by a few at a time: the room for them is made once for a whole record.
#[derive(Default)]
struct Tape {
    memory: Vec<u8>,
    len: usize,
}

impl Tape {
    /// The memory behind what was written, so much of it at least.
    #[inline]
    fn room(&mut self, most: usize) -> &mut [u8] {
        if self.memory.len() < self.len + most {
            self.memory.resize((self.len + most).next_power_of_two(), 0);
        }
        &mut self.memory[self.len..self.len + most]
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

/// A record's words on their way to the tapes. Of 64 at a time: which of them differ from the model's; of each of these: which
/// bytes of the difference are not zero, and these bytes; or where among the recent words it is found.
struct Words<'a> {
    numbers: &'a mut Vec<u8>,
    masks: &'a mut [u8],
    data: &'a mut [u8],
    recent: &'a mut RecentWords,
    mask_len: usize,
    data_len: usize,
    /// How many words the map has so far, and which of them differ.
    number: u32,
    map: u64,
}

impl Words<'_> {
    #[inline(always)]
    fn put_all(&mut self, known: &mut [u64], words: &[[u8; 8]]) {
        const TOGETHER: usize = 4;
        let (known_groups, known_rest) = known.as_chunks_mut::<TOGETHER>();
        let (groups, rest) = words.as_chunks::<TOGETHER>();
        for (known, group) in known_groups.iter_mut().zip(groups) {
            let group = group.map(u64::from_le_bytes);
            let differences: [u64; TOGETHER] = std::array::from_fn(|number| known[number] ^ group[number]);
            // Most words are the same, and cost nothing more.
            if differences.into_iter().fold(0, |all, word| all | word) == 0
                && self.number + (TOGETHER as u32) < MAP_BITS
            {
                self.number += TOGETHER as u32;
                continue;
            }
            known.iter_mut().zip(group).for_each(|(known, word)| self.put(known, word));
        }
        known_rest.iter_mut().zip(rest).for_each(|(known, word)| self.put(known, u64::from_le_bytes(*word)));
    }

    #[inline(always)]
    fn put(&mut self, known: &mut u64, word: u64) {
        let difference = *known ^ word;
        if difference != 0 {
            *known = word;
            match self.recent.find_or_add(difference, word) {
                Some(place) => {
                    self.put_mask(RECENT);
                    self.data[self.data_len] = place;
                    self.data_len += 1;
                }
                None => self.put_difference(difference),
            }
        }
        self.next();
    }

    #[inline(always)]
    fn put_counted(&mut self, difference: u64) {
        if difference != 0 {
            self.put_difference(difference);
        }
        self.next();
    }

    #[inline(always)]
    fn put_difference(&mut self, difference: u64) {
        let mask = nonzero_bytes(difference);
        self.put_mask(mask);
        self.data_len += put_bytes(difference, mask, &mut self.data[self.data_len..]);
    }

    #[inline(always)]
    fn put_mask(&mut self, mask: u8) {
        self.map |= 1 << self.number;
        self.masks[self.mask_len] = mask;
        self.mask_len += 1;
    }

    #[inline(always)]
    fn next(&mut self) {
        self.number += 1;
        if self.number == MAP_BITS {
            self.end_map();
        }
    }

    fn end_map(&mut self) {
        if self.number > 0 {
            number::put(self.numbers, self.map);
        }
        (self.number, self.map) = (0, 0);
    }
}

/// Writes the bytes of a word that a mask has; gives how many these are.
#[inline]
fn put_bytes(word: u64, mask: u8, room: &mut [u8]) -> usize {
    let room: &mut [u8; 8] = room.first_chunk_mut().expect("eight bytes more than all words take");
    if mask & mask.wrapping_add(1) == 0 {
        *room = word.to_le_bytes();
        return mask.trailing_ones() as usize;
    }
    let mut len = 0;
    for byte in word.to_le_bytes() {
        room[len] = byte;
        len += usize::from(byte != 0);
    }
    len
}

/// Which bytes of a word are not zero, the lowest first.
#[inline]
fn nonzero_bytes(word: u64) -> u8 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let tops = (((word & LOW) + LOW) | word) & !LOW;
    // Each product of a bit moves it to a place of its own in the top byte.
    ((tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_bytes_tell_the_word() {
        for mask in 0..=u8::MAX {
            let word =
                u64::from_le_bytes(std::array::from_fn(|byte| if mask >> byte & 1 == 1 { 0x80 >> byte } else { 0 }));
            assert_eq!(nonzero_bytes(word), mask);
            let mut room = [0; 16];
            let len = put_bytes(word, mask, &mut room);
            let bytes: Vec<u8> = word.to_le_bytes().into_iter().filter(|byte| *byte != 0).collect();
            assert_eq!(room[..len], bytes);
        }
    }

    #[test]
    fn what_a_function_repeats_takes_little() {
        let mut encoder = RecordEncoder::default();
        let mut sizes = Vec::new();
        for time in 0_u64..3 {
            let header = [240 | 3 << 32, 7 << 32 | time, 1000 + 50 * time];
            let before = encoder.len();
            encoder.push(30, header, Some(1 << 32), &[&[0xaa; 208]]);
            sizes.push(encoder.len() - before);
        }
        // The model, which words differ, and the mask and byte of the time.
        assert_eq!(sizes[1..], [1 + 1 + 2; 2]);
    }
}
