//! Makes waits of the calls: finds who held what was waited for, and who ended each wait.

use std::collections::HashMap;
use std::ops::Range;

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::books::{Books, TakenBy};
use super::call::{LockStep, MOST_STEPS, ObservedCall, Step, SyncCalls};
use super::holds::{HoldSpan, holds_of};
use super::looks::Looks;
use super::readers::{Readers, show_locks};
use super::shared_calls::{SharedCalls, SharedWait};
use super::wakes::{Wake, Wakes, WokenBy};
use super::waking::{wake_of, wakes_of};
use super::{Doubt, Doubts, WaitKind, WaitSpan};
use crate::NONE;
use crate::concurrency::Loss;
use crate::io_calls::IoCalls;
use crate::outcome::{Reason, Status};
use crate::pthread::{PthreadSpan, ThreadEnd};
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::role::{IoCall, Role, SyncCall};
use crate::thread_index::ThreadIndex;

/// More waits than this are not kept.
const MOST_WAITS: usize = 4_000_000;
/// Of a program that goes on, what is this young, in nanoseconds, may have ended by the time its thread's events were read.
const RECENT: u64 = 200_000_000;
/// What a timed wait gives back that nobody ended.
const TIMED_OUT: u32 = 110;
/// Bytes of a condition variable and of a read-write lock of glibc.
const CONDITION_BYTES: u64 = 48;
const READ_WRITE_BYTES: u64 = 56;
/// In such a lock, `__wrphase_futex`: the next writer waits here for readers. Other writers wait behind it, at `__writers_futex`.
const PHASE: u64 = 8;

/// What else is known of the process.
pub(crate) struct Known<'a> {
    /// The operating system's ids of the threads.
    pub(crate) ids: &'a [ThreadId],
    pub(crate) threads: &'a [PthreadSpan],
    pub(crate) losses: &'a [Loss],
    /// Whether every lock that is let go of is recorded.
    pub(crate) sees_unlocks: bool,
    /// Addresses with locks that were looked at, and whether other processes have them too.
    pub(crate) shared_memory: &'a [(Range<u64>, bool)],
    pub(crate) options: &'a ReplayOptions,
}

/// What is found.
#[derive(Default)]
pub(crate) struct Waits {
    /// The waits, by their starts.
    pub(crate) waits: Vec<WaitSpan>,
    /// How many were not kept.
    pub(crate) left_out: u64,
    /// Who had which lock when.
    pub(crate) holds: Vec<HoldSpan>,
    /// Calls of input and output.
    pub(crate) io: IoCalls,
    /// What is about memory that other processes have too.
    pub(crate) shared: SharedCalls,
}

/// Makes the waits, and finds who held what.
pub(crate) fn correlate(parts: Vec<SyncCalls>, known: &Known<'_>) -> Waits {
    let mut calls = Vec::new();
    let mut steps: HashMap<ThreadIndex, Vec<LockStep>> = HashMap::new();
    let mut io = IoCalls::default();
    for part in parts {
        calls.extend(part.calls);
        steps.extend(part.steps);
        io.join(part.io);
    }
    io.sort();
    if calls.is_empty() {
        return Waits { io, ..Waits::default() };
    }
    calls.sort_unstable_by_key(|call: &ObservedCall| (call.start, call.thread, call.seq));
    if known.sees_unlocks {
        steps.values_mut().for_each(|steps| show_locks(steps));
    }
    let looks = Looks::of(known.shared_memory, &io);
    let wakes = calls.iter().filter_map(wake_of);
    let mut shared = SharedCalls::of_wakes(wakes, &looks);
    let (wakes, woken_times) = (wakes_of(&calls), woken_times(&calls));
    let mut waits: Vec<Found> = calls.iter().filter_map(|call| wait_of(call, &woken_times, &wakes)).collect();
    for found in waits.iter_mut().filter(|found| found.wait.is_open()) {
        // The thread makes no event at its end.
        found.wait.end = found.wait.end.max(known.options.end_time);
    }
    let left_out = waits.len().saturating_sub(MOST_WAITS);
    waits.truncate(MOST_WAITS);
    let mut correlator = Correlator {
        known,
        by_id: known.ids.iter().zip(0..).map(|(id, index)| (*id, ThreadIndex(index))).collect(),
        books: steps.iter().map(|(thread, steps)| (*thread, Books::new(steps))).collect(),
        steps: &steps,
        losses: by_thread(known.losses),
        lives: lives_of(known.threads),
        wakes,
    };
    waits.iter_mut().for_each(|found| correlator.find_holder(&mut found.wait));
    // A signal wakes one of those that wait: the order in which they went on says which.
    let mut order: Vec<usize> = (0..waits.len()).collect();
    order.sort_by_key(|at| waits[*at].woken);
    for at in order {
        correlator.find_waker(&mut waits[at]);
    }
    shared.waits = waits.iter().filter(|found| looks.is_shared(found.wait.object)).map(Found::shared).collect();
    let mut waits: Vec<WaitSpan> = waits.into_iter().map(|found| found.wait).collect();
    let mut holds = Vec::new();
    if known.sees_unlocks {
        let mut ends: HashMap<ThreadIndex, Vec<TraceNanos>> = HashMap::new();
        for life in known.threads {
            // A thread that waits to the end makes no event there.
            let is_cut = matches!(life.end_how(), ThreadEnd::Alive | ThreadEnd::ProcessEnd);
            let end = if is_cut { life.end.max(known.options.end_time) } else { life.end };
            ends.entry(life.thread).or_default().push(end);
        }
        holds = holds_of(&steps, &waits, &correlator.losses, &ends);
        let readers = Readers::of(&holds);
        waits.iter_mut().for_each(|wait| readers.find_holder(wait));
    }
    Waits { waits, left_out: left_out as u64, holds, io, shared }
}

/// A wait that was found.
struct Found {
    wait: WaitSpan,
    /// When what the program called began: whoever ends the wait may come before the thread sleeps.
    asked: TraceNanos,
    /// When it was over, and only a mutex was to be taken again.
    woken: TraceNanos,
    /// Whether it ended without anybody's doing.
    has_given_up: bool,
    /// Whether it is the next writer of a read-write lock, which waits for those that read: then nobody else has it when the wait
    /// is over.
    is_writer: bool,
}

impl Found {
    /// What is needed to find who ended it in another process.
    fn shared(&self) -> SharedWait {
        let Self { wait, asked, woken, has_given_up, .. } = self;
        SharedWait {
            thread: wait.thread,
            seq: wait.seq,
            start: wait.start,
            asked: *asked,
            woken: *woken,
            has_given_up: u64::from(*has_given_up),
        }
    }
}

fn is_wait(command: u64) -> bool {
    const WAIT: u64 = 0;
    const WAIT_BITSET: u64 = 9;
    matches!(command & 0x7f, WAIT | WAIT_BITSET)
}

/// The wait that a call is.
fn wait_of(
    call: &ObservedCall,
    woken_times: &HashMap<(ThreadIndex, EventSeq), TraceNanos>,
    wakes: &Wakes,
) -> Option<Found> {
    let outer = call.outer;
    let mut is_timed = call.call.is_timed() || outer.is_some_and(|outer| is_timed(outer.role));
    let mut woken = call.end;
    let (mut object, mut mutex) = (call.arguments[0], NONE);
    let kind = match call.call {
        SyncCall::FutexWait => match outer.map(|outer| outer.role) {
            Some(Role::Sync(SyncCall::Lock | SyncCall::TimedLock)) => WaitKind::Mutex,
            Some(Role::Sync(SyncCall::SemaphoreWait | SyncCall::TimedSemaphoreWait)) => WaitKind::Semaphore,
            Some(Role::Sync(SyncCall::ReadLock | SyncCall::WriteLock | SyncCall::TryReadWriteLock)) => {
                object = wakes.object_around(object, READ_WRITE_BYTES).unwrap_or_else(|| read_write_lock(call));
                WaitKind::ReadWriteLock
            }
            Some(Role::Sync(SyncCall::ConditionWait | SyncCall::TimedConditionWait)) => {
                // The condition's own word is a part of that wait; the mutex is taken again behind it.
                let condition = outer.map_or(NONE, |outer| outer.object);
                if condition == NONE || object.wrapping_sub(condition) < CONDITION_BYTES {
                    return None;
                }
                is_timed = false;
                WaitKind::Mutex
            }
            Some(Role::Sync(SyncCall::Barrier)) => return None,
            Some(Role::ThreadJoin | Role::ThreadJoinInt) => {
                object = outer.map_or(NONE, |outer| outer.object);
                WaitKind::Join
            }
            _ => WaitKind::Futex,
        },
        SyncCall::ConditionWait | SyncCall::TimedConditionWait => {
            mutex = call.arguments[1];
            woken = woken_times.get(&(call.thread, call.seq)).copied().unwrap_or(call.end);
            WaitKind::Condition
        }
        SyncCall::Barrier => WaitKind::Barrier,
        SyncCall::System if is_wait(call.arguments[1]) => WaitKind::Futex,
        SyncCall::Sleep if outer.is_none() => WaitKind::Sleep,
        SyncCall::Input(IoCall::SignalWait) if outer.is_none() => {
            object = NONE;
            WaitKind::Signal
        }
        SyncCall::Input(_) if outer.is_none() => {
            // It is a descriptor, if anything; most calls have no registers.
            object = NONE;
            WaitKind::Input
        }
        _ => return None,
    };
    let has_ended = match (call.outcome.status, call.outcome.reason) {
        _ if !call.has_closed || call.outcome.is_uncertain => NONE,
        (_, Reason::Dropped | Reason::AttachedMidway) => NONE,
        (Status::Open, _) | (_, Reason::ProcessExit | Reason::Crash) => 0,
        _ => 1,
    };
    let mut doubts = Doubts::default();
    if is_interrupted(call) {
        // A signal ended it; whose is found later.
        doubts.add(Doubt::NoWaker);
    }
    if call.call == SyncCall::Input(IoCall::Ring) {
        doubts.add(Doubt::UnreadRing);
    }
    let wait = WaitSpan {
        thread: call.thread,
        seq: outer.map_or(call.seq, |outer| outer.seq),
        start: call.start,
        end: call.end.max(call.start),
        has_ended,
        kind: kind as u64,
        is_timed: u64::from(is_timed),
        object: if kind == WaitKind::Sleep { NONE } else { object },
        mutex,
        holder_tid: owner(kind, call, object),
        inherits: u64::from(owner_in_lock_word(kind, call.words[0]).is_some()),
        doubts: doubts.0,
        ..WaitSpan::default()
    };
    let asked = outer.map_or(call.start, |outer| outer.start);
    // By number, a call fails with -1: the word had changed, a signal came, or time was up. Nobody woke it.
    let has_failed = call.call == SyncCall::System && call.result == Some(u64::MAX);
    let has_given_up = has_failed || is_timed && call.result.map(|it| it as u32) == Some(TIMED_OUT);
    let waits_for_phase = call.arguments[0].wrapping_sub(object) == PHASE;
    let is_writer = waits_for_phase && outer.is_some_and(|outer| outer.role == Role::Sync(SyncCall::WriteLock));
    Some(Found { wait, asked, woken, has_given_up, is_writer })
}

/// Whether a sleep says that it did not last: with -1, or with the error's number.
fn is_interrupted(call: &ObservedCall) -> bool {
    const INTERRUPTED: u32 = 4;
    let has_failed = |result: u64| matches!(result as u32, u32::MAX | INTERRUPTED);
    call.call == SyncCall::Sleep && call.result.is_some_and(has_failed)
}

fn is_timed(role: Role) -> bool {
    matches!(role, Role::Sync(call) if call.is_timed())
}

/// When the last wait on a condition's own words was over, by the call that it is inside.
fn woken_times(calls: &[ObservedCall]) -> HashMap<(ThreadIndex, EventSeq), TraceNanos> {
    let mut times = HashMap::new();
    for call in calls.iter().filter(|call| call.call == SyncCall::FutexWait) {
        if let Some(outer) = call.outer
            && call.arguments[0].wrapping_sub(outer.object) < CONDITION_BYTES
        {
            let time: &mut TraceNanos = times.entry((call.thread, outer.seq)).or_insert(call.end);
            *time = (*time).max(call.end);
        }
    }
    times
}

/// Where a read-write lock of glibc begins, by the word in it that is waited on. Locks lie at multiples of eight.
fn read_write_lock(call: &ObservedCall) -> u64 {
    const WRITERS: u64 = 12;
    let word = call.arguments[0];
    word.wrapping_sub(if word.is_multiple_of(8) { PHASE } else { WRITERS })
}

/// Whom a lock names as its owner, when a wait for it begins.
fn owner(kind: WaitKind, call: &ObservedCall, object: u64) -> Option<ThreadId> {
    let at = match kind {
        WaitKind::Mutex => 8,
        WaitKind::ReadWriteLock => 24_u64.checked_sub(call.arguments[0].wrapping_sub(object))?,
        _ => return None,
    };
    if let Some(owner) = owner_in_lock_word(kind, call.words[0]) {
        return Some(owner);
    }
    let word = call.words.get(at as usize / 8).copied().filter(|word| *word != NONE)?;
    let half = if at.is_multiple_of(8) { word as u32 } else { (word >> 32) as u32 };
    (half != 0).then_some(ThreadId(half))
}

/// Where the kernel hands a mutex over, as it does with those that inherit priorities or are robust, the futex word itself is the
/// owner's id. The field for it is set later, and cleared earlier, than the lock is taken and let go of.
fn owner_in_lock_word(kind: WaitKind, word: u64) -> Option<ThreadId> {
    const ID: u32 = 0x3fff_ffff;
    /// Of all other mutexes: free, taken, taken and waited for.
    const STATES: u32 = 2;
    let is_one = kind == WaitKind::Mutex && word != NONE;
    Some(word as u32 & ID).filter(|id| is_one && *id > STATES).map(ThreadId)
}

struct Correlator<'a> {
    known: &'a Known<'a>,
    by_id: HashMap<ThreadId, ThreadIndex>,
    books: HashMap<ThreadIndex, Books<'a>>,
    steps: &'a HashMap<ThreadIndex, Vec<LockStep>>,
    losses: HashMap<ThreadIndex, Vec<Loss>>,
    /// How many threads had the same id, one after the other.
    lives: HashMap<ThreadIndex, usize>,
    wakes: Wakes,
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

impl Correlator<'_> {
    fn find_holder(&mut self, wait: &mut WaitSpan) {
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
            }
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

    fn find_waker(&mut self, found: &mut Found) {
        let Found { wait, asked, woken, has_given_up, is_writer } = found;
        let (asked, woken) = (*asked, *woken);
        let mut doubts = Doubts(wait.doubts);
        if wait.has_ended != 1
            || *has_given_up
            || matches!(wait.kind(), WaitKind::Sleep | WaitKind::Input | WaitKind::Signal)
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
            WaitKind::Mutex => match self.wakes.last(object, thread, asked, wait.end) {
                WokenBy::Nobody => self.released_by_holder(wait),
                found => found,
            },
            WaitKind::ReadWriteLock if *is_writer => self.let_writer_in(wait, asked, woken),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_word_has_the_owner_only_where_the_kernel_needs_it() {
        let owner = |word| owner_in_lock_word(WaitKind::Mutex, word).map(|id| id.0);
        // With the bits for "somebody waits" and "its owner has died".
        assert_eq!(
            (owner(4711), owner(0x8000_0000 | 4711), owner(0x4000_0000 | 4711)),
            (Some(4711), Some(4711), Some(4711))
        );
        assert_eq!((owner(0), owner(1), owner(2), owner(7 << 32 | 2), owner(NONE)), (None, None, None, None, None));
        assert_eq!(owner_in_lock_word(WaitKind::ReadWriteLock, 4711), None);
    }
}
