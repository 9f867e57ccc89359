//! Which event caused which: by containment, among the events of one stream and substream.
//!
//! The format carries no span ids. An event that starts no later and ends no earlier than another one encloses it,
//! and the innermost event that encloses another is its parent. Of two events with the same times, the one that
//! arrived later is the outer one: an event is sent when it ends, and a caller ends after what it called. Events that
//! overlap without one enclosing the other are siblings.

use std::cmp::Reverse;

use super::Nanos;

/// When an event started and ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The start.
    pub start: Nanos,
    /// The end, not before the start.
    pub end: Nanos,
}

/// The parent of each of `events`, which are those of one stream and substream in the order of their arrival: its
/// index, or nothing for an event that none encloses. Takes O(n log n).
pub fn parents(events: &[Interval]) -> Vec<Option<usize>> {
    let mut parents = vec![None; events.len()];
    outermost_first(events, |event, enclosing| parents[event] = enclosing.last().copied());
    parents
}

/// How deep `events` nest: 1 where none encloses another, 0 without events. Takes O(n log n).
pub fn depth(events: &[Interval]) -> usize {
    let mut deepest = 0;
    outermost_first(events, |_, enclosing| deepest = deepest.max(enclosing.len() + 1));
    deepest
}

/// Visits each event after those that enclose it, which are given from the outermost to the innermost.
fn outermost_first(events: &[Interval], mut visit: impl FnMut(usize, &[usize])) {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_unstable_by_key(|&index| (events[index].start, Reverse(events[index].end), Reverse(index)));

    let mut enclosing: Vec<usize> = Vec::new();
    for index in order {
        // What ends before this event encloses no later one that this event does not enclose too.
        while enclosing.last().is_some_and(|&outer| events[outer].end < events[index].end) {
            enclosing.pop();
        }
        visit(index, &enclosing);
        enclosing.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(times: &[(u64, u64)]) -> Vec<Interval> {
        times.iter().map(|&(start, end)| Interval { start: Nanos(start), end: Nanos(end) }).collect()
    }

    #[test]
    fn children_arrive_before_their_parents() {
        let events = intervals(&[(2, 3), (4, 5), (1, 6), (7, 8), (0, 10)]);
        assert_eq!(parents(&events), [Some(2), Some(2), Some(4), Some(4), None]);
        assert_eq!(depth(&events), 3);
    }

    #[test]
    fn the_order_of_arrival_does_not_matter_otherwise() {
        let events = intervals(&[(0, 10), (1, 6), (2, 3)]);
        assert_eq!(parents(&events), [None, Some(0), Some(1)]);
    }

    #[test]
    fn of_equal_events_the_later_is_the_outer() {
        assert_eq!(parents(&intervals(&[(1, 2), (1, 2), (1, 2)])), [Some(1), Some(2), None]);
    }

    #[test]
    fn partial_overlaps_are_siblings() {
        // The numbers of the format document's example: 5 to 15 does not enclose 10 to 20.
        assert_eq!(parents(&intervals(&[(10, 20), (5, 15)])), [None, None]);
        assert_eq!(parents(&intervals(&[(10, 20), (5, 25)])), [Some(1), None]);
        assert_eq!(parents(&intervals(&[(10, 20), (15, 25), (0, 30), (16, 17)])), [Some(2), Some(2), None, Some(1)]);
    }

    #[test]
    fn touching_ends_do_not_enclose_but_a_moment_at_the_end_is_inside() {
        assert_eq!(parents(&intervals(&[(0, 10), (10, 20)])), [None, None]);
        assert_eq!(parents(&intervals(&[(0, 10), (10, 10)])), [None, Some(0)]);
    }

    #[test]
    fn a_deep_nest_takes_no_recursion() {
        let events: Vec<_> = (0..200_000).map(|i| (i, 1_000_000 - i)).collect();
        assert_eq!(depth(&intervals(&events)), 200_000);
        assert_eq!(depth(&[]), 0);
    }
}
