//! When events of a process may be missing.
//!
//! A task or block goes from thread to thread: a loss on any of them may hide what became of it. So what a thread is
//! known to run ends with a loss of its own, and what waits is in doubt after a loss of any.

use ada_event::TraceNanos;

use crate::thread_index::ThreadIndex;

/// A stretch of a thread's time, between two of its events, in which others were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) thread: ThreadIndex,
    /// The time of the last event before it.
    pub(crate) from: TraceNanos,
    /// The time of the first event after it.
    pub(crate) to: TraceNanos,
}

/// The losses of all threads, as stretches of time that do not touch, in order.
#[derive(Debug, Default)]
pub(crate) struct Losses(Vec<(TraceNanos, TraceNanos)>);

impl Losses {
    pub(crate) fn new(mut stretches: Vec<(TraceNanos, TraceNanos)>) -> Self {
        stretches.retain(|(from, to)| from < to);
        stretches.sort_unstable();
        let mut joined: Vec<(TraceNanos, TraceNanos)> = Vec::with_capacity(stretches.len());
        for (from, to) in stretches {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Self(joined)
    }

    /// Whether an event between two times may be missing.
    pub(crate) fn between(&self, from: TraceNanos, to: TraceNanos) -> bool {
        let next = self.0.partition_point(|stretch| stretch.1 <= from);
        self.0.get(next).is_some_and(|stretch| stretch.0 < to)
    }

    /// Whether an event after a time may be missing.
    pub(crate) fn since(&self, from: TraceNanos) -> bool {
        self.between(from, TraceNanos::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_joined_and_found() {
        let losses =
            Losses::new([(50, 60), (10, 20), (15, 30), (7, 7)].map(|it| (TraceNanos(it.0), TraceNanos(it.1))).into());
        let between = |from, to| losses.between(TraceNanos(from), TraceNanos(to));
        assert_eq!(losses.0.len(), 2);
        // Events at the edges were seen; what is missing lies between them.
        assert!(between(10, 11) && between(29, 30) && between(0, 100) && between(20, 25));
        assert!(!between(0, 10) && !between(30, 50) && !between(60, 100));
        assert!(losses.since(TraceNanos(59)) && !losses.since(TraceNanos(60)));
    }
}
