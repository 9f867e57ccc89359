//! Which parts of a file are in use.

use std::collections::BTreeMap;
use std::ops::Range;

/// The free parts of a file, from their starts to their ends. No two of them touch.
pub(super) struct FileParts {
    free: BTreeMap<u64, u64>,
}

impl FileParts {
    /// All of this is free.
    pub(super) fn new(all: Range<u64>) -> Self {
        Self { free: BTreeMap::from([(all.start, all.end)]) }
    }

    /// Takes the first part that is large enough, and gives its start.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let (start, end) =
            self.free.iter().map(|(start, end)| (*start, *end)).find(|(start, end)| end - start >= bytes)?;
        self.free.remove(&start);
        if start + bytes < end {
            self.free.insert(start + bytes, end);
        }
        Some(start)
    }

    /// Gives a part back that was taken.
    pub(super) fn give_back(&mut self, part: Range<u64>) {
        let Range { mut start, mut end } = part;
        if let Some(behind) = self.free.remove(&end) {
            end = behind;
        }
        if let Some((before, _)) = self.free.range(..start).next_back().filter(|(_, to)| **to == start) {
            start = *before;
        }
        self.free.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_is_taken_first_and_grows_together() {
        let mut parts = FileParts::new(100..1000);
        let [a, b, c] = [50, 30, 20].map(|bytes| parts.take(bytes).unwrap());
        assert_eq!([a, b, c], [100, 150, 180]);
        parts.give_back(b..c);
        assert_eq!((parts.take(40), parts.take(10)), (Some(200), Some(150)));
        parts.give_back(150..160);
        parts.give_back(a..b);
        assert_eq!(parts.take(80), Some(100), "two that touch are one");
        assert_eq!((parts.take(761), parts.take(760)), (None, Some(240)));
        parts.give_back(c..200);
        parts.give_back(240..1000);
        parts.give_back(200..240);
        parts.give_back(100..180);
        assert_eq!(parts.free, BTreeMap::from([(100, 1000)]));
    }
}
