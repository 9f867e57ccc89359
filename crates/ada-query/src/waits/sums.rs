//! Waits summed up by what was waited for, by who held it, or by who waited.

use std::collections::{BTreeMap, BTreeSet};

use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use ada_span::wait::{WaitKind, WaitSpan};

use super::{CallPlaces, suspended, waiting_thread};
use crate::trace::TraceProcess;

/// What waits are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// What was waited for.
    Object,
    /// The thread that held it, and where it took it.
    Holder,
    /// The thread that waited, and where.
    Waiter,
}

/// Waits of a kind that have something in common.
#[derive(Clone, Debug)]
pub struct WaitSum {
    /// What was waited for.
    pub kind: WaitKind,
    /// The longest of them: what is the same in all is to be read here.
    pub longest: WaitSpan,
    /// How many.
    pub count: u64,
    /// How many had not ended when the recording did.
    pub open: u64,
    /// Their time.
    pub total_ns: u64,
    /// The threads that waited.
    pub waiters: BTreeSet<ThreadIndex>,
    /// How many tasks did.
    pub tasks: usize,
    /// The threads that held it.
    pub holders: BTreeSet<ThreadIndex>,
    /// Where it was waited for: functions of the program's own, with the time.
    pub waited_in: BTreeMap<FunctionIndex, u64>,
    /// Where it was taken by those who held it.
    pub held_in: BTreeMap<FunctionIndex, u64>,
    /// Waits of which something is not certain.
    pub uncertain: u64,
}

impl WaitSum {
    /// The function with the most time.
    pub fn most(by_function: &BTreeMap<FunctionIndex, u64>) -> Option<FunctionIndex> {
        by_function.iter().max_by_key(|(_, total)| **total).map(|(function, _)| *function)
    }

    fn add(&mut self, wait: &WaitSpan, places: &CallPlaces) {
        let duration = wait.duration();
        self.count += 1;
        self.open += u64::from(wait.is_open());
        self.total_ns = self.total_ns.saturating_add(duration);
        self.uncertain += u64::from(wait.doubts != 0);
        self.waiters.extend(waiting_thread(wait));
        self.holders.extend(wait.holder);
        let mut note = |list: fn(&mut Self) -> &mut BTreeMap<FunctionIndex, u64>, place: Option<FunctionIndex>| {
            if let Some(place) = place {
                let sum = list(self).entry(place).or_default();
                *sum = sum.saturating_add(duration.max(1));
            }
        };
        note(|it| &mut it.waited_in, places.of_waiter(wait));
        let held = wait.holder.zip(wait.hold_seq);
        note(|it| &mut it.held_in, held.and_then(|(thread, seq)| places.get(thread, seq)));
        if duration > self.longest.duration() {
            self.longest = *wait;
        }
    }
}

/// Sums of waits, those with the most time first.
pub fn sums<'w>(
    process: &TraceProcess,
    waits: impl IntoIterator<Item = &'w WaitSpan>,
    places: &CallPlaces,
    by: By,
) -> Vec<WaitSum> {
    // Waits of threads and of tasks are about different things, whatever their numbers are.
    type Key = (WaitKind, bool, Option<u64>, Option<ThreadIndex>, Option<FunctionIndex>);
    let mut sums: BTreeMap<Key, WaitSum> = BTreeMap::new();
    let mut tasks: BTreeMap<Key, BTreeSet<u64>> = BTreeMap::new();
    for wait in waits {
        let kind = wait.kind();
        let task = suspended(process, wait).map(|(task, _)| task.id);
        let key = match by {
            // What is looked for is not known, but where is.
            By::Object if kind == WaitKind::Yield => (kind, false, None, None, places.of_waiter(wait)),
            By::Object => (kind, task.is_some(), Some(wait.object), None, None),
            By::Holder => {
                let place = wait.holder.zip(wait.hold_seq).and_then(|(thread, seq)| places.get(thread, seq));
                (kind, task.is_some(), None, wait.holder, place)
            }
            // Tasks come in thousands: what they have in common is the place.
            By::Waiter => (kind, task.is_some(), None, waiting_thread(wait), places.of_waiter(wait)),
        };
        if by == By::Holder && wait.holder.is_none() {
            continue;
        }
        let sum = sums.entry(key).or_insert_with(|| WaitSum {
            kind,
            longest: *wait,
            count: 0,
            open: 0,
            total_ns: 0,
            waiters: BTreeSet::new(),
            tasks: 0,
            holders: BTreeSet::new(),
            waited_in: BTreeMap::new(),
            held_in: BTreeMap::new(),
            uncertain: 0,
        });
        sum.add(wait, places);
        if let Some(task) = task {
            tasks.entry(key).or_default().insert(task);
        }
    }
    for (key, tasks) in tasks {
        sums.entry(key).and_modify(|sum| sum.tasks = tasks.len());
    }
    let mut sums: Vec<WaitSum> = sums.into_values().collect();
    sums.sort_by_key(|sum| std::cmp::Reverse((sum.total_ns, sum.count)));
    sums
}
