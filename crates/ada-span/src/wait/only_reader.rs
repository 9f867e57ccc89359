//! Who reads a lock that a writer waits for in vain.
//!
//! A reader that does not let go of a lock never says which one it is. But as long as a writer waits for readers, somebody reads the lock; and if
//! there is one thread alone that reads anything, it is that one.

use std::collections::HashMap;

use super::WaitSpan;
use super::call::{LockStep, MOST_STEPS, Step};
use super::found::{Found, Phase};
use super::parties::Known;
use crate::NONE;
use crate::thread_index::ThreadIndex;

/// A call that begins so long, in nanoseconds, after a writer has begun to wait sees that somebody waits, and shows the lock.
const SURELY_LATER: u64 = 100_000_000;

/// Notes in the steps of who reads a lock for which a writer waits at the end that it is this lock, where that is certain, and gives these threads.
/// `is_private` says of an address whether no other process has what is there.
pub(super) fn show_only_readers(
    steps: &mut HashMap<ThreadIndex, Vec<LockStep>>,
    waits: &[Found],
    known: &Known<'_>,
    is_private: impl Fn(u64) -> bool,
) -> Vec<ThreadIndex> {
    let options = known.options;
    let is_from_the_beginning = !options.is_attached && !options.is_fork && options.let_go_until.0 == 0;
    let is_complete = || known.losses.is_empty() && steps.values().all(|steps| steps.len() < MOST_STEPS);
    if !known.sees_reads || !is_from_the_beginning || !is_complete() {
        return Vec::new();
    }
    let mut readers = Vec::new();
    let waits_for_readers = |found: &&Found| found.phase == Some(Phase::Write) && found.wait.holder_tid.is_none();
    for Found { wait, .. } in waits.iter().filter(|found| found.wait.is_open()).filter(waits_for_readers) {
        if is_private(wait.object)
            && let Some((thread, at)) = only_reader(steps, wait)
            && let Some(step) = steps.get_mut(&thread).and_then(|steps| steps.get_mut(at))
        {
            step.object = wait.object;
            readers.push(thread);
        }
    }
    readers
}

/// The only step by which a lock is read at the end; `None` also where that may be another lock, or a reader may have let go of this one.
fn only_reader(steps: &HashMap<ThreadIndex, Vec<LockStep>>, wait: &WaitSpan) -> Option<(ThreadIndex, usize)> {
    let may_be_it = |step: &LockStep| step.object == NONE || step.object == wait.object;
    let lets_go = |step: &LockStep| {
        let shows_nothing = step.object == NONE && step.start.since(wait.start) > SURELY_LATER;
        step.what == Step::LetGo && step.end >= wait.start && may_be_it(step) && !shows_nothing
    };
    let mut found = None;
    for (thread, steps) in steps {
        if steps.iter().any(|step| step.is_read_write && lets_go(step)) {
            // Whoever was the last one to let go may have let the writer in.
            return None;
        }
        let held = held_at_the_end(steps)?;
        for at in held.into_iter().filter(|at| steps[*at].is_shared && may_be_it(&steps[*at])) {
            if found.replace((*thread, at)).is_some() {
                return None;
            }
        }
    }
    found
}

/// The steps by which a thread took the read-write locks that it has at the end; `None` where it is not certain which these are.
fn held_at_the_end(steps: &[LockStep]) -> Option<Vec<usize>> {
    let mut held: Vec<usize> = Vec::new();
    let mut is_certain = true;
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.is_read_write) {
        match step.what {
            Step::Taken => held.push(at),
            // What the call gave back is not recorded.
            Step::Tried => return None,
            Step::LetGo if held.len() > 1 => {
                let known = held.iter().position(|at| steps[*at].object != NONE && steps[*at].object == step.object);
                is_certain &= known.is_some();
                held.remove(known.unwrap_or(held.len() - 1));
            }
            Step::LetGo => drop(held.pop()),
        }
        is_certain |= held.is_empty();
    }
    is_certain.then_some(held)
}

#[cfg(test)]
mod tests {
    use ada_event::{EventSeq, TraceNanos};

    use super::*;

    const LOCK: u64 = 0x700;
    const OTHER: u64 = 0x800;

    fn step(at: u64, what: Step, is_shared: bool, object: u64) -> LockStep {
        let (seq, start, end) = (EventSeq(at), TraceNanos(at), TraceNanos(at + 2));
        LockStep { seq, start, end, what, is_read_write: true, is_shared, object }
    }

    fn read(at: u64) -> LockStep {
        step(at, Step::Taken, true, NONE)
    }

    fn let_go(at: u64, object: u64) -> LockStep {
        step(at, Step::LetGo, false, object)
    }

    /// Of threads with these steps, the one that reads the lock, for which another waits from 100 on.
    fn reader(threads: &[&[LockStep]]) -> Option<(u32, usize)> {
        let steps = (0..).zip(threads).map(|(number, steps)| (ThreadIndex(number), steps.to_vec())).collect();
        let wait = WaitSpan { object: LOCK, start: TraceNanos(100), ..WaitSpan::default() };
        only_reader(&steps, &wait).map(|(thread, at)| (thread.0, at))
    }

    #[test]
    fn who_alone_reads_anything_reads_the_lock() {
        assert_eq!(reader(&[&[read(10), let_go(20, NONE)], &[read(30)]]), Some((1, 0)));
        assert_eq!(reader(&[&[read(10)], &[read(30)]]), None);
        assert_eq!(reader(&[&[read(10), read(30)]]), None);
        assert_eq!(reader(&[&[read(10)], &[step(30, Step::Taken, false, NONE)]]), Some((0, 0)));
        assert_eq!(reader(&[&[read(10)], &[step(30, Step::Taken, true, OTHER)]]), Some((0, 0)));
        assert_eq!(reader(&[&[read(10)], &[step(30, Step::Tried, true, NONE)]]), None);
    }

    #[test]
    fn nobody_is_named_where_a_reader_may_have_let_the_writer_in() {
        assert_eq!(reader(&[&[read(10)], &[read(20), let_go(120, LOCK)]]), None);
        assert_eq!(reader(&[&[read(10)], &[read(20), let_go(120, NONE)]]), None);
        assert_eq!(reader(&[&[read(10)], &[read(20), let_go(99, NONE)]]), None, "it is under way");
        assert_eq!(reader(&[&[read(10)], &[read(20), let_go(120, OTHER)]]), Some((0, 0)));
        // It would have seen that somebody waits.
        assert_eq!(reader(&[&[read(10)], &[read(20), let_go(101 + SURELY_LATER, NONE)]]), Some((0, 0)));
    }

    #[test]
    fn which_of_two_was_let_go_of_is_not_known() {
        assert_eq!(reader(&[&[read(10), read(20), let_go(30, NONE)]]), None);
        assert_eq!(reader(&[&[read(10), read(20), let_go(30, NONE), let_go(40, NONE), read(50)]]), Some((0, 4)));
        assert_eq!(reader(&[&[read(10), step(20, Step::Taken, true, OTHER), let_go(30, OTHER)]]), Some((0, 0)));
    }
}
