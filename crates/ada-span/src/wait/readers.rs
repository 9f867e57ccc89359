//! Who read a lock that somebody waited for.
//!
//! A read-write lock counts its readers and does not name them. A reader that lets go while somebody waits says which lock it is, and
//! if it had no other one by then, the call that took it is known.

use std::collections::HashMap;

use ada_event::EventSeq;

use super::call::{LockStep, Step};
use super::found::{Found, Phase, RECENT};
use super::holds::HoldSpan;
use super::{Doubt, Doubts, WaitKind, WaitSpan};
use crate::NONE;
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::thread_index::ThreadIndex;

/// Notes in a thread's steps which mutexes or read-write locks were taken, as far as the calls say that let go of them. `is_wanted` says of which locks.
pub(super) fn show_locks(steps: &mut [LockStep], is_read_write: bool, is_wanted: impl Fn(u64) -> bool) {
    // The steps that took what is held; nothing where it is not sure that one did.
    let mut held: Vec<Option<usize>> = Vec::new();
    for at in 0..steps.len() {
        let LockStep { what, object, .. } = steps[at];
        match what {
            _ if steps[at].is_read_write != is_read_write => {}
            Step::Taken => held.push(Some(at)),
            Step::Tried => held.push(None),
            Step::LetGo => {
                let taken = held.pop();
                if held.is_empty() {
                    let taken = taken.flatten().filter(|at| steps[*at].object == NONE && is_wanted(object));
                    taken.into_iter().for_each(|taken| steps[taken].object = object);
                } else {
                    // Which one of them it was is not known.
                    held.fill(None);
                }
            }
        }
    }
}

/// Makes one wait of those that a call has to make to read. One that reads and hands the lock to a writer wakes all that wait for either, and those who
/// want to read wait again.
pub(super) fn join_reads(waits: &mut Vec<Found>) {
    let mut first: HashMap<(ThreadIndex, EventSeq), usize> = HashMap::new();
    let mut joined: Vec<Found> = Vec::with_capacity(waits.len());
    for found in waits.drain(..) {
        if found.phase == Some(Phase::Read) {
            let call = (found.wait.thread, found.wait.seq);
            if let Some(before) = first.get(&call).map(|at| &mut joined[*at]) {
                let (wait, next) = (&mut before.wait, found.wait);
                (wait.end, wait.has_ended) = (next.end, next.has_ended);
                wait.holder_tid = wait.holder_tid.or(next.holder_tid);
                (before.woken, before.has_given_up) = (found.woken, found.has_given_up);
                continue;
            }
            first.insert(call, joined.len());
        }
        joined.push(found);
    }
    *waits = joined;
}

/// For what a thread had a read-write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
}

/// For what those had read-write locks that let go of them, by the call, where they had one alone.
pub(super) fn modes_of_unlocks(steps: &HashMap<ThreadIndex, Vec<LockStep>>) -> HashMap<(ThreadIndex, EventSeq), Mode> {
    let mut modes = HashMap::new();
    for (thread, steps) in steps {
        let mut held: Vec<Option<Mode>> = Vec::new();
        for step in steps.iter().filter(|step| step.is_read_write) {
            match step.what {
                Step::Taken => held.push(Some(if step.is_shared { Mode::Read } else { Mode::Write })),
                Step::Tried => held.push(None),
                Step::LetGo => {
                    let mode = held.pop();
                    if held.is_empty() {
                        modes.extend(mode.flatten().map(|mode| ((*thread, step.seq), mode)));
                    } else {
                        // Which one of them it was is not known.
                        held.fill(None);
                    }
                }
            }
        }
    }
    modes
}

/// The times in which locks were certainly read, by the lock, in the order of their starts.
pub(super) struct Readers<'a>(HashMap<u64, Vec<&'a HoldSpan>>);

impl<'a> Readers<'a> {
    pub(super) fn of(holds: &'a [HoldSpan]) -> Self {
        let mut by_lock: HashMap<u64, Vec<&HoldSpan>> = HashMap::new();
        for hold in holds.iter().filter(|hold| hold.is_shared == 1) {
            by_lock.entry(hold.object).or_default().push(hold);
        }
        Self(by_lock)
    }

    /// Names the reader that had the lock when a wait began, of several the last one to let go, where no writer had it. Who waits at the end waits for
    /// one that has let go of nothing by then.
    pub(super) fn find_holder(&self, wait: &mut WaitSpan, options: &ReplayOptions) {
        let is_unknown = wait.kind() == WaitKind::ReadWriteLock && wait.holder_tid.is_none();
        let Some(holds) = self.0.get(&wait.object).filter(|_| is_unknown) else { return };
        let begun = &holds[..holds.partition_point(|hold| hold.start <= wait.start)];
        let is_open = wait.is_open();
        let is_it = |hold: &&&HoldSpan| match is_open {
            true => hold.end >= wait.end,
            false => hold.end >= wait.start && hold.thread != wait.thread,
        };
        let had_it = begun.iter().rev().take(MANY).filter(is_it);
        let Some(last) = had_it.max_by_key(|hold| hold.end) else { return };
        (wait.holder, wait.hold_seq, wait.hold_start) = (Some(last.thread), Some(last.seq), Some(last.start));
        let mut doubts = Doubts(wait.doubts).without(Doubt::NoOwner);
        if is_open && options.end == ProcessEnd::Alive && wait.duration() < RECENT {
            doubts.add(Doubt::MayBeReleased);
        }
        wait.doubts = doubts.0;
    }
}

/// Readers that are looked through for one that has let go last.
const MANY: usize = 1024;

#[cfg(test)]
mod tests {
    use ada_event::TraceNanos;

    use super::*;

    const LOCK: u64 = 0x700;

    fn step(at: u64, what: Step, object: u64) -> LockStep {
        let (seq, start, end) = (EventSeq(at), TraceNanos(at), TraceNanos(at + 2));
        LockStep { seq, start, end, what, is_read_write: true, is_shared: true, object }
    }

    fn shown(mut steps: Vec<LockStep>) -> Vec<u64> {
        show_locks(&mut steps, true, |_| true);
        steps.iter().filter(|step| step.what != Step::LetGo).map(|step| step.object).collect()
    }

    #[test]
    fn who_lets_go_of_the_only_lock_had_taken_that() {
        let (taken, let_go) = (|at| step(at, Step::Taken, NONE), |at, object| step(at, Step::LetGo, object));
        assert_eq!(shown(vec![taken(10), let_go(20, LOCK), taken(30), let_go(40, NONE)]), [LOCK, NONE]);
        // Of two it is not known which was let go of first.
        assert_eq!(shown(vec![taken(10), taken(20), let_go(30, LOCK), let_go(40, 8)]), [NONE, NONE]);
        assert_eq!(shown(vec![step(10, Step::Tried, NONE), taken(20), let_go(30, LOCK)]), [NONE, NONE]);
    }

    #[test]
    fn the_last_one_to_let_go_is_named() {
        let hold = |thread, start, end| HoldSpan {
            thread: ThreadIndex(thread),
            seq: EventSeq(start),
            start: TraceNanos(start),
            end: TraceNanos(end),
            object: LOCK,
            kind: WaitKind::ReadWriteLock as u64,
            is_shared: 1,
        };
        let holds = [hold(1, 5, 40), hold(2, 6, 30), hold(3, 7, 12), hold(4, 25, 90)];
        let mut wait = WaitSpan {
            thread: ThreadIndex(9),
            kind: WaitKind::ReadWriteLock as u64,
            object: LOCK,
            start: TraceNanos(20),
            doubts: 1 << Doubt::NoOwner as u64,
            ..WaitSpan::default()
        };
        Readers::of(&holds).find_holder(&mut wait, &ReplayOptions::COMPLETE);
        assert_eq!((wait.holder, wait.hold_start, wait.doubts), (Some(ThreadIndex(1)), Some(TraceNanos(5)), 0));
        let mut other = WaitSpan { object: 8, holder: None, hold_start: None, ..wait };
        Readers::of(&holds).find_holder(&mut other, &ReplayOptions::COMPLETE);
        assert_eq!(other.holder, None);
    }
}
