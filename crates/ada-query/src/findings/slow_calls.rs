//! The slow calls of one function.

use ada_event::EventSeq;
use ada_span::ThreadIndex;

/// Slow calls of one function that are compared.
const MOST_COMPARED: usize = 9;

/// A slow call. It is ordered by its duration, which is less than the time that has elapsed where others had the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlowCall {
    pub(super) duration: u64,
    pub(super) thread: ThreadIndex,
    pub(super) seq: EventSeq,
    pub(super) start: u64,
    pub(super) elapsed: u64,
}

/// Counts slow calls, and keeps the slowest of them.
#[derive(Default)]
pub(super) struct SlowCalls {
    count: u64,
    total_ns: u64,
    slowest: Vec<SlowCall>,
    /// The newest one, as long as it may turn out to have a slow one inside.
    newest: Option<SlowCall>,
}

impl SlowCalls {
    /// Adds the next one of a thread, in the order in which they begin. A call that has a slow one of its own function inside is slow
    /// because of that one.
    pub(super) fn add(&mut self, call: SlowCall) {
        let is_around = |it: &SlowCall| it.thread == call.thread && call.start < it.start.saturating_add(it.elapsed);
        if let Some(before) = self.newest.replace(call).filter(|before| !is_around(before)) {
            self.keep(before);
        }
    }

    fn keep(&mut self, call: SlowCall) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(call.duration);
        self.slowest.push(call);
        if self.slowest.len() == 8 * MOST_COMPARED {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.slowest.sort_unstable_by(|left, right| right.cmp(left));
        self.slowest.truncate(MOST_COMPARED);
    }

    /// How many there were, how long they took in all, and the slowest.
    pub(super) fn finish(mut self) -> (u64, u64, Vec<SlowCall>) {
        if let Some(last) = self.newest.take() {
            self.keep(last);
        }
        self.cut();
        (self.count, self.total_ns, self.slowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(thread: u32, start: u64, elapsed: u64) -> SlowCall {
        SlowCall { duration: elapsed, thread: ThreadIndex(thread), seq: EventSeq(start), start, elapsed }
    }

    #[test]
    fn of_nested_calls_the_innermost_counts() {
        let mut slow = SlowCalls::default();
        for it in
            [call(0, 0, 100), call(0, 10, 50), call(0, 20, 30), call(0, 60, 20), call(0, 200, 10), call(1, 205, 7)]
        {
            slow.add(it);
        }
        let (count, total, slowest) = slow.finish();
        assert_eq!((count, total), (4, 67));
        assert_eq!(slowest.iter().map(|it| it.duration).collect::<Vec<_>>(), [30, 20, 10, 7]);
    }

    #[test]
    fn only_the_slowest_are_kept() {
        let mut slow = SlowCalls::default();
        (1..=1000).for_each(|it| slow.add(call(0, it * 10_000, it)));
        let (count, total, slowest) = slow.finish();
        assert_eq!((count, total), (1000, 500_500));
        assert_eq!(slowest.iter().map(|it| it.duration).collect::<Vec<_>>(), (992..=1000).rev().collect::<Vec<_>>());
    }
}
