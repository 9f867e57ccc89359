//! Functions that were not recorded all the time, and which spans may lack calls for it.

use std::collections::HashMap;

use ada_event::{FunctionId, TraceNanos};
use ada_format::atf::Manifest;

/// The switched functions of a process.
#[derive(Debug, Default)]
pub struct Switched {
    /// When functions were switched, and when back, each in order.
    from: Vec<TraceNanos>,
    to: Vec<TraceNanos>,
    functions: HashMap<FunctionId, Unrecorded>,
}

/// What is known of a function's calls that were not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unrecorded {
    /// Those that were counted instead.
    pub counted: u64,
    /// Whether there may be more than were counted.
    pub is_inexact: bool,
}

impl Switched {
    /// What a manifest says of them.
    pub fn of(manifest: Option<&Manifest>) -> Self {
        let mut switched = Self::default();
        for switch in manifest.into_iter().flat_map(|manifest| &manifest.switches) {
            let to = switch.to_ns.unwrap_or(TraceNanos::MAX);
            // One that counted no call has hidden none.
            if switch.count == Some(0) && switch.is_exact {
                continue;
            }
            switched.from.push(switch.from_ns);
            switched.to.push(to);
            let function = switched.functions.entry(switch.function_id).or_default();
            function.counted = function.counted.saturating_add(switch.count.unwrap_or(0));
            function.is_inexact |= switch.count.is_none() || !switch.is_exact;
        }
        switched.from.sort_unstable();
        switched.to.sort_unstable();
        switched
    }

    /// How many times of switched functions a stretch of time overlaps: calls of these may be missing from it.
    pub fn overlapping(&self, start: TraceNanos, end: TraceNanos) -> usize {
        let begun = self.from.partition_point(|&from| from < end);
        begun - self.to.partition_point(|&to| to <= start).min(begun)
    }

    /// Whether calls of such a function were not recorded.
    pub(crate) fn hides(&self, is_such: impl Fn(FunctionId) -> bool) -> bool {
        self.functions.keys().any(|function| is_such(*function))
    }

    /// Calls of a function that were not recorded, if there were any.
    pub fn of_function(&self, function: FunctionId) -> Option<Unrecorded> {
        self.functions.get(&function).copied()
    }

    /// How many functions were switched, and their calls meanwhile.
    pub fn sums(&self) -> (usize, Unrecorded) {
        let sum = self.functions.values().fold(Unrecorded::default(), |sum, it| Unrecorded {
            counted: sum.counted.saturating_add(it.counted),
            is_inexact: sum.is_inexact || it.is_inexact,
        });
        (self.functions.len(), sum)
    }
}

#[cfg(test)]
mod tests {
    use ada_format::atf::Switch;

    use super::*;

    #[test]
    fn only_what_overlaps_a_time_with_uncounted_calls_may_lack_some() {
        let switch = |function_id: u64, from_ns: u64, to_ns: Option<u64>, count: u64| Switch {
            function_id: FunctionId(function_id),
            from_ns: TraceNanos(from_ns),
            to_ns: to_ns.map(TraceNanos),
            count: Some(count),
            is_exact: true,
            ..Switch::default()
        };
        let switches = vec![
            switch(1, 100, Some(200), 5),
            switch(1, 300, None, 2),
            switch(2, 150, Some(160), 1),
            switch(3, 0, None, 0),
        ];
        let switched = Switched::of(Some(&Manifest { switches, ..Manifest::default() }));
        let overlaps = [(0, 100), (50, 101), (155, 158), (200, 300), (199, 301), (250, 900)];
        assert_eq!(
            overlaps.map(|(start, end)| switched.overlapping(TraceNanos(start), TraceNanos(end))),
            [0, 1, 2, 0, 2, 1]
        );
        let counted = |function: u64| switched.of_function(FunctionId(function)).map(|it| it.counted);
        assert_eq!([1, 2, 3].map(counted), [Some(7), Some(1), None]);
        assert_eq!(switched.sums(), (2, Unrecorded { counted: 8, is_inexact: false }));
    }
}
