//! The calls that end others' waits, by what they are about.

use std::collections::HashMap;

use ada_event::{EventSeq, TraceNanos};

use crate::thread_index::ThreadIndex;

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wake {
    pub(crate) thread: ThreadIndex,
    /// What the program called.
    pub(crate) seq: EventSeq,
    pub(crate) start: TraceNanos,
    pub(crate) end: TraceNanos,
    /// How many waits it can end; 0 where it may be that it ends none.
    pub(crate) room: u64,
}

/// Those of a process, by the address of what they are about, in the order of their starts.
#[derive(Default)]
pub(crate) struct Wakes(HashMap<u64, Vec<Wake>>);

/// Who ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WokenBy {
    /// This call.
    Call(Wake),
    /// This one, or another thread's before it.
    Perhaps(Wake),
    /// None that is recorded.
    Nobody,
}

impl WokenBy {
    /// The same, or the later end of a thread that had a robust mutex, and whether it was that: object, waiter, and the stretch of time.
    pub(crate) fn or_died(
        self,
        deaths: &Wakes,
        (object, waiter, from, to): (u64, ThreadIndex, TraceNanos, TraceNanos),
    ) -> (Self, bool) {
        let Self::Call(died) = deaths.last(object, waiter, from, to) else { return (self, false) };
        match self {
            Self::Call(last) | Self::Perhaps(last) if last.start > died.start => (self, false),
            _ if died.room > 0 => (Self::Call(died), true),
            _ => (Self::Perhaps(died), true),
        }
    }
}

impl Wakes {
    pub(crate) fn add(&mut self, object: u64, wake: Wake) {
        self.0.entry(object).or_default().push(wake);
    }

    pub(crate) fn of(wakes: impl IntoIterator<Item = (u64, Wake)>) -> Self {
        let mut all = Self::default();
        wakes.into_iter().for_each(|(object, wake)| all.add(object, wake));
        all.sort();
        all
    }

    pub(crate) fn sort(&mut self) {
        self.0.values_mut().for_each(|wakes| wakes.sort_unstable_by_key(|wake| (wake.start, wake.thread, wake.seq)));
    }

    /// The last call, by another thread, that began before the end of a stretch of time and ended after its beginning: a lock is let go of by one thread at a time, so that
    /// no earlier one can be it.
    pub(crate) fn last(&self, object: u64, by_other_than: ThreadIndex, from: TraceNanos, to: TraceNanos) -> WokenBy {
        let found = self.between(object, from, to).iter().rev().find(|wake| wake.thread != by_other_than);
        found.map_or(WokenBy::Nobody, |wake| WokenBy::Call(*wake))
    }

    /// The same where several threads let go at a time, as those that read do.
    pub(crate) fn last_of_several(
        &self,
        object: u64,
        by_other_than: ThreadIndex,
        from: TraceNanos,
        to: TraceNanos,
    ) -> WokenBy {
        match self.last(object, by_other_than, from, to) {
            WokenBy::Call(last) => {
                let others = |wake: &Wake| wake.thread != by_other_than && wake.thread != last.thread;
                let are_several = self.between(object, from, to).iter().any(others);
                if are_several { WokenBy::Perhaps(last) } else { WokenBy::Call(last) }
            }
            found => found,
        }
    }

    /// Takes the last one that has room for another wait. Calls are asked for in the order in which waits ended.
    pub(crate) fn take(
        &mut self,
        object: u64,
        by_other_than: ThreadIndex,
        from: TraceNanos,
        to: TraceNanos,
    ) -> WokenBy {
        let range = self.range(object, from, to);
        let Some(wakes) = self.0.get_mut(&object).map(|wakes| &mut wakes[range]) else { return WokenBy::Nobody };
        let mut free = wakes.iter_mut().rev().filter(|wake| wake.room > 0 && wake.thread != by_other_than);
        let Some(last) = free.next() else { return WokenBy::Nobody };
        let is_of_others = free.any(|wake| wake.thread != last.thread);
        last.room -= 1;
        if is_of_others { WokenBy::Perhaps(*last) } else { WokenBy::Call(*last) }
    }

    fn range(&self, object: u64, from: TraceNanos, to: TraceNanos) -> std::ops::Range<usize> {
        let Some(wakes) = self.0.get(&object) else { return 0..0 };
        // Those that began before, and may have had their effect since.
        let began = wakes.partition_point(|wake| wake.start < from);
        let under_way = wakes[..began].iter().rev().take_while(|wake| wake.end >= from).count();
        let first = began - under_way;
        first..wakes.partition_point(|wake| wake.start <= to).max(first)
    }

    /// Those that were under way in a stretch of time.
    pub(crate) fn between(&self, object: u64, from: TraceNanos, to: TraceNanos) -> &[Wake] {
        let range = self.range(object, from, to);
        self.0.get(&object).map_or(&[], |wakes| &wakes[range])
    }

    /// The address of the nearest object, of those that are known, that an address lies in.
    pub(crate) fn object_around(&self, address: u64, size: u64) -> Option<u64> {
        (address.saturating_sub(size - 1)..=address).rev().find(|at| self.0.contains_key(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_wakes_one_and_the_last_unlock_is_the_one() {
        let mut wakes = Wakes::default();
        let wake = |thread, start| Wake {
            thread: ThreadIndex(thread),
            seq: EventSeq(start),
            start: TraceNanos(start),
            end: TraceNanos(start + 2),
            room: 1,
        };
        for (thread, start) in [(2, 30), (1, 10), (1, 20)] {
            wakes.add(7, wake(thread, start));
        }
        wakes.sort();
        let (from, to) = (TraceNanos(5), TraceNanos(25));
        assert_eq!(wakes.last(7, ThreadIndex(0), from, to), WokenBy::Call(wake(1, 20)));
        assert_eq!(wakes.last(7, ThreadIndex(1), from, TraceNanos(35)), WokenBy::Call(wake(2, 30)));
        // It was under way.
        assert_eq!(wakes.last(7, ThreadIndex(0), TraceNanos(11), TraceNanos(15)), WokenBy::Call(wake(1, 10)));
        assert_eq!(wakes.last(7, ThreadIndex(0), TraceNanos(13), TraceNanos(15)), WokenBy::Nobody);
        assert_eq!(wakes.last(8, ThreadIndex(0), from, to), WokenBy::Nobody);
        let several = wakes.last_of_several(7, ThreadIndex(0), from, TraceNanos(35));
        assert_eq!(several, WokenBy::Perhaps(wake(2, 30)));
        let used = |thread, start| Wake { room: 0, ..wake(thread, start) };
        assert_eq!(wakes.take(7, ThreadIndex(0), from, to), WokenBy::Call(used(1, 20)));
        assert_eq!(wakes.take(7, ThreadIndex(0), from, TraceNanos(35)), WokenBy::Perhaps(used(2, 30)));
        assert_eq!(wakes.take(7, ThreadIndex(0), from, TraceNanos(35)), WokenBy::Call(used(1, 10)));
        assert_eq!(wakes.take(7, ThreadIndex(0), from, TraceNanos(35)), WokenBy::Nobody);
        assert_eq!(wakes.object_around(10, 8), Some(7));
        assert_eq!(wakes.object_around(20, 8), None);
    }
}
