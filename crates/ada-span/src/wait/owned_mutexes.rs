//! Mutexes whose lock word is their owner's id, over the time of a process.
//!
//! Only from when one is contended do calls about it show which it is. A thread that found it free when it asked for it shows nothing, also
//! if another one was faster then, and it had to wait.

use std::collections::{HashMap, HashSet};

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::call::{LockStep, ObservedCall, Step};
use super::owner_word::OwnerWord;
use crate::NONE;
use crate::outcome::Outcome;
use crate::role::SyncCall;
use crate::thread_index::ThreadIndex;

/// The words that such mutexes have where nobody has them, by their addresses: what calls have shown.
pub(super) fn free_words(calls: &[ObservedCall]) -> HashMap<u64, [u64; 4]> {
    let is_about_mutex = |call: &&ObservedCall| {
        matches!(call.call, SyncCall::Lock | SyncCall::TimedLock | SyncCall::TryLock | SyncCall::Unlock)
            && OwnerWord::of(&call.words).is_some()
    };
    calls.iter().filter(is_about_mutex).map(|call| (call.arguments[0], [0, 0, call.words[2], NONE])).collect()
}

/// Calls that took such a mutex and have shown nothing, because it was free when they began: only what let go of it later says which it was.
pub(super) fn found_free(
    steps: &HashMap<ThreadIndex, Vec<LockStep>>,
    calls: &[ObservedCall],
    free_words: &HashMap<u64, [u64; 4]>,
) -> Vec<ObservedCall> {
    if free_words.is_empty() {
        return Vec::new();
    }
    let shown: HashSet<(ThreadIndex, EventSeq)> = calls.iter().map(|call| (call.thread, call.seq)).collect();
    let mut found = Vec::new();
    for (thread, steps) in steps {
        for step in steps.iter().filter(|step| step.what == Step::Taken && !step.is_read_write) {
            let Some(words) = free_words.get(&step.object) else { continue };
            // Those that wait for a condition, and take the mutex again, are shown.
            if shown.contains(&(*thread, step.seq)) {
                continue;
            }
            found.push(ObservedCall {
                thread: *thread,
                outer: None,
                seq: step.seq,
                call: SyncCall::Lock,
                start: step.start,
                end: step.end,
                outcome: Outcome::default(),
                has_closed: true,
                arguments: [step.object, NONE, NONE],
                words: *words,
                result: None,
            });
        }
    }
    found
}

/// Doubts that calls have taken a mutex that was refused them: their results are not recorded.
pub(super) fn doubt_refused(steps: &mut HashMap<ThreadIndex, Vec<LockStep>>, calls: &[ObservedCall], ids: &[ThreadId]) {
    let mut refused: HashSet<(ThreadIndex, EventSeq)> = HashSet::new();
    let mut ruined: HashMap<u64, TraceNanos> = HashMap::new();
    for call in calls {
        let Some((mutex, id)) = OwnerWord::of(&call.words).zip(ids.get(call.thread.as_usize())) else { continue };
        match call.call {
            SyncCall::Lock if mutex.refuses(*id) => drop(refused.insert((call.thread, call.seq))),
            SyncCall::Unlock if mutex.is_ruined_by(*id) => {
                ruined.entry(call.arguments[0]).or_insert(call.start);
            }
            _ => {}
        }
    }
    if refused.is_empty() && ruined.is_empty() {
        return;
    }
    for (thread, steps) in steps {
        for step in steps.iter_mut().filter(|step| step.what == Step::Taken && !step.is_read_write) {
            let is_too_late = ruined.get(&step.object).is_some_and(|since| step.end >= *since);
            if is_too_late || refused.contains(&(*thread, step.seq)) {
                step.what = Step::Tried;
            }
        }
    }
}
