//! Puts spans that overlap beside each other: each goes to the first lane that is free.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use ada_event::TraceNanos;

/// Lanes for spans that come in the order of their starts.
#[derive(Debug, Default)]
pub struct Lanes {
    /// Lanes in use, by when they become free.
    busy: BinaryHeap<Reverse<(TraceNanos, usize)>>,
    free: BTreeSet<usize>,
    count: usize,
}

impl Lanes {
    /// The lane of the next span.
    pub fn take(&mut self, start: TraceNanos, end: TraceNanos) -> usize {
        while let Some(&Reverse((until, lane))) = self.busy.peek()
            && until <= start
        {
            self.busy.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        // One without length takes its lane for that moment, or two of one moment would lie on each other.
        self.busy.push(Reverse((end.max(start.saturating_add(1)), lane)));
        lane
    }

    /// How many lanes there are.
    pub fn count(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_overlap_get_lanes_of_their_own() {
        let mut lanes = Lanes::default();
        let placed: Vec<usize> = [(0, 10), (1, 3), (3, 4), (3, 3), (10, 11), (10, 12)]
            .map(|(start, end)| lanes.take(TraceNanos(start), TraceNanos(end)))
            .into();
        assert_eq!(placed, [0, 1, 1, 2, 0, 1]);
        assert_eq!(lanes.count(), 3);
    }
}
