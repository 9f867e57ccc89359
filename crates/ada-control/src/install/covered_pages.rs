//! Fills the table of pages whose code has unwind information.

use std::collections::HashMap;
use std::ops::Range;

use ada_ring::state::covered::{FIRST_LEVEL, LEAF_BYTES, LEAF_COUNT, LEAF_SHIFT, LEAVES};

/// Where the table's leaves are.
#[derive(Default)]
pub(crate) struct CoveredPages {
    leaves: HashMap<u64, usize>,
}

impl CoveredPages {
    /// Marks or unmarks the pages that a range of addresses touches. False where the table has no room for a leaf: its
    /// pages stay uncovered, and calls from them are recorded without their returns.
    pub(crate) fn mark(&mut self, table: &mut [u8], addresses: Range<u64>, is_covered: bool) -> bool {
        let mut complete = true;
        for page in addresses.start >> 12..addresses.end.div_ceil(4096) {
            match self.leaf(table, page >> (LEAF_SHIFT - 12)) {
                Some(leaf) => table[leaf + (page as usize & (LEAF_BYTES - 1))] = u8::from(is_covered),
                None => complete = false,
            }
        }
        complete
    }

    fn leaf(&mut self, table: &mut [u8], number: u64) -> Option<usize> {
        if let Some(&leaf) = self.leaves.get(&number) {
            return Some(leaf);
        }
        if self.leaves.len() == LEAF_COUNT {
            return None;
        }
        let leaf = LEAVES + self.leaves.len() * LEAF_BYTES;
        let entry = FIRST_LEVEL + number as usize * 4;
        table.get_mut(entry..entry + 4)?.copy_from_slice(&(leaf as u32).to_le_bytes());
        self.leaves.insert(number, leaf);
        Some(leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::state::covered::BYTES;

    /// As the stubs look it up.
    fn is_covered(table: &[u8], address: u64) -> bool {
        let entry = FIRST_LEVEL + ((address << 17) >> 45) as usize * 4;
        let leaf = u32::from_le_bytes(table[entry..entry + 4].try_into().unwrap()) as usize;
        table[leaf + (address >> 12) as usize % LEAF_BYTES] != 0
    }

    #[test]
    fn marked_pages_are_covered_and_no_others() {
        let mut table = vec![0; BYTES];
        let mut pages = CoveredPages::default();
        assert!(pages.mark(&mut table, 0x7f00_0fff_f800..0x7f00_1000_0801, true));
        for (address, expected) in [
            (0x7f00_0fff_f000, true),
            (0x7f00_1000_0fff, true),
            (0x7f00_1000_1000, false),
            (0x7f00_0fff_efff, false),
            (0x40_0000, false),
            (u64::MAX, false),
            (0, false),
        ] {
            assert_eq!(is_covered(&table, address), expected, "{address:#x}");
        }
        pages.mark(&mut table, 0x7f00_0fff_f800..0x7f00_1000_0801, false);
        assert!(!is_covered(&table, 0x7f00_0fff_f000));
    }
}
