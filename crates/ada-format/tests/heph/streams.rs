//! Nesting and counters, against slow definitions that need no thought.

use std::collections::HashSet;

use ada_format::heph::{EventCounter, EventCounters, Interval, Nanos, StreamId, depth, parents};
use proptest::prelude::*;

/// Whether event `outer` encloses event `inner`: of equal ones, the later does.
fn encloses(events: &[Interval], outer: usize, inner: usize) -> bool {
    let (a, b) = (events[outer], events[inner]);
    a.start <= b.start && a.end >= b.end && outer != inner && (a != b || outer > inner)
}

proptest! {
    #[test]
    fn a_parent_is_an_innermost_event_that_encloses(times in proptest::collection::vec((0_u64..12, 0_u64..12), 0..12)) {
        let events: Vec<Interval> = times
            .iter()
            .map(|&(a, b)| Interval { start: Nanos(a.min(b)), end: Nanos(a.max(b)) })
            .collect();
        let parents = parents(&events);
        for (event, parent) in parents.iter().enumerate() {
            let outer: Vec<usize> = (0..events.len()).filter(|&other| encloses(&events, other, event)).collect();
            match *parent {
                None => prop_assert!(outer.is_empty()),
                Some(parent) => {
                    prop_assert!(outer.contains(&parent));
                    prop_assert!(!outer.iter().any(|&between| encloses(&events, parent, between)));
                }
            }
        }
        let generations = |event| std::iter::successors(Some(event), |&event| parents[event]).count();
        prop_assert_eq!(depth(&events), (0..events.len()).map(generations).max().unwrap_or(0));
    }

    #[test]
    fn late_and_repeated_events_keep_the_count_of_the_missed(
        start in any::<u32>(),
        steps in proptest::collection::vec(0_u32..500, 1..100),
    ) {
        // The first event is the lowest, so that all others lie behind it.
        let numbers = std::iter::once(0).chain(steps.iter().copied());
        let mut counters = EventCounters::with_max_streams(1);
        for number in numbers.clone() {
            counters.record(StreamId(0), EventCounter(start.wrapping_add(number)));
        }
        let (_, count) = counters.streams()[0];
        let distinct: HashSet<u32> = numbers.clone().collect();
        let span = numbers.max().unwrap_or(0) + 1;
        prop_assert_eq!(count.missed, u64::from(span) - distinct.len() as u64);
        prop_assert_eq!(count.received - count.repeated, distinct.len() as u64);
        prop_assert_eq!(count.last.0, start.wrapping_add(span - 1));
    }
}
