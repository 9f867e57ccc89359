//! Reads parts of the tables whatever their checksums say: for fuzzers, which would never get past these.

use super::block::{BlockEntry, Columns};
use super::late::LATE_FIELDS;
use super::meta::Meta;

/// Reads the content of a `meta.bin`, and says whether it could be read. What could be survives being written.
///
/// # Panics
/// If it does not.
pub fn meta(content: &[u8]) -> bool {
    let Some(meta) = Meta::decode_content(content) else { return false };
    assert_eq!(Meta::decode(&meta.encode()).as_ref(), Some(&meta));
    true
}

/// Reads a block with so many rows and late ends, followed by the ends, and says whether it could be read.
///
/// # Panics
/// If columns have other lengths than there are rows.
pub fn block(rows: u32, late: u32, bytes: &[u8]) -> bool {
    let entry = BlockEntry { rows, late_count: late, ..BlockEntry::default() };
    let slots_len = (late as usize).saturating_mul(8 * LATE_FIELDS).min(bytes.len());
    let (block, slots) = bytes.split_at(bytes.len() - slots_len);
    let mut columns = Columns::new();
    columns.bytes = block.to_vec();
    if columns.decode(&entry, |_| true).is_none() || columns.apply_late(slots.as_chunks().0).is_none() {
        return false;
    }
    assert!(columns.values_mut().iter().all(|values| values.len() == rows as usize));
    true
}
