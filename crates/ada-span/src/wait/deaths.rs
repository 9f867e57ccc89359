//! The ends of threads that had robust mutexes: the kernel gives these to who waits for them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use ada_event::{EventSeq, ThreadId, TraceNanos};

use super::books::{Books, TakenBy};
use super::call::{LockStep, ObservedCall, Step};
use super::owner_word::OwnerWord;
use super::parties::Known;
use super::wakes::Wake;
use crate::NONE;
use crate::pthread::{PthreadSpan, ThreadEnd};
use crate::replay::ProcessEnd;
use crate::role::SyncCall;
use crate::thread_index::ThreadIndex;

/// All of them, each with the mutex.
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
    let seen = seen_by_others(calls, known.ids);
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
            let mut add = |object, seq, is_sure| {
                let (seq, room) = (end.routine.unwrap_or(seq), u64::from(is_sure));
                found.push((object, Wake { thread: *thread, seq, start: end.time, end: end.time, room }));
            };
            for (object, step) in last.iter().filter(|(_, step)| step.what != Step::LetGo) {
                add(*object, step.seq, step.what == Step::Taken);
            }
            for (object, time) in seen.get(thread).into_iter().flatten() {
                let is_before = |step: &&LockStep| step.what == Step::LetGo && step.end < *time;
                let is_news = end.steps.contains(time) && *time <= end.time && last.get(object).is_none_or(is_before);
                if let Some((seq, is_sure)) = had_at(steps, *object, *time).filter(|_| is_news) {
                    add(*object, seq, is_sure);
                }
            }
        }
    }
    found
}

/// When others that asked for robust mutexes last found which threads to have them: such a thread need not have shown that itself.
fn seen_by_others(calls: &[ObservedCall], ids: &[ThreadId]) -> HashMap<ThreadIndex, HashMap<u64, TraceNanos>> {
    let by_id: HashMap<ThreadId, ThreadIndex> = ids.iter().zip(0..).map(|(id, at)| (*id, ThreadIndex(at))).collect();
    let mut seen: HashMap<ThreadIndex, HashMap<u64, TraceNanos>> = HashMap::new();
    for call in
        calls.iter().filter(|call| matches!(call.call, SyncCall::Lock | SyncCall::TimedLock | SyncCall::TryLock))
    {
        let mutex = OwnerWord::of(&call.words).filter(|mutex| mutex.is_robust());
        let Some(owner) = mutex.and_then(OwnerWord::owner).and_then(|id| by_id.get(&id)) else { continue };
        if *owner != call.thread {
            let time = seen.entry(*owner).or_default().entry(call.arguments[0]).or_default();
            *time = call.start.max(*time);
        }
    }
    seen
}

/// The call by which a thread took what it was found to have at a moment, and whether it has certainly let go of nothing since that this can be.
fn had_at(steps: &[LockStep], object: u64, time: TraceNanos) -> Option<(EventSeq, bool)> {
    let can_be_it = |step: &LockStep| !step.is_read_write && (step.object == NONE || step.object == object);
    let seq = match Books::new(steps).taken_by(object, time, false) {
        TakenBy::Call(seq, _) => seq,
        // One of those that it has.
        _ => steps.iter().rev().find(|step| can_be_it(step) && step.what != Step::LetGo && step.start <= time)?.seq,
    };
    let lets_go = |step: &LockStep| step.what == Step::LetGo && step.end >= time && can_be_it(step);
    Some((seq, !steps.iter().any(lets_go)))
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
