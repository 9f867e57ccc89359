//! Groups by their keys.

use ada_span::Histogram;

use super::key::Key;
use super::sums::Layout;

/// Groups that have percentiles; a histogram takes 1.4 KB.
const MOST_HISTOGRAMS: usize = 1 << 16;
/// Slots of a new hash table.
const FIRST_SLOTS: usize = 1 << 10;

/// The sums of groups. Each has a row of words: its key, unless the row's number is that, and what [`Layout`] says. The
/// first row takes what belongs to no group, so that adding needs no branch.
pub(super) struct GroupTable {
    /// Words of a row.
    pub(super) width: usize,
    /// Words of its key.
    key_words: usize,
    rows: Vec<u64>,
    /// The numbers of rows by the hash of their keys; 0 where there is none. Empty where the row's number is the key.
    slots: Vec<u32>,
    empty: Vec<u64>,
    /// Of durations, by the row's number; none unless they are wanted.
    histograms: Option<Vec<Option<Histogram>>>,
    histogram_count: usize,
}

impl GroupTable {
    /// A row for each of so many keys.
    pub(super) fn dense(keys: usize, layout: &Layout, wants_quantiles: bool) -> Self {
        let empty = layout.empty();
        let rows = empty.repeat(keys + 1);
        Self {
            width: layout.width,
            key_words: 0,
            rows,
            slots: Vec::new(),
            empty,
            histograms: wants_quantiles.then(Vec::new),
            histogram_count: 0,
        }
    }

    /// A row for each key that comes. There is room for so many before it grows.
    pub(super) fn hashed<K: Key>(room: usize, layout: &Layout, wants_quantiles: bool) -> Self {
        let empty = [vec![0; K::WORDS], layout.empty()].concat();
        let mut rows = Vec::with_capacity((room + 1) * empty.len());
        rows.extend_from_slice(&empty);
        Self {
            width: empty.len(),
            key_words: K::WORDS,
            rows,
            slots: vec![0; (room * 2).next_power_of_two().max(FIRST_SLOTS)],
            empty,
            histograms: wants_quantiles.then(Vec::new),
            histogram_count: 0,
        }
    }

    pub(super) fn is_dense(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many rows there are, the first one not counted.
    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.width - 1
    }

    /// How many groups a hash table can have in so many bytes.
    pub(super) fn room_in<K: Key>(bytes: u64, layout: &Layout) -> usize {
        let row = (K::WORDS + layout.width) as u64 * 8;
        // As many slots as a power of two has, and half as many groups.
        let fits = |exponent: &u32| (row << exponent) + (8 << exponent) <= bytes;
        1 << (16..31).rev().find(fits).unwrap_or(16)
    }

    /// All words; groups are found in them by [`Self::place`].
    pub(super) fn words(&mut self) -> &mut [u64] {
        &mut self.rows
    }

    /// Where the sums of a row are among the words.
    #[inline(always)]
    pub(super) fn place(&self, row: usize) -> usize {
        row * self.width + self.key_words
    }

    /// The row of a key, which is made if there is none.
    #[inline]
    pub(super) fn row_of<K: Key>(&mut self, key: K) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (key.hash() >> 32) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return self.insert(key, slot),
                row if K::read(&self.rows[row as usize * self.width..]) == key => return row as usize,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn insert<K: Key>(&mut self, key: K, slot: usize) -> usize {
        let row = self.rows.len() / self.width;
        self.rows.extend_from_slice(&self.empty);
        key.write(&mut self.rows[row * self.width..]);
        self.slots[slot] = row as u32;
        if row * 2 > self.slots.len() {
            self.rehash::<K>(self.slots.len() * 2);
        }
        row
    }

    fn rehash<K: Key>(&mut self, size: usize) {
        self.slots.clear();
        self.slots.resize(size, 0);
        for (row, words) in self.rows.chunks_exact(self.width).enumerate().skip(1) {
            let mut slot = (K::read(words).hash() >> 32) as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = row as u32;
        }
    }

    /// The key of a row.
    pub(super) fn key(&self, row: usize) -> u128 {
        let words = &self.rows[row * self.width..];
        match self.key_words {
            0 => row as u128 - 1,
            1 => u64::read(words).widened(),
            _ => u128::read(words),
        }
    }

    /// The sums of a row.
    pub(super) fn sums(&self, row: usize) -> &[u64] {
        let place = self.place(row);
        &self.rows[place..place + self.width - self.key_words]
    }

    pub(super) fn sums_mut(&mut self, row: usize) -> &mut [u64] {
        let place = self.place(row);
        &mut self.rows[place..place + self.width - self.key_words]
    }

    /// The rows with a key for which there was something.
    pub(super) fn filled(&self) -> impl Iterator<Item = usize> + '_ {
        (1..=self.len()).filter(|&row| self.rows[self.place(row)] > 0)
    }

    /// Forgets groups with this key and larger ones.
    pub(super) fn cut<K: Key>(&mut self, end: u128) {
        let mut kept = 1;
        for row in 1..=self.len() {
            if self.key(row) < end {
                self.rows.copy_within(row * self.width..(row + 1) * self.width, kept * self.width);
                kept += 1;
            }
        }
        self.rows.truncate(kept * self.width);
        self.rehash::<K>(self.slots.len());
    }

    /// Adds what another table has.
    pub(super) fn merge<K: Key>(&mut self, other: Self, layout: &Layout) {
        for row in other.filled() {
            let own = if self.is_dense() { row } else { self.row_of(K::narrowed(other.key(row))) };
            self.merge_histogram(own, other.complete_histogram(row));
            layout.merge(self.sums_mut(own), other.sums(row));
        }
    }

    /// The histogram of a row, as long as there is room for them.
    #[inline]
    pub(super) fn histogram(&mut self, row: usize) -> Option<&mut Histogram> {
        let is_new = self.rows[self.place(row)] == 0;
        let histograms = self.histograms.as_mut()?;
        if histograms.len() <= row {
            histograms.resize(row + 1, None);
        }
        if is_new && histograms[row].is_none() && self.histogram_count < MOST_HISTOGRAMS {
            self.histogram_count += 1;
            histograms[row] = Some(Histogram::default());
        }
        histograms[row].as_mut()
    }

    /// Adds a histogram; without one, what the row has would not be all of it.
    fn merge_histogram(&mut self, row: usize, other: Option<&Histogram>) {
        match (self.histogram(row), other) {
            (Some(own), Some(other)) => own.merge(other),
            (Some(_), None) => {
                if let Some(histograms) = &mut self.histograms {
                    histograms[row] = None;
                }
            }
            (None, _) => {}
        }
    }

    /// The histogram of a row, if all of its durations are in it.
    pub(super) fn complete_histogram(&self, row: usize) -> Option<&Histogram> {
        self.histograms.as_ref()?.get(row)?.as_ref()
    }
}
