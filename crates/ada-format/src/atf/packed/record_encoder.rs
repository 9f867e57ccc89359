//! Encodes detail records as they come: only what differs from the last one of the same function is written.

use super::detail_code::{COUNTED_WORDS, PREFIX, SPARSE, STORED, ZSTD};
use super::number;
use crate::atf::layout::{RECORD_HEADER_SIZE, u64_at};

/// The level that costs the least.
const LEVEL: i32 = 1;
/// Places of the table that finds the last record of the same function.
const KNOWN: usize = 1024;

/// Encodes the records of one block after the other, in the same memory.
pub(super) struct RecordEncoder {
    compressor: Option<zstd::bulk::Compressor<'static>>,
    known: Vec<Option<Known>>,
    /// The words of the last record of each model, one model behind the other.
    words: Vec<u64>,
    models: u32,
    /// The counted words of the record before, the first of them as it is guessed for the next.
    before: [u64; COUNTED_WORDS.end - COUNTED_WORDS.start],
    numbers: Vec<u8>,
    masks: Tape,
    data: Tape,
    /// Kept to reuse its memory: a record's words as they differ from its model's.
    differences: Vec<u64>,
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
            numbers: Vec::new(),
            masks: Tape::default(),
            data: Tape::default(),
            differences: Vec::new(),
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
        self.numbers.clear();
        (self.masks.len, self.data.len) = (0, 0);
    }

    /// Bytes of the block so far, before they are compressed.
    pub(super) fn len(&self) -> usize {
        self.numbers.len() + self.masks.len + self.data.len
    }

    /// Appends a record that lies in pieces: its header and function first, and all but the last of whole words.
    #[inline]
    pub(super) fn push(&mut self, pieces: &[&[u8]]) {
        let count = pieces.iter().map(|piece| piece.len()).sum::<usize>().div_ceil(8);
        let first = pieces.first().copied().unwrap_or_default();
        let function = first.get(RECORD_HEADER_SIZE..RECORD_HEADER_SIZE + 8).map_or(0, |word| u64_at(word, 0));
        let start = self.model(u64_at(first, 0), function, count);
        if self.differences.len() < count {
            self.differences.resize(count, 0);
        }
        let model = &mut self.words[start..start + count];
        let differences = &mut self.differences[..count];
        let mut at = 0;
        for piece in pieces {
            let (words, rest) = piece.as_chunks();
            let places = model[at..].iter_mut().zip(&mut differences[at..]);
            for ((known, difference), word) in places.zip(words) {
                let word = u64::from_le_bytes(*word);
                *difference = word ^ *known;
                *known = word;
            }
            at += words.len();
            if !rest.is_empty() {
                let mut bytes = [0; 8];
                bytes[..rest.len()].copy_from_slice(rest);
                let word = u64::from_le_bytes(bytes);
                (differences[at], model[at]) = (word ^ model[at], word);
            }
        }
        for (number, guess) in COUNTED_WORDS.zip(&mut self.before) {
            differences[number] = model[number].wrapping_sub(*guess);
            *guess = model[number];
        }
        self.before[0] = self.before[0].wrapping_add(1);
        put(differences, &mut self.masks, &mut self.data);
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

    /// Makes a payload of the block as it is now.
    pub(super) fn payload(&mut self, payload: &mut Vec<u8>) {
        let parts = [&self.numbers, self.masks.bytes(), self.data.bytes()];
        self.body.clear();
        parts.iter().for_each(|part| self.body.extend_from_slice(part));
        payload.clear();
        payload.extend_from_slice(&[SPARSE | STORED, 0, 0, 0]);
        parts.iter().for_each(|part| payload.extend_from_slice(&(part.len() as u32).to_le_bytes()));
        payload.resize(PREFIX + zstd::zstd_safe::compress_bound(self.body.len()), 0);
        let compressed =
            self.compressor.as_mut().and_then(|it| it.compress_to_buffer(&self.body, &mut payload[PREFIX..]).ok());
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

/// Appends words. Of each eight: which are not zero; of each of these: which of its bytes are not zero, and these bytes.
#[inline]
fn put(words: &[u64], masks: &mut Tape, data: &mut Tape) {
    // Bytes are written eight at a time, and those behind the ones that count are written over.
    let (mask_room, data_room) = (masks.room(words.len() + words.len().div_ceil(8)), data.room(8 * words.len() + 8));
    let (mut mask_len, mut data_len) = (0, 0);
    for group in words.chunks(8) {
        let map_at = mask_len;
        mask_len += 1;
        let mut map = 0;
        if group.iter().fold(0, |all, word| all | word) != 0 {
            for (number, &word) in group.iter().enumerate() {
                if word == 0 {
                    continue;
                }
                map |= 1 << number;
                let mask = nonzero_bytes(word);
                mask_room[mask_len] = mask;
                mask_len += 1;
                data_len += put_bytes(word, mask, &mut data_room[data_len..]);
            }
        }
        mask_room[map_at] = map;
    }
    masks.len += mask_len;
    data.len += data_len;
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
            let words = [240 | 3 << 32, 7 << 32 | time, 1000 + 50 * time, 1 << 32].map(u64::to_le_bytes);
            let before = encoder.len();
            encoder.push(&[words.as_flattened(), &[0xaa; 208]]);
            sizes.push(encoder.len() - before);
        }
        // The model, a map of each eight words, and the mask and byte of the time.
        assert_eq!(sizes[1..], [1 + 4 + 2; 2]);
    }
}
