//! Which locks threads had at the end, and when they last let go of any: what other processes that wait for them have to know.

use ada_event::{EventSeq, TraceNanos};

use crate::NONE;
use crate::thread_index::ThreadIndex;
use crate::word_struct::word_struct;

word_struct! {
    /// The last call by which a thread let go of a lock, or may have.
    pub struct LastRelease {
        /// The thread.
        pub thread: ThreadIndex,
        /// The lock's address; [`crate::NONE`] where the call does not say.
        pub object: u64,
        /// When it was over; the end of all times where that is not known.
        pub end: TraceNanos,
    }
}

word_struct! {
    /// A lock that a thread had at the end.
    pub struct HeldAtEnd {
        /// The thread.
        pub thread: ThreadIndex,
        /// The call that took it, by its opening event.
        pub seq: EventSeq,
        /// When that was over.
        pub since: TraceNanos,
        /// The lock's address; [`crate::NONE`] where it is not known.
        pub object: u64,
        /// 1 if the thread certainly has it.
        pub is_sure: u64,
    }
}

/// A process's locks at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocksAtEnd {
    /// 1 if every call that lets go of a lock is known.
    pub sees_releases: u64,
    /// 1 if the process went on.
    pub goes_on: u64,
    /// The last releases.
    pub releases: Vec<LastRelease>,
    /// What is held.
    pub held: Vec<HeldAtEnd>,
}

impl LocksAtEnd {
    /// Whether a thread may have let go of a lock since a moment. `is_it` says of an address whether the lock can be there.
    pub fn may_have_released(&self, thread: ThreadIndex, since: TraceNanos, is_it: impl Fn(u64) -> bool) -> bool {
        let mut releases = self.releases.iter().filter(|it| it.thread == thread && it.end > since);
        self.sees_releases != 1 || releases.any(|it| it.object == NONE || is_it(it.object))
    }

    /// The call by which a thread took a lock that it has had since before a moment, and when it was over, if just one can be it.
    pub fn taken_by(
        &self,
        thread: ThreadIndex,
        before: TraceNanos,
        is_it: impl Fn(u64) -> bool,
    ) -> Option<(EventSeq, TraceNanos)> {
        let of_thread = self.held.iter().filter(|it| it.thread == thread && it.since <= before);
        let mut possible = of_thread.filter(|it| it.is_sure != 1 || it.object == NONE || is_it(it.object));
        let one = possible.next()?;
        (one.is_sure == 1 && possible.next().is_none()).then_some((one.seq, one.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ThreadIndex = ThreadIndex(1);

    fn locks(releases: &[(u64, u64)], held: &[(u64, u64, u64)]) -> LocksAtEnd {
        let release = |&(object, end): &(u64, u64)| LastRelease { thread: ONE, object, end: TraceNanos(end) };
        let hold = |&(since, object, is_sure): &(u64, u64, u64)| HeldAtEnd {
            thread: ONE,
            seq: EventSeq(since),
            since: TraceNanos(since),
            object,
            is_sure,
        };
        LocksAtEnd {
            sees_releases: 1,
            goes_on: 0,
            releases: releases.iter().map(release).collect(),
            held: held.iter().map(hold).collect(),
        }
    }

    #[test]
    fn a_lock_may_be_let_go_of_by_any_call_that_does_not_say_which() {
        let may = |locks: &LocksAtEnd, since| locks.may_have_released(ONE, TraceNanos(since), |object| object == 7);
        let known = locks(&[(7, 20), (8, 90), (NONE, 30)], &[]);
        assert_eq!((may(&known, 10), may(&known, 25), may(&known, 30)), (true, true, false));
        assert!(may(&LocksAtEnd { sees_releases: 0, ..known }, 30));
        assert!(may(&locks(&[(NONE, TraceNanos::MAX.0)], &[]), 30));
    }

    #[test]
    fn the_only_lock_that_is_held_is_the_one() {
        let taken = |held: &[(u64, u64, u64)]| {
            locks(&[], held).taken_by(ONE, TraceNanos(50), |object| object == 7).map(|(seq, _)| seq.0)
        };
        assert_eq!((taken(&[(10, NONE, 1)]), taken(&[(10, 8, 1), (20, 7, 1)])), (Some(10), Some(20)));
        assert_eq!((taken(&[(60, NONE, 1)]), taken(&[(10, 8, 1)]), taken(&[])), (None, None, None));
        assert_eq!((taken(&[(10, NONE, 1), (20, NONE, 1)]), taken(&[(10, NONE, 0)])), (None, None));
    }
}
