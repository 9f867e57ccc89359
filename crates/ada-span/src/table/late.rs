//! Ends of spans that were still open when their block was written.
//!
//! A block reserves one slot for each of its open spans, so that the slots of all blocks are in the order of their
//! spans, whenever those end. Spans end newest first, which walks down through neighbouring slots: a page at a time
//! is kept and written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The fields of a span that are known at its end, in the order of [`super::Column`]'s last ones.
pub(crate) const LATE_FIELDS: usize = 5;
/// Bytes of a slot.
pub(crate) const SLOT: u64 = 8 * LATE_FIELDS as u64;
/// Slots that are written together.
const PER_PAGE: u64 = 256;

/// Writes slots.
pub(crate) struct LateWriter {
    file: File,
    slots: u64,
    page: u64,
    values: Vec<[u64; LATE_FIELDS]>,
    is_dirty: bool,
}

impl LateWriter {
    pub(crate) fn new(file: File) -> Self {
        Self { file, slots: 0, page: 0, values: vec![[0; LATE_FIELDS]; PER_PAGE as usize], is_dirty: false }
    }

    /// Reserves slots, and gives the first one's number.
    pub(crate) fn reserve(&mut self, count: u64) -> u64 {
        let first = self.slots;
        self.slots += count;
        first
    }

    pub(crate) fn set(&mut self, slot: u64, fields: [u64; LATE_FIELDS]) -> io::Result<()> {
        if slot / PER_PAGE != self.page {
            self.flush()?;
            self.load(slot / PER_PAGE)?;
        }
        self.values[(slot % PER_PAGE) as usize] = fields;
        self.is_dirty = true;
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_dirty) {
            let bytes: Vec<u8> = self.values.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
            self.file.write_all_at(&bytes, self.page * PER_PAGE * SLOT)?;
        }
        Ok(())
    }

    fn load(&mut self, page: u64) -> io::Result<()> {
        self.page = page;
        let mut bytes = vec![0; (PER_PAGE * SLOT) as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.file.read_at(&mut bytes[filled..], page * PER_PAGE * SLOT + filled as u64)? {
                // Slots beyond the file's end have not been set yet.
                0 => break,
                count => filled += count,
            }
        }
        for (word, raw) in self.values.as_flattened_mut().iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*raw);
        }
        Ok(())
    }

    /// Writes what remains, and gives the number of slots.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.flush()?;
        // The last page may end before its slots do, and readers go by the file's length.
        self.file.set_len(self.slots * SLOT)?;
        Ok(self.slots)
    }
}
