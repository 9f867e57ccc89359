//! How calls ended, counted.

use std::collections::BTreeMap;

use ada_span::Outcome;
use serde_json::{Value, json};

/// Calls by how and why they ended.
#[derive(Default)]
pub(super) struct Endings {
    counts: BTreeMap<(&'static str, &'static str), u64>,
}

impl Endings {
    /// Adds calls with the outcome of a byte.
    pub(super) fn add(&mut self, byte: u8, count: u64) {
        let outcome = Outcome::from_byte(byte).unwrap_or_default();
        *self.counts.entry((outcome.status.word(), outcome.reason.word())).or_default() += count;
    }

    /// A list, the most frequent first.
    pub(super) fn to_json(&self) -> Value {
        let mut all: Vec<_> = self.counts.iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        all.into_iter()
            .map(|((status, reason), count)| json!({ "status": status, "reason": reason, "count": count }))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_span::{Reason, Status};

    #[test]
    fn the_most_frequent_ending_comes_first() {
        let crashed = Outcome::new(Status::Unmatched, Reason::Crash).to_byte();
        let mut endings = Endings::default();
        [(crashed, 2), (0, 5), (crashed, 1)].into_iter().for_each(|(byte, count)| endings.add(byte, count));
        let expected = json!([
            { "status": "completed", "reason": "none", "count": 5 },
            { "status": "unmatched", "reason": "crash", "count": 3 },
        ]);
        assert_eq!(endings.to_json(), expected);
    }
}
