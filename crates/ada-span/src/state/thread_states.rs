//! The states of one thread.

use ada_event::TraceNanos;

use super::ThreadState;

/// From when on a thread was in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) time: TraceNanos,
    pub(super) state: ThreadState,
    pub(super) cpu: u16,
}

/// How long a thread was in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateTimes([u64; ThreadState::ALL.len()]);

impl StateTimes {
    /// From the times in the order of [`ThreadState::ALL`].
    pub const fn new(times: [u64; ThreadState::ALL.len()]) -> Self {
        Self(times)
    }

    /// Those of several stretches of time.
    #[must_use]
    pub fn plus(mut self, more: Self) -> Self {
        for &state in ThreadState::ALL {
            self.add(state, more.of(state));
        }
        self
    }

    /// How long it was in one.
    pub fn of(self, state: ThreadState) -> u64 {
        self.0[state as usize]
    }

    /// The sum of all.
    pub fn total(self) -> u64 {
        self.0.iter().fold(0, |sum, time| sum.saturating_add(*time))
    }

    fn add(&mut self, state: ThreadState, time: u64) {
        let sum = &mut self.0[state as usize];
        *sum = sum.saturating_add(time);
    }
}

/// A stretch of time in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSpan {
    /// When it began.
    pub start: TraceNanos,
    /// When it ended.
    pub end: TraceNanos,
    /// The state.
    pub state: ThreadState,
    /// On which processor, of one that ran.
    pub cpu: Option<u16>,
}

/// The states of one thread, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct ThreadStates {
    changes: Vec<Change>,
    /// The times before each change.
    before: Vec<StateTimes>,
}

impl ThreadStates {
    /// From changes in the order of time.
    pub(super) fn new(changes: Vec<Change>) -> Self {
        let mut before = Vec::with_capacity(changes.len());
        let mut sum = StateTimes::default();
        for (at, change) in changes.iter().enumerate() {
            if let Some(last) = at.checked_sub(1).and_then(|at| changes.get(at)) {
                sum.add(last.state, change.time.since(last.time));
            }
            before.push(sum);
        }
        Self { changes, before }
    }

    /// The changes up to a moment: how many.
    fn until(&self, time: TraceNanos) -> usize {
        self.changes.partition_point(|change| change.time <= time)
    }

    /// The times from the first change to a moment.
    fn times_until(&self, time: TraceNanos) -> StateTimes {
        let Some(at) = self.until(time).checked_sub(1) else { return StateTimes::default() };
        let mut times = self.before[at];
        times.add(self.changes[at].state, time.since(self.changes[at].time));
        times
    }

    /// How long it was in each state between two moments; the sum is the time between them.
    pub fn between(&self, start: TraceNanos, end: TraceNanos) -> StateTimes {
        let (first, last) = (self.times_until(start), self.times_until(end));
        let mut times = StateTimes::default();
        for &state in ThreadState::ALL {
            times.add(state, last.of(state).saturating_sub(first.of(state)));
        }
        // Nothing is known from before the first change.
        let known = times.total();
        times.add(ThreadState::Unknown, end.since(start).saturating_sub(known));
        times
    }

    /// The stretches between two moments, without gaps.
    pub fn spans(&self, start: TraceNanos, end: TraceNanos) -> impl Iterator<Item = StateSpan> {
        let first = self.until(start);
        let earlier = first.checked_sub(1).map(|at| self.changes[at]);
        let unknown = Change { time: start, state: ThreadState::Unknown, cpu: 0 };
        let begin = Change { time: start, ..earlier.unwrap_or(unknown) };
        let inner = self.changes[first..].iter().copied().take_while(move |change| change.time < end);
        let mut changes = std::iter::once(begin).chain(inner).peekable();
        std::iter::from_fn(move || {
            let Change { time, state, cpu } = changes.next()?;
            let cpu = (state == ThreadState::Running).then_some(cpu);
            Some(StateSpan { start: time, end: changes.peek().map_or(end, |next| next.time), state, cpu })
        })
        .filter(|span| span.start < span.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> ThreadStates {
        let change = |time, state| Change { time: TraceNanos(time), state, cpu: 3 };
        ThreadStates::new(vec![
            change(10, ThreadState::Ready),
            change(12, ThreadState::Running),
            change(20, ThreadState::Blocked),
            change(50, ThreadState::Running),
        ])
    }

    fn sums(start: u64, end: u64) -> [u64; 4] {
        states().between(TraceNanos(start), TraceNanos(end)).0
    }

    #[test]
    fn sums_of_any_stretch_are_its_length() {
        assert_eq!(sums(10, 60), [18, 2, 30, 0]);
        assert_eq!(sums(0, 11), [0, 1, 0, 10]);
        assert_eq!(sums(15, 25), [5, 0, 5, 0]);
        assert_eq!(sums(55, 1055), [1000, 0, 0, 0]);
        assert_eq!(sums(7, 7), [0; 4]);
        for (start, end) in (0..70).flat_map(|start| (start..70).map(move |end| (start, end))) {
            let (start, end) = (TraceNanos(start), TraceNanos(end));
            let times = states().between(start, end);
            assert_eq!(times.total(), end - start);
            let mut by_span = StateTimes::default();
            states().spans(start, end).for_each(|span| by_span.add(span.state, span.end - span.start));
            assert_eq!(by_span, times, "{start} to {end}");
        }
    }

    #[test]
    fn stretches_have_no_gaps() {
        let states = states();
        let spans: Vec<_> = states.spans(TraceNanos(5), TraceNanos(30)).collect();
        let ends: Vec<_> = spans.iter().map(|it| (it.start.0, it.end.0, it.state.word(), it.cpu)).collect();
        let expected = [
            (5, 10, "unknown", None),
            (10, 12, "ready", None),
            (12, 20, "running", Some(3)),
            (20, 30, "blocked", None),
        ];
        assert_eq!(ends, expected);
    }
}
