//! What a stretch of time has of one depth.

use crate::item::{Item, is_odd};

/// The longest span that begins in a stretch, and the longest odd one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) bucket: u64,
    longest: Item,
    odd: Option<Item>,
    count: u64,
}

impl Cell {
    pub(super) fn new(bucket: u64, item: Item) -> Self {
        Self { bucket, longest: item, odd: is_odd(item.outcome).then_some(item), count: item.count.into() }
    }

    pub(super) fn add(&mut self, item: Item) {
        self.count += u64::from(item.count);
        if is_odd(item.outcome) && self.odd.is_none_or(|odd| item.is_before(&odd)) {
            self.odd = Some(item);
        }
        if item.is_before(&self.longest) {
            self.longest = item;
        }
    }

    /// One or two items in the order of their starts. The odd one stands for itself alone.
    pub(super) fn items(&self) -> impl Iterator<Item = Item> {
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        let odd = self.odd.filter(|odd| odd.seq != self.longest.seq).map(|odd| Item { count: 1, ..odd });
        let others = count.saturating_sub(odd.is_some().into()).max(1);
        let longest = Item { count: others, ..self.longest };
        let (first, second) = match odd {
            Some(odd) if odd.start < longest.start => (odd, Some(longest)),
            odd => (longest, odd),
        };
        std::iter::once(first).chain(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_event::TraceNanos;
    use ada_span::table::FunctionIndex;
    use ada_span::{Outcome, Reason, Status};

    #[test]
    fn the_longest_and_the_longest_odd_one_stay() {
        let odd = Outcome::new(Status::Unmatched, Reason::Exception).to_byte();
        let item = |start: u64, duration: u64, outcome: u8| Item {
            start: TraceNanos(start),
            duration,
            seq: start,
            function: FunctionIndex(1),
            count: 1,
            outcome,
        };
        let mut cell = Cell::new(0, item(1, 5, 0));
        [item(2, 9, 0), item(3, 1, odd), item(4, 2, odd), item(5, 3, 0)].into_iter().for_each(|it| cell.add(it));
        let kept: Vec<(u64, u32)> = cell.items().map(|it| (it.start.0, it.count)).collect();
        assert_eq!(kept, [(2, 4), (4, 1)]);
    }
}
