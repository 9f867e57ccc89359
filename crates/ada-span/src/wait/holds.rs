//! When threads certainly held locks that somebody waited for.
//!
//! Only contended paths show which lock a call took: one's own, when one had to wait for it, or another thread's, which reads the
//! owner. From that call on the thread has the lock, until its next call that can have let go of it.

use std::collections::HashMap;

use ada_event::{EventSeq, TraceNanos};

use super::call::{LockStep, MOST_STEPS, Step};
use super::{WaitKind, WaitSpan};
use crate::NONE;
use crate::concurrency::Loss;
use crate::thread_index::ThreadIndex;
use crate::word_struct::word_struct;

/// More of them are not kept.
const MOST_HOLDS: usize = 4_000_000;

word_struct! {
    /// A stretch of time in which a thread certainly held a lock. It may have held it for longer.
    pub struct HoldSpan {
        /// The thread.
        pub thread: ThreadIndex,
        /// The call that took the lock, by its opening event.
        pub seq: EventSeq,
        /// When that call was over.
        pub start: TraceNanos,
        /// When the thread's next call began that can have let go of the lock; the end of the recording without one.
        pub end: TraceNanos,
        /// The lock's address.
        pub object: u64,
        /// [`WaitKind`]'s number: a mutex, or a read-write lock.
        pub kind: u64,
        /// 1 if others may hold it too: a read-write lock that is read.
        pub is_shared: u64,
    }
}

impl HoldSpan {
    pub(crate) fn is_consistent(&self, threads: usize) -> bool {
        self.thread.as_usize() < threads && WaitKind::from_number(self.kind).is_some() && self.start <= self.end
    }

    /// What it is.
    pub fn kind(&self) -> WaitKind {
        WaitKind::from_number(self.kind).unwrap_or(WaitKind::Mutex)
    }
}

/// Finds them, by their starts. Every call that lets go of a lock is among the steps. `ends` has the ends of lives by thread: an
/// id may be used again.
pub(super) fn holds_of(
    steps: &HashMap<ThreadIndex, Vec<LockStep>>,
    waits: &[WaitSpan],
    losses: &HashMap<ThreadIndex, Vec<Loss>>,
    ends: &HashMap<ThreadIndex, Vec<TraceNanos>>,
) -> Vec<HoldSpan> {
    // What those who waited have found out.
    let mut shown: HashMap<(ThreadIndex, EventSeq), u64> = HashMap::new();
    for wait in waits.iter().filter(|wait| wait.kind() != WaitKind::Join) {
        shown.extend(wait.holder.zip(wait.hold_seq).map(|call| (call, wait.object)));
    }
    let mut holds = Vec::new();
    for (thread, steps) in steps {
        let ends = ends.get(thread).into_iter().flatten().copied();
        let losses = losses.get(thread).into_iter().flatten().map(|loss| loss.from);
        let mut breaks: Vec<TraceNanos> = ends.chain(losses).collect();
        if steps.len() >= MOST_STEPS {
            // Behind the last one that is kept nothing is known.
            breaks.extend(steps.last().map(|step| step.end));
        }
        breaks.sort_unstable();
        let mut releases = Releases::default();
        for step in steps.iter().rev() {
            if step.what == Step::LetGo {
                releases.note(step);
            }
            let by_others = || shown.get(&(*thread, step.seq)).copied().unwrap_or(NONE);
            let object = if step.object == NONE { by_others() } else { step.object };
            if object == NONE || step.what != Step::Taken {
                continue;
            }
            let next_break = breaks.get(breaks.partition_point(|at| *at < step.end)).copied();
            let Some(end) = releases.next_of(object, step.is_read_write).into_iter().chain(next_break).min() else {
                continue;
            };
            let kind = if step.is_read_write { WaitKind::ReadWriteLock } else { WaitKind::Mutex } as u64;
            let (seq, start) = (step.seq, step.end);
            let is_shared = step.is_shared.into();
            holds.push(HoldSpan { thread: *thread, seq, start, end: end.max(start), object, kind, is_shared });
        }
    }
    holds.sort_unstable_by_key(|hold| (hold.start, hold.thread, hold.seq));
    holds.truncate(MOST_HOLDS);
    holds
}

/// The next calls that let go of locks, for whoever comes from the end: by the lock, and of locks that are not known.
#[derive(Default)]
struct Releases {
    of_known: HashMap<(u64, bool), TraceNanos>,
    of_unknown: [Option<TraceNanos>; 2],
}

impl Releases {
    fn note(&mut self, step: &LockStep) {
        if step.object == NONE {
            self.of_unknown[usize::from(step.is_read_write)] = Some(step.start);
        } else {
            self.of_known.insert((step.object, step.is_read_write), step.start);
        }
    }

    /// The next one that can be about a lock.
    fn next_of(&self, object: u64, is_read_write: bool) -> Option<TraceNanos> {
        let known = self.of_known.get(&(object, is_read_write)).copied();
        known.into_iter().chain(self.of_unknown[usize::from(is_read_write)]).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: ThreadIndex = ThreadIndex(1);
    const END: TraceNanos = TraceNanos(1000);

    fn step(at: u64, what: Step, object: u64) -> LockStep {
        let (seq, start, end) = (EventSeq(at), TraceNanos(at), TraceNanos(at + 2));
        LockStep { seq, start, end, what, is_read_write: false, is_shared: false, object }
    }

    /// Start, end and object of each.
    fn holds(steps: &[LockStep], shown: &[(u64, u64)], losses: &[Loss]) -> Vec<(u64, u64, u64)> {
        let wait = |&(seq, object): &(u64, u64)| WaitSpan {
            kind: WaitKind::Mutex as u64,
            holder: Some(THREAD),
            hold_seq: Some(EventSeq(seq)),
            object,
            ..WaitSpan::default()
        };
        let waits: Vec<WaitSpan> = shown.iter().map(wait).collect();
        let found = holds_of(
            &[(THREAD, steps.to_vec())].into(),
            &waits,
            &[(THREAD, losses.to_vec())].into(),
            &[(THREAD, vec![END])].into(),
        );
        found.iter().map(|hold| (hold.start.0, hold.end.0, hold.object)).collect()
    }

    #[test]
    fn a_lock_is_held_until_it_may_have_been_let_go_of() {
        let steps = [
            step(10, Step::Taken, 7),
            step(20, Step::Taken, NONE),
            step(30, Step::LetGo, 9),
            step(40, Step::LetGo, NONE),
            step(50, Step::LetGo, 7),
        ];
        assert_eq!(holds(&steps, &[], &[]), [(12, 40, 7)]);
        assert_eq!(holds(&steps, &[(20, 8)], &[]), [(12, 40, 7), (22, 40, 8)]);
        assert_eq!(holds(&steps[..2], &[], &[]), [(12, END.0, 7)]);
    }

    #[test]
    fn what_was_only_tried_is_not_held_and_losses_end_what_is_known() {
        assert_eq!(holds(&[step(10, Step::Tried, 7)], &[], &[]), []);
        let loss = Loss { thread: THREAD, from: TraceNanos(15), to: TraceNanos(16) };
        assert_eq!(holds(&[step(10, Step::Taken, 7), step(30, Step::LetGo, 7)], &[], &[loss]), [(12, 15, 7)]);
    }
}
