//! What is known of a batch of records as a whole, by looking at each of them once.

use ada_ring::record::{HAS_DETAIL, IS_PROBED};
use ada_ring::{RawRecord, shadow_stack};

/// Facts of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BatchFacts {
    /// The bits that any record has beside its depth.
    bits: u32,
    /// The bits that all of them have.
    common: u32,
    /// The highest number of a function; 0 where there are no records.
    pub(super) highest_function: u32,
    /// The latest time stamp; 0 where there are no records.
    pub(super) latest: u64,
    /// Whether each record's time stamp is at or behind that of the one before.
    pub(super) is_in_order: bool,
}

impl BatchFacts {
    pub(super) fn of(records: &[RawRecord]) -> Self {
        let mut facts = Self { bits: 0, common: u32::MAX, highest_function: 0, latest: 0, is_in_order: true };
        for record in records {
            facts.bits |= record.top_and_kind;
            facts.common &= record.top_and_kind;
            facts.highest_function = facts.highest_function.max(record.function);
            facts.is_in_order &= facts.latest <= record.tsc;
            facts.latest = facts.latest.max(record.tsc);
        }
        facts
    }

    /// Whether all of them are of one stack.
    pub(super) fn are_of_one_stack(&self) -> bool {
        shadow_stack::number(self.bits) == shadow_stack::number(self.common)
    }

    /// Whether registers were captured with any of them.
    pub(super) fn has_detail(&self) -> bool {
        self.bits & HAS_DETAIL != 0
    }

    /// Whether a runtime probe belongs to any of them.
    pub(super) fn has_probes(&self) -> bool {
        self.bits & IS_PROBED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tsc: u64, function: u32, bits: u32) -> RawRecord {
        RawRecord { tsc, function, top_and_kind: 0x4000 | bits }
    }

    #[test]
    fn each_record_counts() {
        let plain = [record(5, 9, 0), record(5, 3, 1), record(7, 4, 2)];
        let facts = BatchFacts::of(&plain);
        assert_eq!((facts.highest_function, facts.latest, facts.is_in_order), (9, 7, true));
        assert!(!facts.has_detail() && !facts.has_probes());
        for index in 0..plain.len() {
            let mut records = plain;
            records[index].top_and_kind |= HAS_DETAIL;
            assert!(BatchFacts::of(&records).has_detail());
            records[index].top_and_kind ^= HAS_DETAIL | IS_PROBED;
            let facts = BatchFacts::of(&records);
            assert!(facts.has_probes() && !facts.has_detail());
        }
    }

    #[test]
    fn a_record_before_any_earlier_one_is_out_of_order() {
        // The last is behind its neighbour, but before the first.
        let facts = BatchFacts::of(&[record(50, 1, 0), record(10, 1, 0), record(20, 1, 0)]);
        assert_eq!((facts.is_in_order, facts.latest), (false, 50));
        assert_eq!(
            BatchFacts::of(&[]),
            BatchFacts { bits: 0, common: u32::MAX, highest_function: 0, latest: 0, is_in_order: true }
        );
    }
}
