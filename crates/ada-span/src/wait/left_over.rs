//! Finds out which locks threads had at the end.

use std::collections::HashMap;

use ada_event::TraceNanos;

use super::at_end::{HeldAtEnd, LastRelease, LocksAtEnd};
use super::books::Books;
use super::call::{LockStep, MOST_STEPS, Step};
use super::parties::Known;
use crate::NONE;
use crate::replay::ProcessEnd;
use crate::thread_index::ThreadIndex;

/// The locks of a process whose steps were noted.
pub(super) fn locks_at_end(steps: &HashMap<ThreadIndex, Vec<LockStep>>, known: &Known<'_>) -> LocksAtEnd {
    let mut found = LocksAtEnd {
        sees_releases: known.sees_unlocks.into(),
        goes_on: (known.options.end == ProcessEnd::Alive).into(),
        ..LocksAtEnd::default()
    };
    let mut lives: HashMap<ThreadIndex, usize> = HashMap::new();
    known.threads.iter().for_each(|life| *lives.entry(life.thread).or_default() += 1);
    for (&thread, steps) in steps {
        let mut last: HashMap<u64, TraceNanos> = HashMap::new();
        for step in steps.iter().filter(|step| step.what == Step::LetGo) {
            let end = last.entry(step.object).or_default();
            *end = step.end.max(*end);
        }
        // An id that was used again may have been another thread's.
        if steps.len() >= MOST_STEPS || lives.get(&thread).is_some_and(|lives| *lives > 1) {
            last.insert(NONE, TraceNanos::MAX);
        }
        found.releases.extend(last.into_iter().map(|(object, end)| LastRelease { thread, object, end }));
        let held = Books::new(steps).at_the_end();
        found.held.extend(held.map(|(seq, since, object, is_sure)| HeldAtEnd {
            thread,
            seq,
            since,
            object,
            is_sure: is_sure.into(),
        }));
    }
    let lost = known.losses.iter();
    found.releases.extend(lost.map(|loss| LastRelease { thread: loss.thread, object: NONE, end: loss.to }));
    found.releases.sort_unstable_by_key(|it| (it.thread, it.object, it.end));
    found.held.sort_unstable_by_key(|it| (it.thread, it.seq));
    found
}
