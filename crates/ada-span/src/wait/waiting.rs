//! Which calls are waits, for what, and whom a lock names as its owner.

use std::collections::HashMap;

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::call::ObservedCall;
use super::found::{Found, Phase, has_ended};
use super::futex::is_wait;
use super::owner_word::OwnerWord;
use super::wakes::{Wake, Wakes};
use super::{Doubt, Doubts, WaitKind, WaitSpan};
use crate::NONE;
use crate::role::{IoCall, Role, SyncCall};
use crate::thread_index::ThreadIndex;

/// What a timed wait gives back that nobody ended.
const TIMED_OUT: u32 = 110;
/// Bytes of a condition variable and of a read-write lock of glibc.
const CONDITION_BYTES: u64 = 48;
const READ_WRITE_BYTES: u64 = 56;
/// In such a lock, `__wrphase_futex`: the next writer waits here for readers. Other writers wait behind it, at `__writers_futex`.
const PHASE: u64 = 8;

/// The wait that a call is. `ids` are those of the threads.
pub(super) fn wait_of(
    call: &ObservedCall,
    woken_times: &HashMap<(ThreadIndex, EventSeq), TraceNanos>,
    wakes: &Wakes,
    ids: &[ThreadId],
) -> Option<Found> {
    let outer = call.outer;
    let id = ids.get(call.thread.as_usize()).copied()?;
    let mut holder = None;
    let mut is_timed = call.call.is_timed() || outer.is_some_and(|outer| is_timed(outer.role));
    let mut woken = call.end;
    let (mut object, mut mutex) = (call.arguments[0], NONE);
    let kind = match call.call {
        SyncCall::Lock => {
            let mutex = OwnerWord::of(&call.words)?;
            if !mutex.makes_wait(id) {
                holder = Some(ids.get(overtaken_by(call, mutex, wakes)?.as_usize()).copied()?);
            }
            WaitKind::Mutex
        }
        SyncCall::FutexWait => match outer.map(|outer| outer.role) {
            // The call itself has shown it.
            Some(Role::Sync(SyncCall::Lock)) if outer.is_some_and(|outer| is_known(outer.mutex, id)) => return None,
            Some(Role::Sync(SyncCall::Lock | SyncCall::TimedLock)) => WaitKind::Mutex,
            Some(Role::Sync(SyncCall::SemaphoreWait | SyncCall::TimedSemaphoreWait)) => WaitKind::Semaphore,
            Some(Role::Sync(SyncCall::ReadLock | SyncCall::WriteLock | SyncCall::TryReadWriteLock)) => {
                object = wakes
                    .object_around(object, READ_WRITE_BYTES)
                    .unwrap_or_else(|| read_write_lock(object, call.words[0]));
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
    let has_ended = if call.has_closed { has_ended(&call.outcome) } else { NONE };
    let mut doubts = Doubts::default();
    if is_interrupted(call) {
        // A signal ended it; whose is found later.
        doubts.add(Doubt::NoWaker);
    }
    if call.call == SyncCall::Input(IoCall::Ring) {
        doubts.add(Doubt::UnreadRing);
    }
    let mutex_word = if kind == WaitKind::Mutex { OwnerWord::of(&call.words) } else { None };
    let wait = WaitSpan {
        thread: call.thread,
        seq: outer.filter(|_| call.call != SyncCall::Lock).map_or(call.seq, |outer| outer.seq),
        start: call.start,
        end: call.end.max(call.start),
        has_ended,
        kind: kind as u64,
        is_timed: u64::from(is_timed),
        object: if kind == WaitKind::Sleep { NONE } else { object },
        mutex,
        holder_tid: holder.or_else(|| owner(kind, call, object)),
        inherits: u64::from(mutex_word.is_some_and(OwnerWord::inherits)),
        doubts: doubts.0,
        ..WaitSpan::default()
    };
    let asked = outer.filter(|_| call.call != SyncCall::Lock).map_or(call.start, |outer| outer.start);
    // By number, a call fails with -1: the word had changed, a signal came, or time was up. Nobody woke it.
    let has_failed = call.call == SyncCall::System && call.result == Some(u64::MAX);
    let has_given_up = has_failed || is_timed && call.result.map(|it| it as u32) == Some(TIMED_OUT);
    let waits_for_phase = call.arguments[0].wrapping_sub(object) == PHASE;
    let phase = match outer.map(|outer| outer.role) {
        Some(Role::Sync(SyncCall::WriteLock)) if waits_for_phase => Some(Phase::Write),
        Some(Role::Sync(SyncCall::ReadLock)) if waits_for_phase => Some(Phase::Read),
        _ => None,
    };
    Some(Found { wait, asked, woken, has_given_up, phase, mutex: mutex_word })
}

/// Whether a call that takes a mutex shows itself whether it waits: the contended path inside then says nothing more. Robust mutexes
/// have none.
fn is_known(mutex: Option<OwnerWord>, id: ThreadId) -> bool {
    mutex.is_some_and(|mutex| mutex.makes_wait(id) || !mutex.inherits())
}

/// Who took a robust mutex that was free when the thread asked for it, and so made it wait: whoever let go of it first, before the thread had it.
fn overtaken_by(call: &ObservedCall, mutex: OwnerWord, wakes: &Wakes) -> Option<ThreadIndex> {
    let is_it = |wake: &&Wake| wake.thread != call.thread && wake.start > call.start;
    let meanwhile = || wakes.between(call.arguments[0], call.start, call.end).iter().find(is_it);
    (call.has_closed && !mutex.inherits()).then(meanwhile)?.map(|wake| wake.thread)
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
pub(super) fn woken_times(calls: &[ObservedCall]) -> HashMap<(ThreadIndex, EventSeq), TraceNanos> {
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

/// Where a read-write lock of glibc begins, by the address of the word in it that is waited on, and what that says. Locks lie at multiples of eight.
fn read_write_lock(address: u64, word: u64) -> u64 {
    const WRITERS: u64 = 12;
    /// The word for the phase is no more than this.
    const PHASES: u32 = 3;
    let distance = match address.is_multiple_of(8) {
        false => WRITERS,
        // Of a lock that prefers writers, who wants to read waits on the first word, which counts those that read: there are some then.
        true if word != NONE && word as u32 > PHASES => 0,
        true => PHASE,
    };
    address.wrapping_sub(distance)
}

/// Whom a lock names as its owner, when a wait for it begins.
fn owner(kind: WaitKind, call: &ObservedCall, object: u64) -> Option<ThreadId> {
    let at = match kind {
        WaitKind::Mutex => 8,
        WaitKind::ReadWriteLock => 24_u64.checked_sub(call.arguments[0].wrapping_sub(object))?,
        _ => return None,
    };
    if let Some(mutex) = OwnerWord::of(&call.words).filter(|_| kind == WaitKind::Mutex) {
        return mutex.owner();
    }
    let word = call.words.get(at as usize / 8).copied().filter(|word| *word != NONE)?;
    let half = if at.is_multiple_of(8) { word as u32 } else { (word >> 32) as u32 };
    (half != 0).then_some(ThreadId(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_write_lock_begins_before_the_words_that_are_waited_on() {
        let (phase, writers, readers) = (0x1008, 0x100c, 0x1000);
        assert_eq!(
            [(phase, 3), (phase, 1 << 32 | 2), (phase, NONE)].map(|(at, word)| read_write_lock(at, word)),
            [0x1000; 3]
        );
        assert_eq!(read_write_lock(writers, 3), 0x1000);
        // One reads, a writer has asked for it, and the next one that wants to read waits.
        assert_eq!(read_write_lock(readers, 1 << 3 | 4 | 2), 0x1000);
    }
}
