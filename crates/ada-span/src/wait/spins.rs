//! Waits for locks that threads spin for.
//!
//! A lock is a word: 1 where it is free, and less for each thread that has tried to take it since. The stubs keep the word of locks that are
//! taken when somebody asks for them, and of those that somebody has asked for when they are let go of. Who has a lock when another one begins
//! to spin lets go of it with such a word, so that it is known. Who takes it after that and before the one that spins, and is asked by
//! nobody, lets go of a lock that is not known: it may be the one that ended the wait.

use std::collections::HashMap;

use ada_event::{EventSeq, TraceNanos};

use super::found::{Found, has_ended};
use super::{Doubt, Doubts, WaitKind, WaitSpan};
use crate::NONE;
use crate::detail::EventDetail;
use crate::outcome::{Outcome, Status};
use crate::replay::{Closed, Opened};
use crate::role::{Role, SpinCall};
use crate::thread_index::ThreadIndex;

/// Calls that are remembered of a worker's threads. Who ended a wait is not certain beyond.
const MOST_CALLS: usize = 1 << 20;
/// Locks that a thread has at one time. What was only tried to be taken stays among them.
const MOST_HELD: usize = 256;

/// A call.
#[derive(Clone, Copy, Debug)]
struct Call {
    thread: ThreadIndex,
    seq: EventSeq,
    start: TraceNanos,
    end: TraceNanos,
    what: SpinCall,
    /// The lock, where it is known.
    object: Option<u64>,
    outcome: Outcome,
}

/// A call that let go of a lock, and the one that took it.
struct Release {
    call: Call,
    taken: Option<Call>,
}

impl Release {
    fn object(&self) -> Option<u64> {
        self.call.object.or(self.taken.and_then(|taken| taken.object))
    }

    /// Whether a lock may have been let go of between two times, by another thread than this one.
    fn is_within(&self, wait: &Call) -> bool {
        self.call.thread != wait.thread && self.call.end >= wait.start && self.call.start <= wait.end
    }
}

/// The calls of a worker's threads.
#[derive(Default)]
pub(super) struct SpinCalls {
    waits: Vec<Call>,
    releases: Vec<Release>,
    open: Vec<Call>,
    /// The calls that took what the thread has, or tried to.
    held: Vec<Call>,
    /// Some were not remembered.
    is_cut: bool,
}

impl SpinCalls {
    pub(super) fn begin_thread(&mut self) {
        self.open.clear();
        self.held.clear();
    }

    #[inline]
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn open(&mut self, thread: ThreadIndex, opened: &Opened, detail: Option<&EventDetail>) {
        let Role::Spin(what) = opened.role else { return };
        if !opened.is_frame {
            return;
        }
        // Of a lock that is free when it is asked for, or that nobody has asked for, the word is not kept.
        let word = detail.and_then(|detail| detail.words.first()).filter(|word| **word != NONE);
        let word = word.map(|word| *word as u32 as i32);
        let object = detail.filter(|_| word.is_some_and(|word| word <= 0)).map(|detail| detail.registers[0]);
        let (seq, start) = (opened.seq, opened.start);
        self.open.push(Call { thread, seq, start, end: start, what, object, outcome: Outcome::default() });
    }

    pub(super) fn close(&mut self, closed: &Closed) {
        let Some(call) = self.open.pop_if(|call| call.seq == closed.seq) else { return };
        let call = Call { end: closed.end(), outcome: closed.outcome, ..call };
        let has_returned = closed.outcome.status == Status::Completed && !closed.outcome.is_uncertain;
        if self.waits.len() + self.releases.len() >= MOST_CALLS {
            self.is_cut = true;
            return;
        }
        match call.what {
            SpinCall::Lock | SpinCall::TryLock => {
                if call.what == SpinCall::Lock && call.object.is_some() {
                    self.waits.push(call);
                }
                if has_returned && self.held.len() < MOST_HELD {
                    self.held.push(call);
                }
            }
            SpinCall::Unlock => {
                let is_same = |taken: &Call| taken.object == call.object;
                let is_other = |taken: &Call| taken.object.is_some() && call.object.is_some() && !is_same(taken);
                let at = self.held.iter().rposition(|taken| !is_other(taken));
                let taken = at.map(|at| self.held.remove(at)).filter(|taken| taken.what == SpinCall::Lock);
                self.releases.push(Release { call, taken });
            }
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.waits.extend(other.waits);
        self.releases.extend(other.releases);
        self.is_cut |= other.is_cut;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// The waits among them, with those who were waited for. `is_shared` says whether other processes have a lock too, `are_missing`
    /// whether events of a time are.
    pub(super) fn waits(
        mut self,
        is_shared: impl Fn(u64) -> bool,
        are_missing: impl Fn(TraceNanos, TraceNanos) -> bool,
    ) -> Vec<Found> {
        self.releases.sort_by_key(|release| (release.call.start, release.call.thread));
        let mut known: HashMap<u64, Vec<&Release>> = HashMap::new();
        let mut unknown = Vec::new();
        for release in &self.releases {
            match release.object() {
                Some(object) => known.entry(object).or_default().push(release),
                None => unknown.push(release),
            }
        }
        let found = |call: &Call| {
            let object = call.object.unwrap_or(NONE);
            let known = known.get(&object).map_or(&[][..], Vec::as_slice);
            let mut found = wait_of(call, known, &unknown);
            let mut doubts = Doubts(found.wait.doubts);
            let are_missing = are_missing(call.start, call.end);
            // The word was read before the clock, by a processor that does the one while it waits for the other.
            let was_free = doubts.has(Doubt::NoWaker) && known.iter().any(|release| release.call.end < call.start);
            if was_free && !are_missing && !self.is_cut && !is_shared(object) {
                return None;
            }
            if self.is_cut {
                doubts.add(Doubt::SeveralWakers);
            }
            if is_shared(object) {
                doubts.add(Doubt::OutsideWaker);
            }
            if are_missing {
                doubts.add(Doubt::Dropped);
            }
            found.wait.doubts = doubts.0;
            Some(found)
        };
        self.waits.iter().filter_map(found).collect()
    }
}

/// A wait, with those who let go of the lock, and of locks that are not known, in the order of time.
fn wait_of(call: &Call, known: &[&Release], unknown: &[&Release]) -> Found {
    let mut doubts = Doubts::default();
    let mut wait = WaitSpan {
        thread: call.thread,
        seq: call.seq,
        start: call.start,
        end: call.end,
        has_ended: has_ended(&call.outcome),
        kind: WaitKind::Spin as u64,
        is_timed: 0,
        inherits: 0,
        object: call.object.unwrap_or(NONE),
        mutex: NONE,
        ..WaitSpan::default()
    };
    // No two have a lock at the same time, and so no two let go of it.
    let until = |releases: &[&Release]| releases.partition_point(|release| release.call.start <= call.end);
    let of_lock = &known[..until(known)];
    let first =
        of_lock.iter().rev().take_while(|release| release.call.end >= call.start).filter(|it| it.is_within(call));
    match first.last().and_then(|release| release.taken.map(|taken| (release.call.thread, taken))) {
        // Who had it before would have let go of it meanwhile.
        Some((holder, taken)) if taken.start <= call.start => {
            (wait.holder, wait.hold_seq) = (Some(holder), Some(taken.seq));
            wait.hold_start = Some(taken.end.min(call.start));
        }
        _ => doubts.add(Doubt::NoOwner),
    }
    if wait.has_ended == 1 && wait.holder.is_none() {
        // Who had a lock then that nobody knows may have had this one.
        let mut possible = unknown[..until(unknown)].iter().filter(|release| release.is_within(call));
        let had = possible.find_map(|it| it.taken.filter(|taken| taken.start <= call.start));
        (wait.holder, wait.hold_seq) = (had.map(|taken| taken.thread), had.map(|taken| taken.seq));
        wait.hold_start = had.map(|taken| taken.end.min(call.start));
    }
    if wait.has_ended == 1 {
        let last = |releases: &[&Release]| {
            releases[..until(releases)].iter().rev().find(|it| it.is_within(call)).map(|release| release.call)
        };
        let (certain, perhaps) = (last(known), last(unknown));
        let perhaps = perhaps.filter(|it| certain.is_none_or(|certain| it.start > certain.start));
        match perhaps.or(certain) {
            Some(waker) => {
                (wait.waker, wait.wake_seq) = (Some(waker.thread), Some(waker.seq));
                wait.wake_time = Some(waker.start.clamp(wait.start, wait.end));
            }
            None => doubts.add(Doubt::NoWaker),
        }
        if perhaps.is_some() {
            doubts.add(Doubt::SeveralWakers);
        }
    }
    wait.doubts = doubts.0;
    let (asked, woken) = (wait.start, wait.end);
    Found { wait, asked, woken, has_given_up: false, phase: None, mutex: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: u64 = 0x1000;

    fn call(thread: u32, what: SpinCall, times: (u64, u64), object: Option<u64>) -> Call {
        let (start, end) = (TraceNanos(times.0), TraceNanos(times.1));
        let outcome = Outcome { status: Status::Completed, ..Outcome::default() };
        Call { thread: ThreadIndex(thread), seq: EventSeq(times.0), start, end, what, object, outcome }
    }

    /// A thread's lock from the first to the second time.
    fn release(thread: u32, taken: u64, let_go: u64, object: Option<u64>) -> Release {
        let taken = call(thread, SpinCall::Lock, (taken - 1, taken), None);
        Release { call: call(thread, SpinCall::Unlock, (let_go, let_go + 1), object), taken: Some(taken) }
    }

    /// Holder, waker and doubts of thread 1, which spins from 100 to 200.
    fn found(releases: Vec<Release>) -> (Option<u32>, Option<u32>, Doubts) {
        find(releases).unwrap()
    }

    fn find(releases: Vec<Release>) -> Option<(Option<u32>, Option<u32>, Doubts)> {
        let waits = vec![call(1, SpinCall::Lock, (100, 200), Some(LOCK))];
        let spins = SpinCalls { waits, releases, ..SpinCalls::default() };
        let found = spins.waits(|_| false, |_, _| false).pop()?.wait;
        Some((found.holder.map(|it| it.0), found.waker.map(|it| it.0), found.doubts()))
    }

    #[test]
    fn who_lets_go_next_has_the_lock_and_who_does_so_last_ends_the_wait() {
        let nothing = Doubts::default();
        let one = |taken| release(2, taken, 190, Some(LOCK));
        assert_eq!(found(vec![one(50)]), (Some(2), Some(2), nothing));
        // It took the lock after the thread had asked for it.
        let mut no_owner = Doubts::default();
        no_owner.add(Doubt::NoOwner);
        assert_eq!(found(vec![one(150)]), (None, Some(2), no_owner));
        let two = || vec![release(2, 50, 120, Some(LOCK)), release(3, 121, 190, Some(LOCK))];
        assert_eq!(found(two()), (Some(2), Some(3), nothing));
        // Others are about other locks, or before and after.
        let others = [release(4, 50, 195, Some(LOCK + 4)), release(4, 20, 40, Some(LOCK)), release(4, 210, 220, None)];
        assert_eq!(found(two().into_iter().chain(others).collect()), (Some(2), Some(3), nothing));
    }

    #[test]
    fn who_lets_go_of_a_lock_that_is_not_known_may_have_ended_it() {
        let mut several = Doubts::default();
        several.add(Doubt::SeveralWakers);
        let of_lock = || release(2, 50, 150, Some(LOCK));
        assert_eq!(found(vec![of_lock(), release(3, 151, 190, None)]), (Some(2), Some(3), several));
        // Who has a lock that is not known may have the one that is asked for.
        let mut no_owner = several;
        no_owner.add(Doubt::NoOwner);
        assert_eq!(found(vec![release(3, 60, 140, None)]), (Some(3), Some(3), no_owner));
        assert_eq!(found(vec![release(3, 110, 140, None)]), (None, Some(3), no_owner));
        // It was before the last one.
        assert_eq!(found(vec![of_lock(), release(3, 60, 140, None)]), (Some(2), Some(2), Doubts::default()));
        let mut nobody = Doubts::default();
        nobody.add(Doubt::NoOwner);
        nobody.add(Doubt::NoWaker);
        assert_eq!(found(Vec::new()), (None, None, nobody));
        // The lock was free by the time that it was asked for: somebody else would have let go of it meanwhile.
        assert_eq!(find(vec![release(2, 50, 90, Some(LOCK))]), None);
    }
}
