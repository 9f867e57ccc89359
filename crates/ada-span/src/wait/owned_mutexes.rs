//! Mutexes whose lock word is their owner's id, over the time of a process.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::call::{LockStep, ObservedCall, Step};
use super::owner_word::OwnerWord;
use super::parties::Known;
use super::wakes::Wake;
use crate::pthread::{PthreadSpan, ThreadEnd};
use crate::replay::ProcessEnd;
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
    known: &Known<'_>,
) -> Vec<(u64, Wake)> {
    let is_robust = |call: &&ObservedCall| OwnerWord::of(&call.words).is_some_and(OwnerWord::is_robust);
    let robust: HashSet<u64> = calls.iter().filter(is_robust).map(|call| call.arguments[0]).collect();
    if robust.is_empty() {
        return Vec::new();
    }
    let mut lives: HashMap<ThreadIndex, Vec<&PthreadSpan>> = HashMap::new();
    known.threads.iter().for_each(|life| lives.entry(life.thread).or_default().push(life));
    let mut found = Vec::new();
    for (thread, steps) in steps {
        let ends = match lives.get(thread) {
            Some(lives) => lives.iter().filter_map(|life| End::of_life(life, lives)).collect(),
            None => End::of_process(*thread, known).into_iter().collect::<Vec<_>>(),
        };
        for end in ends {
            let of_life = steps.iter().filter(|step| end.steps.contains(&step.start) && !step.is_read_write);
            let mut last: HashMap<u64, &LockStep> = HashMap::new();
            for step in of_life.filter(|step| robust.contains(&step.object)) {
                last.insert(step.object, step);
            }
            for (object, step) in last.into_iter().filter(|(_, step)| step.what != Step::LetGo) {
                let (seq, room) = (end.routine.unwrap_or(step.seq), u64::from(step.what == Step::Taken));
                found.push((object, Wake { thread: *thread, seq, start: end.time, end: end.time, room }));
            }
        }
    }
    found
}

/// The end of a thread.
struct End {
    time: TraceNanos,
    routine: Option<EventSeq>,
    /// When it did what it did. What lets go of locks as a thread ends comes after its routine.
    steps: Range<TraceNanos>,
}

impl End {
    /// An id may be used again: `lives` are all that had it.
    fn of_life(life: &PthreadSpan, lives: &[&PthreadSpan]) -> Option<Self> {
        let next = lives.iter().map(|it| it.start).filter(|start| *start > life.start).min();
        let steps = life.start..next.unwrap_or(TraceNanos::MAX);
        let has_ended = life.end_how() != ThreadEnd::Alive;
        has_ended.then_some(Self { time: life.end, routine: life.routine_seq, steps })
    }

    /// That of a process's first thread, which nobody made.
    fn of_process(thread: ThreadIndex, known: &Known<'_>) -> Option<Self> {
        let time = known.last_times.get(thread.as_usize()).copied()?;
        let has_ended = known.options.end != ProcessEnd::Alive;
        has_ended.then_some(Self { time, routine: None, steps: TraceNanos(0)..TraceNanos::MAX })
    }
}
