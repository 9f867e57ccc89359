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
    /// Kept to reuse its memory.
    changed: Changed,
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
            changed: Changed { differences: [0; MAP_BITS as usize], words: [0; MAP_BITS as usize] },
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
        let (known_header, mut model) = self.words[start..start + count].split_at_mut(HEADER_WORDS);
        let mut changes = Changes { number: 0, map: 0, count: 0, memory: &mut self.changed };
        for (number, (known, word)) in known_header.iter_mut().zip(header).enumerate() {
            if COUNTED_WORDS.contains(&number) {
                let guess = &mut self.before[number - COUNTED_WORDS.start];
                changes.add(word.wrapping_sub(*guess), word);
                *guess = word.wrapping_add(u64::from(number == COUNTED_WORDS.start));
            } else {
                changes.compare(known, word);
            }
        }
        if let Some((known, word)) = function.and_then(|word| Some((model.split_off_first_mut()?, word))) {
            changes.compare(known, word);
        }
        for piece in pieces {
            let (mut whole, rest) = piece.as_chunks();
            while !whole.is_empty() {
                let some = whole.len().min(changes.room());
                let known = model.split_off_mut(..some).unwrap_or_default();
                changes.compare_all(known, whole.split_off(..some).unwrap_or_default());
                if changes.room() == 0 {
                    changes.write(&mut self.numbers, &mut self.masks, &mut self.data, &mut self.recent);
                }
            }
            if !rest.is_empty()
                && let Some(known) = model.split_off_first_mut()
            {
                let mut bytes = [0; 8];
                bytes[..rest.len()].copy_from_slice(rest);
                changes.compare(known, u64::from_le_bytes(bytes));
            }
        }
        if changes.number > 0 {
            changes.write(&mut self.numbers, &mut self.masks, &mut self.data, &mut self.recent);
        }
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

/// Words that differ: their differences, and the words themselves.
struct Changed {
    differences: [u64; MAP_BITS as usize],
    words: [u64; MAP_BITS as usize],
}

/// Which words of a record differ from what was expected, and how: of so many at a time as a map has. The counters are not in
/// the memory, so that they stay in registers.
struct Changes<'a> {
    /// How many words there were, which of them differ, and how many these are.
    number: u32,
    map: u64,
    count: usize,
    memory: &'a mut Changed,
}

impl Changes<'_> {
    /// How many more words the map has room for.
    #[inline(always)]
    fn room(&self) -> usize {
        (MAP_BITS - self.number) as usize
    }

    #[inline(always)]
    fn compare(&mut self, known: &mut u64, word: u64) {
        self.add(std::mem::replace(known, word) ^ word, word);
    }

    #[inline(always)]
    fn add(&mut self, difference: u64, word: u64) {
        let (is_changed, index) = (difference != 0, self.count % MAP_BITS as usize);
        (self.memory.differences[index], self.memory.words[index]) = (difference, word);
        self.count = self.count.wrapping_add(is_changed.into());
        self.map |= u64::from(is_changed) << (self.number % MAP_BITS);
        self.number = self.number.wrapping_add(1);
    }

    /// Compares no more words than there is room for.
    #[inline(always)]
    fn compare_all(&mut self, known: &mut [u64], words: &[[u8; 8]]) {
        const TOGETHER: usize = 4;
        let (known_groups, known_rest) = known.as_chunks_mut::<TOGETHER>();
        let (groups, rest) = words.as_chunks::<TOGETHER>();
        for (known, group) in known_groups.iter_mut().zip(groups) {
            let group = group.map(u64::from_le_bytes);
            let differences: [u64; TOGETHER] = std::array::from_fn(|number| known[number] ^ group[number]);
            // Most words are the same, and cost nothing more.
            if differences.into_iter().fold(0, |all, word| all | word) == 0 {
                self.number += TOGETHER as u32;
                continue;
            }
            differences.into_iter().zip(group).for_each(|(difference, word)| self.add(difference, word));
            *known = group;
        }
        known_rest.iter_mut().zip(rest).for_each(|(known, word)| self.compare(known, u64::from_le_bytes(*word)));
    }

    /// Writes the map; of each word that differs, which bytes of the difference are not zero, and these bytes, or where among
    /// the recent words it is found.
    #[inline]
    fn write(&mut self, numbers: &mut Vec<u8>, masks: &mut Tape, data: &mut Tape, recent: &mut RecentWords) {
        number::put(numbers, self.map);
        let count = self.count.min(MAP_BITS as usize);
        // Bytes are written eight at a time, and those behind the ones that count are written over.
        let (mask_room, mut data_room) = (masks.room(count), data.room(8 * count + 8));
        let all = data_room.len();
        let changes = self.memory.differences[..count].iter().zip(&self.memory.words[..count]);
        for (mask, (&difference, &word)) in mask_room.iter_mut().zip(changes) {
            let len = match recent.find_or_add(difference, word) {
                Some(index) => {
                    (*mask, data_room[0]) = (RECENT, index);
                    1
                }
                None => {
                    *mask = nonzero_bytes(difference);
                    put_bytes(difference, *mask, data_room)
                }
            };
            data_room = &mut data_room[len..];
        }
        let written = all - data_room.len();
        masks.len += count;
        data.len += written;
        (self.number, self.map, self.count) = (0, 0, 0);
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
    // Each product of a bit moves it to a bit of its own in the top byte.
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
