//! Finds the nth record of a detail file in at most 31 hops.

use std::ops::Range;

use super::record::{DetailRecord, Hop, hop};
use crate::atf::Arch;

/// Records from one remembered offset to the next.
const STRIDE: u64 = 32;
/// Bytes between two calls of a walk's progress function.
const REPORT_EVERY: usize = 4 << 20;

/// The offset of each 32nd record: 8 bytes for some 4 KiB of file, grown with the records that are really there.
#[derive(Debug)]
pub(crate) struct OffsetTable {
    offsets: Vec<usize>,
    count: u64,
    end: usize,
}

impl OffsetTable {
    /// Walks the records until the end, or until one that cannot be read.
    pub(crate) fn build(bytes: &[u8], section: Range<usize>, arch: Arch, mut walked: impl FnMut(usize)) -> Self {
        let mut table = Self { offsets: Vec::new(), count: 0, end: section.start };
        let mut reported = section.start;
        while let Hop::Whole(_, next) = hop(bytes, table.end, section.end, arch) {
            if table.count.is_multiple_of(STRIDE) {
                table.offsets.push(table.end);
            }
            table.count += 1;
            table.end = next;
            if next - reported >= REPORT_EVERY {
                reported = next;
                walked(next);
            }
        }
        table
    }

    /// How many records can be read.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Where the walk ended.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The nth record.
    pub(crate) fn record<'a>(&self, bytes: &'a [u8], seq: u64, arch: Arch) -> Option<DetailRecord<'a>> {
        if seq >= self.count {
            return None;
        }
        let mut at = self.offsets[(seq / STRIDE) as usize];
        for _ in 0..seq % STRIDE {
            let Hop::Whole(_, next) = hop(bytes, at, self.end, arch) else { return None };
            at = next;
        }
        match hop(bytes, at, self.end, arch) {
            Hop::Whole(record, _) => Some(record),
            _ => None,
        }
    }
}
