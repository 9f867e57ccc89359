//! What was taken and not given back, by its number: a descriptor, or the address of memory.

use std::collections::BTreeMap;

use ada_event::TraceNanos;

/// Of so many takes the last is looked at for what is still there.
const LAST: usize = 10;

/// Takes and gives, in any order.
pub(super) struct Ledger<T> {
    entries: Vec<(TraceNanos, Entry<T>)>,
}

enum Entry<T> {
    Take { number: u64, what: T },
    Give { number: u64 },
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> Ledger<T> {
    /// Something has a number from the end of a call on.
    pub(super) fn take(&mut self, end: TraceNanos, number: u64, what: T) {
        self.entries.push((end, Entry::Take { number, what }));
    }

    /// A number is free from the start of a call on: another thread may get it before the call returns.
    pub(super) fn give(&mut self, start: TraceNanos, number: u64) {
        self.entries.push((start, Entry::Give { number }));
    }

    /// What was kept, in the order of its numbers. A number that is taken again was given back by somebody who was not seen.
    pub(super) fn kept(mut self) -> BTreeMap<u64, T> {
        self.entries.sort_by_key(|(time, _)| *time);
        let mut kept = BTreeMap::new();
        for (_, entry) in self.entries {
            match entry {
                Entry::Take { number, what } => drop(kept.insert(number, what)),
                Entry::Give { number } => drop(kept.remove(&number)),
            }
        }
        kept
    }

    /// The same for numbers of which the lowest that is free is taken: what is below one of the last was not free then, whoever may have
    /// given back what was not seen.
    pub(super) fn kept_lowest_first(mut self) -> BTreeMap<u64, T> {
        self.entries.sort_by_key(|(time, _)| *time);
        let number = |(_, entry): &(TraceNanos, Entry<T>)| match entry {
            Entry::Take { number, .. } => Some(*number),
            Entry::Give { .. } => None,
        };
        let taken: Vec<u64> = self.entries.iter().filter_map(number).collect();
        let last = taken.len() / LAST + 1;
        let bound = taken.iter().rev().take(last).max().copied().unwrap_or(0);
        let mut kept = self.kept();
        kept.retain(|number, _| *number < bound);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(entries: &[(u64, i64)]) -> Ledger<u64> {
        let mut ledger = Ledger::default();
        for &(time, number) in entries {
            match u64::try_from(number) {
                Ok(number) => ledger.take(TraceNanos(time), number, time),
                Err(_) => ledger.give(TraceNanos(time), number.unsigned_abs()),
            }
        }
        ledger
    }

    #[test]
    fn what_is_given_back_is_not_kept() {
        let kept = ledger(&[(1, 7), (2, 8), (4, 9), (3, -7), (5, -100)]).kept();
        assert_eq!(kept.into_iter().collect::<Vec<_>>(), [(8, 2), (9, 4)]);
    }

    #[test]
    fn what_is_taken_again_was_given_back_unseen() {
        let kept = ledger(&[(1, 7), (2, 7), (3, 7)]).kept();
        assert_eq!(kept.into_iter().collect::<Vec<_>>(), [(7, 3)]);
    }

    #[test]
    fn of_descriptors_only_those_below_one_of_the_last_are_known_to_be_open() {
        // 5 was closed by somebody who was not seen: the last one would else be 6.
        let kept = ledger(&[(1, 3), (2, 4), (3, 5), (4, 5)]).kept_lowest_first();
        assert_eq!(kept.into_keys().collect::<Vec<_>>(), [3, 4]);
        // All were closed at once, and nobody saw it.
        let kept = ledger(&[(1, 3), (2, 4), (3, 5), (4, 3)]).kept_lowest_first();
        assert!(kept.is_empty());
        assert!(ledger(&[]).kept_lowest_first().is_empty());
    }
}
