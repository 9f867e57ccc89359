//! When in a run something happened, measured by what the program had done by then and not by the clock: a program that waits gets
//! nowhere.

use ada_event::TraceNanos;

/// Times that are kept of a row of them; of a longer one every second, every fourth, ….
const MOST: usize = 512;
/// Parts that a run is looked at in.
const PARTS: usize = 8;
/// In how many of them something comes again and again.
const LEAST_PARTS: usize = 3;
/// What goes on until the end has one in so many in the last quarter.
const LATE: i64 = 10;

/// Times of events, thinned out evenly.
#[derive(Clone, Debug)]
pub(super) struct Times {
    kept: Vec<TraceNanos>,
    /// One of so many is kept: a power of two.
    step: u64,
    seen: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { kept: Vec::new(), step: 1, seen: 0 }
    }
}

impl Times {
    pub(super) fn add(&mut self, time: TraceNanos) {
        if self.seen & (self.step - 1) == 0 {
            if self.kept.len() == MOST {
                self.thin();
            }
            if self.seen & (self.step - 1) == 0 {
                self.kept.push(time);
            }
        }
        self.seen += 1;
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.seen
    }

    /// With those of another thread.
    pub(super) fn merge(&mut self, mut other: Self) {
        while self.step < other.step {
            self.thin();
        }
        while other.step < self.step {
            other.thin();
        }
        self.kept.append(&mut other.kept);
        self.seen += other.seen;
    }

    fn thin(&mut self) {
        let mut is_kept = false;
        self.kept.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.step *= 2;
    }
}

/// What a program had done by when: the times of its calls, in their order.
pub(super) struct Progress {
    calls: Vec<TraceNanos>,
}

impl Progress {
    pub(super) fn new(calls: &Times) -> Self {
        let mut calls = calls.kept.clone();
        calls.sort_unstable();
        Self { calls }
    }

    /// How many of these times are in each part of the run.
    pub(super) fn parts(&self, times: &Times) -> Parts {
        let mut parts = Parts::default();
        for time in &times.kept {
            let before = self.calls.partition_point(|call| call < time);
            parts.0[(before * PARTS / self.calls.len().max(1)).min(PARTS - 1)] += times.step as i64;
        }
        parts
    }
}

/// How many there were in each part of a run, to within the step of their times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts([i64; PARTS]);

impl Parts {
    pub(super) fn add(&mut self, others: Self) {
        self.0.iter_mut().zip(others.0).for_each(|(sum, other)| *sum += other);
    }

    pub(super) fn subtract(&mut self, others: Self) {
        self.0.iter_mut().zip(others.0).for_each(|(sum, other)| *sum -= other);
    }

    /// How many there were after the first quarter, in which programs take what they need until they end.
    pub(super) fn after_the_start(&self) -> i64 {
        self.0[PARTS / 4..].iter().sum()
    }

    /// Whether they came again and again until the run ended, and not at its start, or all at once.
    pub(super) fn go_on(&self) -> bool {
        let all: i64 = self.0.iter().sum();
        let last_quarter: i64 = self.0[PARTS - PARTS / 4..].iter().sum();
        let parts = self.0.iter().filter(|it| **it > 0).count();
        parts >= LEAST_PARTS && last_quarter.saturating_mul(LATE) >= all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(range: impl Iterator<Item = u64>) -> Times {
        let mut times = Times::default();
        range.for_each(|time| times.add(TraceNanos(time)));
        times
    }

    #[test]
    fn times_are_thinned_out_evenly() {
        let progress = Progress::new(&times(0..100_000));
        let parts = progress.parts(&times((0..100_000).step_by(10)));
        assert!(parts.0.iter().all(|count| (1150..1350).contains(count)), "{parts:?}");
        let mut two = times(0..50_000);
        two.merge(times((50_000..100_000).step_by(100)));
        assert_eq!(progress.parts(&two).0[..4].iter().sum::<i64>() / 1000, 50);
    }

    #[test]
    fn what_goes_on_until_the_end_is_told_from_what_a_program_starts_with() {
        // It waits for a while in the middle of its calls: that is no part of the run.
        let progress = Progress::new(&times((0..1000).chain(1_000_000..1_001_000)));
        let go_on = |times: &Times| progress.parts(times).go_on();
        assert!(go_on(&times((0..1000).step_by(20).chain((1_000_000..1_001_000).step_by(20)))));
        assert!(go_on(&times((1_000_400..1_001_000).step_by(20))), "from the middle on");
        assert!(!go_on(&times((0..400).step_by(5))), "at the start");
        assert!(!go_on(&times((0..900).step_by(5))), "in the first half");
        assert!(!go_on(&times(1_000_900..1_001_000)), "all at once");
        assert!(!go_on(&times(0..0)));
    }
}
