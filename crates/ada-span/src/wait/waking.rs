//! Which calls end others' waits.

use std::collections::{HashMap, HashSet};

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::call::ObservedCall;
use super::futex::is_wake;
use super::owner_word::OwnerWord;
use super::wakes::{Wake, Wakes};
use crate::NONE;
use crate::role::SyncCall;
use crate::thread_index::ThreadIndex;

/// What has to be known of all calls to say which of them end waits.
pub(super) struct Waking<'a> {
    /// Those of the threads.
    ids: &'a [ThreadId],
    /// Mutexes whose lock word is their owner's id.
    mutexes: HashSet<u64>,
    /// By when waits for conditions have let go of their mutexes, by the call.
    asleep: HashMap<(ThreadIndex, EventSeq), TraceNanos>,
}

impl<'a> Waking<'a> {
    /// `calls` are in the order of their starts.
    pub(super) fn of(calls: &[ObservedCall], ids: &'a [ThreadId]) -> Self {
        let mut waking = Self { ids, mutexes: HashSet::new(), asleep: HashMap::new() };
        for call in calls {
            match (call.call, call.outer) {
                (SyncCall::Lock | SyncCall::Unlock, _) if OwnerWord::of(&call.words).is_some() => {
                    waking.mutexes.insert(call.arguments[0]);
                }
                (SyncCall::FutexWait, Some(outer)) => {
                    waking.asleep.entry((call.thread, outer.seq)).or_insert(call.start);
                }
                _ => {}
            }
        }
        waking
    }

    /// The calls that end waits.
    pub(super) fn wakes(&self, calls: &[ObservedCall]) -> Wakes {
        Wakes::of(calls.iter().filter_map(|call| self.wake_of(call)))
    }

    /// What a call wakes others of, if it does.
    pub(super) fn wake_of(&self, call: &ObservedCall) -> Option<(u64, Wake)> {
        let room = match call.call {
            SyncCall::Signal | SyncCall::Post | SyncCall::FutexWake => 1,
            SyncCall::Broadcast | SyncCall::Barrier | SyncCall::ReadWriteUnlock => u64::MAX,
            SyncCall::System if is_wake(call.arguments[1]) => call.arguments[2],
            SyncCall::Unlock => return self.unlock(call),
            SyncCall::ConditionWait | SyncCall::TimedConditionWait => return self.unlock_for_condition(call),
            _ => return None,
        };
        let (seq, start) = call.outer.map_or((call.seq, call.start), |outer| (outer.seq, outer.start));
        // What a wait for a condition lets go of is let go of at its beginning.
        let is_within = call.outer.is_none_or(|outer| outer.start <= call.start);
        let wake = Wake { thread: call.thread, seq, start, end: call.end, room };
        (is_within && call.arguments[0] != NONE).then_some((call.arguments[0], wake))
    }

    fn unlock(&self, call: &ObservedCall) -> Option<(u64, Wake)> {
        let id = self.ids.get(call.thread.as_usize())?;
        let lets_go = OwnerWord::of(&call.words)?.is_let_go_by(*id);
        let ObservedCall { thread, seq, start, end, .. } = *call;
        lets_go.then_some((call.arguments[0], Wake { thread, seq, start, end, room: 1 }))
    }

    fn unlock_for_condition(&self, call: &ObservedCall) -> Option<(u64, Wake)> {
        let ObservedCall { thread, seq, start, .. } = *call;
        let end = self.asleep.get(&(thread, seq)).copied().unwrap_or(call.end);
        let mutex = call.arguments[1];
        self.mutexes.contains(&mutex).then_some((mutex, Wake { thread, seq, start, end, room: 1 }))
    }
}
