//! Which locks a thread holds, as far as its own calls show.
//!
//! A lock that is taken without a wait is not known by its address: its call says only that the thread has one more. So the
//! books count, and know an address where a contended path has shown it. What they cannot know they call unsure.

use std::collections::HashMap;

use ada_event::{EventSeq, TraceNanos};

use super::call::{LockStep, Step};
use crate::NONE;

/// How many locks a thread is believed to hold.
const MOST_HELD: usize = 64;

/// A thread's books, which are read from the first step to the last.
pub(super) struct Books<'a> {
    steps: &'a [LockStep],
    next: usize,
    held: [Vec<Held>; 2],
    /// Which locks calls took, as those have shown that waited for them.
    shown: HashMap<EventSeq, u64>,
}

/// A lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    seq: EventSeq,
    since: TraceNanos,
    object: u64,
    is_sure: bool,
}

/// The call that took a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakenBy {
    /// This one, which ended then.
    Call(EventSeq, TraceNanos),
    /// One of several.
    Several,
    /// None that is recorded.
    Nobody,
}

impl<'a> Books<'a> {
    pub(super) fn new(steps: &'a [LockStep]) -> Self {
        Self { steps, next: 0, held: Default::default(), shown: HashMap::new() }
    }

    /// Which call took a lock that the thread holds at a time. Times do not go back from one question to the next.
    pub(super) fn taken_by(&mut self, object: u64, time: TraceNanos, is_read_write: bool) -> TakenBy {
        while let Some(step) = self.steps.get(self.next).filter(|step| step.end <= time) {
            self.next += 1;
            self.held[usize::from(step.is_read_write)].follow(&self.with_shown(step));
        }
        // The lock says whose it is before the call that takes it is over.
        let coming = self
            .steps
            .get(self.next)
            .filter(|step| step.what != Step::LetGo && step.is_read_write == is_read_write && step.start <= time);
        let mut candidates = self.held[usize::from(is_read_write)].clone();
        candidates.extend(coming.map(|step| Held::of(&self.with_shown(step))));
        if let Some(held) = candidates.iter().find(|held| held.object == object && held.is_sure) {
            return TakenBy::Call(held.seq, held.since.min(time));
        }
        candidates.retain(|held| held.object == NONE || !held.is_sure);
        match candidates[..] {
            [] => TakenBy::Nobody,
            [held] if held.is_sure => {
                self.show(held.seq, object, is_read_write);
                TakenBy::Call(held.seq, held.since.min(time))
            }
            _ => TakenBy::Several,
        }
    }

    /// Remembers which lock a call took: what is held beside it is another one.
    fn show(&mut self, seq: EventSeq, object: u64, is_read_write: bool) {
        self.shown.insert(seq, object);
        let held = self.held[usize::from(is_read_write)].iter_mut().find(|held| held.seq == seq);
        held.into_iter().for_each(|held| held.object = object);
    }

    fn with_shown(&self, step: &LockStep) -> LockStep {
        let shown = || self.shown.get(&step.seq).copied().unwrap_or(NONE);
        let object = if step.object == NONE && step.what == Step::Taken { shown() } else { step.object };
        LockStep { object, ..*step }
    }

    /// The locks that the thread has after its last step: the call that took each and when it was over, the address, and whether it is sure.
    pub(super) fn at_the_end(mut self) -> impl Iterator<Item = (EventSeq, TraceNanos, u64, bool)> {
        for step in self.steps {
            self.held[usize::from(step.is_read_write)].follow(step);
        }
        self.held.into_iter().flatten().map(|held| (held.seq, held.since, held.object, held.is_sure))
    }

    /// Whether the thread may have let go of a lock after a time.
    pub(super) fn may_have_released(&self, object: u64, time: TraceNanos, is_read_write: bool) -> bool {
        let first = self.steps.partition_point(|step| step.end <= time);
        let is_of_it = |step: &&LockStep| step.object == NONE || step.object == object;
        self.steps[first..]
            .iter()
            .filter(|step| step.is_read_write == is_read_write && step.what == Step::LetGo)
            .any(|step| is_of_it(&step))
    }

    /// The one call by which the thread let go of something between two times, if it is the only one that can be about the
    /// object; and whether there are several.
    pub(super) fn released_between(
        &self,
        object: u64,
        (from, to): (TraceNanos, TraceNanos),
        is_read_write: bool,
    ) -> (Option<&LockStep>, bool) {
        let first = self.steps.partition_point(|step| step.end < from);
        let mut found = self.steps[first..]
            .iter()
            .take_while(|step| step.start <= to)
            .filter(|step| step.is_read_write == is_read_write && step.what == Step::LetGo)
            .filter(|step| step.object == NONE || step.object == object);
        let one = found.next();
        let are_several = found.next().is_some();
        (one.filter(|_| !are_several), are_several)
    }
}

impl Held {
    fn of(step: &LockStep) -> Self {
        Self { seq: step.seq, since: step.end, object: step.object, is_sure: step.what == Step::Taken }
    }
}

/// What a step does to the list of what is held.
trait Follow {
    fn follow(&mut self, step: &LockStep);
}

impl Follow for Vec<Held> {
    fn follow(&mut self, step: &LockStep) {
        if step.what != Step::LetGo {
            // Nobody holds so many: their ends were not recorded.
            if self.len() >= MOST_HELD {
                self.remove(0);
                self.iter_mut().for_each(|held| held.is_sure = false);
            }
            self.push(Held::of(step));
            return;
        }
        if step.object != NONE
            && let Some(at) = self.iter().position(|held| held.object == step.object)
        {
            self.remove(at);
            return;
        }
        // One of these, and nobody knows which.
        let is_it = |held: &Held| step.object == NONE || held.object == NONE;
        if self.iter().filter(|held| is_it(held)).count() > 1 {
            self.iter_mut().filter(|held| is_it(held)).for_each(|held| held.is_sure = false);
        }
        if let Some(at) = self.iter().rposition(is_it) {
            self.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at: u64, what: Step, object: u64) -> LockStep {
        LockStep {
            seq: EventSeq(at),
            start: TraceNanos(at),
            end: TraceNanos(at + 2),
            what,
            is_read_write: false,
            is_shared: false,
            object,
        }
    }

    fn taken(steps: &[LockStep], object: u64, time: u64) -> TakenBy {
        Books::new(steps).taken_by(object, TraceNanos(time), false)
    }

    #[test]
    fn one_lock_is_the_one_and_of_two_none_is() {
        let steps = [step(10, Step::Taken, NONE), step(20, Step::Taken, NONE), step(30, Step::LetGo, NONE)];
        assert_eq!(taken(&steps, 7, 5), TakenBy::Nobody);
        assert_eq!(taken(&steps, 7, 15), TakenBy::Call(EventSeq(10), TraceNanos(12)));
        // Before the call is over.
        assert_eq!(taken(&steps, 7, 11), TakenBy::Call(EventSeq(10), TraceNanos(11)));
        assert_eq!(taken(&steps, 7, 25), TakenBy::Several);
        // Which of the two was let go of is not known.
        assert_eq!(taken(&steps, 7, 40), TakenBy::Several);
    }

    #[test]
    fn addresses_tell_locks_apart() {
        let steps = [step(10, Step::Taken, 7), step(20, Step::Taken, NONE), step(30, Step::LetGo, 7)];
        assert_eq!(taken(&steps, 7, 25), TakenBy::Call(EventSeq(10), TraceNanos(12)));
        assert_eq!(taken(&steps, 8, 25), TakenBy::Call(EventSeq(20), TraceNanos(22)));
        assert_eq!(taken(&steps, 8, 40), TakenBy::Call(EventSeq(20), TraceNanos(22)));
    }

    #[test]
    fn what_others_have_shown_is_remembered() {
        let steps = [step(10, Step::Taken, NONE), step(20, Step::Taken, NONE), step(30, Step::LetGo, 8)];
        let mut books = Books::new(&steps);
        assert_eq!(books.taken_by(7, TraceNanos(15), false), TakenBy::Call(EventSeq(10), TraceNanos(12)));
        assert_eq!(books.taken_by(8, TraceNanos(25), false), TakenBy::Call(EventSeq(20), TraceNanos(22)));
        // What was let go of is the other one.
        assert_eq!(books.taken_by(7, TraceNanos(40), false), TakenBy::Call(EventSeq(10), TraceNanos(12)));
        // A lock of which nobody knows who took it.
        assert_eq!(books.taken_by(9, TraceNanos(41), false), TakenBy::Nobody);
    }

    #[test]
    fn what_was_only_tried_is_not_sure() {
        let steps = [step(10, Step::Tried, NONE), step(20, Step::LetGo, NONE), step(30, Step::Taken, NONE)];
        assert_eq!(taken(&steps, 7, 15), TakenBy::Several);
        assert_eq!(taken(&steps, 7, 35), TakenBy::Call(EventSeq(30), TraceNanos(32)));
    }

    #[test]
    fn releases_of_other_locks_are_not_this_ones() {
        let steps = [step(10, Step::Taken, NONE), step(20, Step::LetGo, 8), step(30, Step::LetGo, NONE)];
        let books = Books::new(&steps);
        assert!(books.may_have_released(7, TraceNanos(15), false));
        assert!(!Books::new(&steps[..2]).may_have_released(7, TraceNanos(15), false));
        assert!(!books.may_have_released(7, TraceNanos(32), false));
        let between = |from, to| books.released_between(7, (TraceNanos(from), TraceNanos(to)), false).0;
        assert_eq!(between(15, 25), None);
        assert_eq!(between(15, 31), Some(&steps[2]));
    }
}
