//! Who held what was waited for, and who ended each wait.

use std::collections::HashMap;
use std::ops::Range;

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::books::{Books, TakenBy};
use super::call::{LockStep, MOST_STEPS, Step};
use super::found::{Found, Phase, RECENT};
use super::readers::{Mode, modes_of_unlocks};
use super::wakes::{Wake, Wakes, WokenBy};
use super::{Doubt, Doubts, WaitKind, WaitSpan};
use crate::NONE;
use crate::concurrency::Loss;
use crate::pthread::PthreadSpan;
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::thread_index::ThreadIndex;

/// So long, in nanoseconds, stubs at least keep all calls about a mutex of the kernel's kinds once it was found contended: see `ada_ring::contention`.
const KEPT_FOR: u64 = 100_000_000;

/// What else is known of the process.
pub(crate) struct Known<'a> {
    /// The operating system's ids of the threads.
    pub(crate) ids: &'a [ThreadId],
    /// The times of their last events.
    pub(crate) last_times: &'a [TraceNanos],
    pub(crate) threads: &'a [PthreadSpan],
    pub(crate) losses: &'a [Loss],
    /// Whether every lock that is let go of is recorded.
    pub(crate) sees_unlocks: bool,
    /// And every read-write lock that is taken.
    pub(crate) sees_reads: bool,
    /// Addresses with locks that were looked at, and whether other processes have them too.
    pub(crate) shared_memory: &'a [(Range<u64>, bool)],
    pub(crate) options: &'a ReplayOptions,
}

/// By what they are found.
pub(super) struct Parties<'a> {
    known: &'a Known<'a>,
    by_id: HashMap<ThreadId, ThreadIndex>,
    books: HashMap<ThreadIndex, Books<'a>>,
    steps: &'a HashMap<ThreadIndex, Vec<LockStep>>,
    /// What is not known of threads.
    pub(super) losses: HashMap<ThreadIndex, Vec<Loss>>,
    /// How many threads had the same id, one after the other.
    lives: HashMap<ThreadIndex, usize>,
    wakes: Wakes,
    /// The ends of threads that had robust mutexes.
    deaths: Wakes,
    /// For what those had read-write locks that let go of them, where that is known.
    unlocks: HashMap<(ThreadIndex, EventSeq), Mode>,
    /// Whether some thread asks for read-write locks for a while only.
    gives_up: bool,
}

fn by_thread(losses: &[Loss]) -> HashMap<ThreadIndex, Vec<Loss>> {
    let mut by_thread: HashMap<ThreadIndex, Vec<Loss>> = HashMap::new();
    losses.iter().for_each(|loss| by_thread.entry(loss.thread).or_default().push(*loss));
    by_thread
}

fn lives_of(threads: &[PthreadSpan]) -> HashMap<ThreadIndex, usize> {
    let mut lives = HashMap::new();
    threads.iter().for_each(|span| *lives.entry(span.thread).or_default() += 1);
    lives
}

impl<'a> Parties<'a> {
    pub(super) fn new(
        known: &'a Known<'a>,
        steps: &'a HashMap<ThreadIndex, Vec<LockStep>>,
        wakes: Wakes,
        deaths: Wakes,
    ) -> Self {
        Self {
            known,
            by_id: known.ids.iter().zip(0..).map(|(id, index)| (*id, ThreadIndex(index))).collect(),
            books: steps.iter().map(|(thread, steps)| (*thread, Books::new(steps))).collect(),
            steps,
            losses: by_thread(known.losses),
            lives: lives_of(known.threads),
            wakes,
            deaths,
            unlocks: modes_of_unlocks(steps),
            gives_up: steps.values().flatten().any(|step| step.is_read_write && step.what == Step::Tried),
        }
    }

    pub(super) fn find_holder(&mut self, wait: &mut WaitSpan) {
        let mut doubts = Doubts(wait.doubts);
        let is_read_write = wait.kind() == WaitKind::ReadWriteLock;
        match wait.kind() {
            WaitKind::Mutex | WaitKind::ReadWriteLock => {}
            WaitKind::Join => {
                let joined = self.known.threads.iter().rev();
                let joined = joined.filter(|it| it.handle == wait.object && it.handle != NONE);
                wait.holder =
                    joined.filter(|it| it.create_time.is_none_or(|at| at <= wait.start)).map(|it| it.thread).next();
                return;
            }
            _ => return,
        }
        match wait.holder_tid.map(|id| self.by_id.get(&id).copied()) {
            None => doubts.add(Doubt::NoOwner),
            Some(None) => doubts.add(Doubt::UnknownOwner),
            Some(Some(holder)) => {
                wait.holder = Some(holder);
                self.find_taking(wait, holder, is_read_write);
                return;
            }
        }
        wait.doubts = doubts.0;
    }

    /// Finds the call by which the holder took what is waited for.
    fn find_taking(&mut self, wait: &mut WaitSpan, holder: ThreadIndex, is_read_write: bool) {
        let mut doubts = Doubts(wait.doubts);
        let books = self.books.get_mut(&holder);
        match books.map_or(TakenBy::Nobody, |it| it.taken_by(wait.object, wait.start, is_read_write)) {
            TakenBy::Call(seq, since) => (wait.hold_seq, wait.hold_start) = (Some(seq), Some(since)),
            TakenBy::Several => doubts.add(Doubt::SeveralLocks),
            TakenBy::Nobody => doubts.add(Doubt::NoLockCall),
        }
        if wait.is_open() && self.may_have_released(holder, wait, is_read_write) {
            doubts.add(Doubt::MayBeReleased);
        }
        if self.loses(holder, wait) {
            doubts.add(Doubt::Dropped);
        }
        wait.doubts = doubts.0;
    }

    fn may_have_released(&self, holder: ThreadIndex, wait: &WaitSpan, is_read_write: bool) -> bool {
        let is_complete = self.steps.get(&holder).is_some_and(|steps| steps.len() < MOST_STEPS);
        // A thread that waits for itself cannot let go meanwhile.
        let is_own = holder == wait.thread;
        let books = self.books.get(&holder);
        // What goes on runs on while its last events are read.
        let is_recent = self.known.options.end == ProcessEnd::Alive && wait.duration() < RECENT;
        // An id that was used again may have been another thread's when it took the lock.
        let is_reused = self.lives.get(&holder).is_some_and(|lives| *lives > 1);
        !self.known.sees_unlocks
            || is_reused
            || is_recent
            || !is_complete
            || self.loses(holder, wait)
            || !is_own && books.is_none_or(|it| it.may_have_released(wait.object, wait.start, is_read_write))
    }

    fn loses(&self, thread: ThreadIndex, wait: &WaitSpan) -> bool {
        let mut losses = self.losses.get(&thread).into_iter().flatten();
        losses.any(|loss| loss.to > wait.start && loss.from <= wait.end)
    }

    pub(super) fn find_waker(&mut self, found: &mut Found) {
        let Found { wait, asked, woken, has_given_up, phase, mutex } = found;
        let (asked, woken, phase, mutex) = (*asked, *woken, *phase, *mutex);
        let mut doubts = Doubts(wait.doubts);
        if wait.has_ended != 1
            || *has_given_up
            || matches!(
                wait.kind(),
                WaitKind::Sleep
                    | WaitKind::Input
                    | WaitKind::Signal
                    | WaitKind::Once
                    | WaitKind::Yield
                    | WaitKind::Spin
            )
        {
            return;
        }
        let (thread, object) = (wait.thread, wait.object);
        let found = match wait.kind() {
            WaitKind::Join => {
                let ended = wait.holder.and_then(|holder| {
                    self.known.threads.iter().rev().find(|it| it.thread == holder && it.start <= wait.end)
                });
                if let Some(ended) = ended {
                    (wait.waker, wait.wake_time) = (Some(ended.thread), Some(ended.end.min(wait.end)));
                    wait.wake_seq = ended.routine_close_seq;
                }
                return;
            }
            WaitKind::Mutex if mutex.is_some() => {
                let last = match self.wakes.last(object, thread, asked, wait.end) {
                    // Who lets go of it just as the first one comes to wait does not show which mutex it is.
                    WokenBy::Nobody => self.released_by_holder(wait),
                    // Who came so much later, found it free and let go of it has shown nothing either.
                    WokenBy::Call(last) if wait.end.since(last.start) > KEPT_FOR => WokenBy::Perhaps(last),
                    found => found,
                };
                let (last, has_died) = last.or_died(&self.deaths, (object, thread, asked, wait.end));
                wait.has_died = has_died.into();
                self.doubt_of_others(last, wait)
            }
            WaitKind::Mutex => match self.wakes.last(object, thread, asked, wait.end) {
                WokenBy::Nobody => self.released_by_holder(wait),
                found => found,
            },
            WaitKind::ReadWriteLock if phase == Some(Phase::Write) => self.let_writer_in(wait, asked, woken),
            WaitKind::ReadWriteLock if phase == Some(Phase::Read) => self.let_readers_in(wait, asked, woken),
            WaitKind::ReadWriteLock => self.wakes.last_of_several(object, thread, asked, woken),
            WaitKind::Barrier => match self.wakes.last(object, thread, asked, woken) {
                WokenBy::Call(last) if last.start >= wait.start => WokenBy::Call(last),
                // The last one to come waits for nobody.
                _ => return,
            },
            _ => self.wakes.take(object, thread, asked, woken),
        };
        let waker = match found {
            WokenBy::Call(wake) => Some(wake),
            WokenBy::Perhaps(wake) => {
                doubts.add(Doubt::SeveralWakers);
                Some(wake)
            }
            WokenBy::Nobody => {
                doubts.add(Doubt::NoWaker);
                None
            }
        };
        if let Some(wake) = waker {
            (wait.waker, wait.wake_seq, wait.wake_time) = (Some(wake.thread), Some(wake.seq), Some(wake.start));
        }
        wait.doubts = doubts.0;
    }

    /// Doubts that a call was the last one, where not all are known that may have come after it.
    fn doubt_of_others(&self, woken: WokenBy, wait: &WaitSpan) -> WokenBy {
        let WokenBy::Call(last) = woken else { return woken };
        let is_missing = |loss: &Loss| loss.thread != wait.thread && loss.to > last.start && loss.from <= wait.end;
        let is_sure = self.known.sees_unlocks && !self.known.losses.iter().any(is_missing);
        if is_sure { WokenBy::Call(last) } else { WokenBy::Perhaps(last) }
    }

    /// Whoever was the last to let go of a lock that is to be written: nobody can do so between that and the end of the wait. Of calls
    /// at the same time it is not known which came last, and some do not say which lock they are about.
    fn let_writer_in(&self, wait: &WaitSpan, asked: TraceNanos, woken: TraceNanos) -> WokenBy {
        let last = match self.wakes.last(wait.object, wait.thread, asked, woken) {
            WokenBy::Call(last) => last,
            found => return found,
        };
        let is_of_other = |wake: &Wake| wake.thread != wait.thread && wake.thread != last.thread;
        let overlaps = |wake: &Wake| is_of_other(wake) && wake.end >= last.start;
        let is_beside = self.wakes.between(wait.object, asked, woken).iter().any(overlaps);
        let may_be_of_other = |(thread, steps): (&ThreadIndex, &Vec<LockStep>)| {
            let first = steps.partition_point(|step| step.end < last.start);
            let mut meanwhile = steps[first..].iter().take_while(|step| step.start <= woken);
            let is_it = |step: &LockStep| step.is_read_write && step.what == Step::LetGo && step.object == NONE;
            *thread != wait.thread && meanwhile.any(is_it)
        };
        let is_sure = !is_beside && self.known.sees_unlocks && !self.steps.iter().any(may_be_of_other);
        if is_sure { WokenBy::Call(last) } else { WokenBy::Perhaps(last) }
    }

    /// The writer that was the last to let go of a lock that is to be read. Others that were let in with the thread, and were faster, have let go of it
    /// too by the time that it goes on.
    fn let_readers_in(&self, wait: &WaitSpan, asked: TraceNanos, woken: TraceNanos) -> WokenBy {
        let others = self.wakes.between(wait.object, asked, woken).iter().filter(|it| it.thread != wait.thread);
        let mut last = None;
        for wake in others {
            match self.unlocks.get(&(wake.thread, wake.seq)) {
                Some(Mode::Read) => {}
                Some(Mode::Write) => last = Some(WokenBy::Call(*wake)),
                None => last = Some(WokenBy::Perhaps(*wake)),
            }
        }
        last.unwrap_or_else(|| self.only_writer(wait.thread, asked, woken))
    }

    /// The one call meanwhile that can have let go of a lock that was written. Who does so before the one that waits has left its mark finds none, and does not say
    /// which lock it is about; but somebody has ended the wait.
    fn only_writer(&self, waiter: ThreadIndex, asked: TraceNanos, woken: TraceNanos) -> WokenBy {
        let mut found = WokenBy::Nobody;
        for (thread, steps) in self.steps.iter().filter(|(thread, _)| self.known.sees_unlocks && **thread != waiter) {
            let first = steps.partition_point(|step| step.end < asked);
            for step in steps[first..].iter().take_while(|step| step.start <= woken) {
                let is_read = self.unlocks.get(&(*thread, step.seq)) == Some(&Mode::Read);
                if !step.is_read_write || step.what != Step::LetGo || step.object != NONE || is_read {
                    continue;
                }
                if found != WokenBy::Nobody {
                    return WokenBy::Nobody;
                }
                let (thread, seq, start, end) = (*thread, step.seq, step.start, step.end);
                let wake = Wake { thread, seq, start, end, room: 0 };
                // A writer that gives up lets others in too.
                found = if self.gives_up { WokenBy::Perhaps(wake) } else { WokenBy::Call(wake) };
            }
        }
        found
    }

    /// Begins to read the threads' books again: their times do not go back.
    pub(super) fn reopen_books(&mut self) {
        self.books = self.steps.iter().map(|(thread, steps)| (*thread, Books::new(steps))).collect();
    }

    /// Names who was to have a lock that was being handed over when somebody came to read it, and so had no owner: the one writer that has let go of it
    /// since. Who comes to read is let in before any other writer.
    pub(super) fn find_next_holder(&mut self, found: &mut Found) {
        let Found { wait, phase, .. } = found;
        let doubts = Doubts(wait.doubts);
        let is_unknown = wait.holder_tid.is_none() && doubts.has(Doubt::NoOwner);
        if *phase != Some(Phase::Read) || !is_unknown || doubts.has(Doubt::SeveralWakers) {
            return;
        }
        let Some(writer) = wait.waker else { return };
        (wait.holder, wait.doubts) = (Some(writer), doubts.without(Doubt::NoOwner).0);
        wait.holder_tid = self.known.ids.get(writer.as_usize()).copied();
        self.find_taking(wait, writer, true);
    }

    /// A lock that was free by the time the thread would have slept: its holder let go of it, and had nobody to wake.
    fn released_by_holder(&self, wait: &WaitSpan) -> WokenBy {
        let Some((holder, books)) = wait.holder.and_then(|it| Some((it, self.books.get(&it)?))) else {
            return WokenBy::Nobody;
        };
        let (one, _) = books.released_between(wait.object, (wait.start, wait.end), false);
        one.map_or(WokenBy::Nobody, |step| {
            WokenBy::Call(Wake { thread: holder, seq: step.seq, start: step.start, end: step.end, room: 0 })
        })
    }
}
