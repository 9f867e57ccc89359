//! Mutexes whose lock word is their owner's id, over the time of a process.

use std::collections::{HashMap, HashSet};

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::call::{LockStep, ObservedCall, Step};
use super::owner_word::OwnerWord;
use super::wakes::Wake;
use crate::pthread::{PthreadSpan, ThreadEnd};
use crate::role::SyncCall;
use crate::thread_index::ThreadIndex;

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

/// The ends of threads that had robust mutexes, each with the mutex: the kernel gives these to who waits for them.
pub(super) fn deaths(
    steps: &HashMap<ThreadIndex, Vec<LockStep>>,
    calls: &[ObservedCall],
    threads: &[PthreadSpan],
) -> Vec<(u64, Wake)> {
    let is_robust = |call: &&ObservedCall| OwnerWord::of(&call.words).is_some_and(OwnerWord::is_robust);
    let robust: HashSet<u64> = calls.iter().filter(is_robust).map(|call| call.arguments[0]).collect();
    let mut starts: HashMap<ThreadIndex, Vec<TraceNanos>> = HashMap::new();
    threads.iter().for_each(|life| starts.entry(life.thread).or_default().push(life.start));
    let mut found = Vec::new();
    for life in threads.iter().filter(|life| !robust.is_empty() && life.end_how() != ThreadEnd::Alive) {
        let Some(steps) = steps.get(&life.thread) else { continue };
        // An id may be used again. What lets go of locks when a thread ends comes after its routine.
        let next = starts[&life.thread].iter().filter(|start| **start > life.start).min();
        let of_life =
            steps.iter().filter(|step| step.start >= life.start && next.is_none_or(|next| step.start < *next));
        let mut last: HashMap<u64, &LockStep> = HashMap::new();
        for step in of_life.filter(|step| robust.contains(&step.object) && !step.is_read_write) {
            last.insert(step.object, step);
        }
        for (object, step) in last.into_iter().filter(|(_, step)| step.what != Step::LetGo) {
            let seq = life.routine_seq.unwrap_or(step.seq);
            let room = u64::from(step.what == Step::Taken);
            found.push((object, Wake { thread: life.thread, seq, start: life.end, end: life.end, room }));
        }
    }
    found
}
