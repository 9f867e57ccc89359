//! Which calls are waits, for what, and whom a lock names as its owner.

use std::collections::HashMap;

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::call::ObservedCall;
use super::found::{Found, Phase, has_ended};
use super::futex::is_wait;
use super::wakes::Wakes;
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

/// The wait that a call is.
pub(super) fn wait_of(
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
    let has_ended = if call.has_closed { has_ended(&call.outcome) } else { NONE };
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
    let phase = match outer.map(|outer| outer.role) {
        Some(Role::Sync(SyncCall::WriteLock)) if waits_for_phase => Some(Phase::Write),
        Some(Role::Sync(SyncCall::ReadLock)) if waits_for_phase => Some(Phase::Read),
        _ => None,
    };
    Some(Found { wait, asked, woken, has_given_up, phase })
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
