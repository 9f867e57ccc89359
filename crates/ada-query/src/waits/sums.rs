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
    /// Those of other processes.
    pub remote_holders: BTreeSet<(u64, ThreadIndex)>,
    /// Where it was waited for: functions of the program's own, with the time.
    pub waited_in: BTreeMap<FunctionIndex, u64>,
    /// Where it was taken by those who held it.
    pub held_in: BTreeMap<FunctionIndex, u64>,
    /// The same of those of other processes, by name.
    pub remote_held_in: BTreeMap<String, u64>,
    /// Waits of which something is not certain.
    pub uncertain: u64,
}

impl WaitSum {
    /// The function with the most time.
    pub fn most(by_function: &BTreeMap<FunctionIndex, u64>) -> Option<FunctionIndex> {
        by_function.iter().max_by_key(|(_, total)| **total).map(|(function, _)| *function)
    }

    /// Where it was taken by those who held it for most of the time, in whichever process.
    pub fn mostly_held_in(&self, process: &TraceProcess) -> Option<String> {
        let own = self.held_in.iter().max_by_key(|(_, total)| **total);
        let own = own.and_then(|(function, total)| Some((*total, &process.label_at(*function)?.name)));
        let remote = self.remote_held_in.iter().max_by_key(|(_, total)| **total).map(|(name, total)| (*total, name));
        own.max(remote).map(|(_, name)| name.clone())
    }

    fn add(&mut self, wait: &WaitSpan, places: &CallPlaces) {
        let duration = wait.duration();
        self.count += 1;
        self.open += u64::from(wait.is_open());
        self.total_ns = self.total_ns.saturating_add(duration);
        self.uncertain += u64::from(wait.doubts != 0);
        self.waiters.extend(waiting_thread(wait));
        self.holders.extend(wait.holder);
        self.remote_holders.extend(remote_holder(wait));
        if let Some(name) = places.remote_hold_name(wait) {
            let sum = self.remote_held_in.entry(name).or_default();
            *sum = sum.saturating_add(duration.max(1));
        }
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

/// The process and the thread of who held what was waited for, where that is another process's.
fn remote_holder(wait: &WaitSpan) -> Option<(u64, ThreadIndex)> {
    wait.holder_process.zip(wait.remote_holder)
}

/// Sums of waits, those with the most time first.
pub fn sums<'w>(
    process: &TraceProcess,
    waits: impl IntoIterator<Item = &'w WaitSpan>,
    places: &CallPlaces,
    by: By,
) -> Vec<WaitSum> {
    // Waits of threads and of tasks are about different things, whatever their numbers are.
    type Key = (WaitKind, bool, Option<u64>, Option<(Option<u64>, ThreadIndex)>, Option<FunctionIndex>, Option<String>);
    let mut sums: BTreeMap<Key, WaitSum> = BTreeMap::new();
    let mut tasks: BTreeMap<Key, BTreeSet<u64>> = BTreeMap::new();
    for wait in waits {
        let kind = wait.kind();
        let task = suspended(process, wait).map(|(task, _)| task.id);
        let key = match by {
            // What is looked for is not known, but where is.
            By::Object if kind == WaitKind::Yield => (kind, false, None, None, places.of_waiter(wait), None),
            By::Object => (kind, task.is_some(), Some(wait.object), None, None, None),
            By::Holder => {
                let place = wait.holder.zip(wait.hold_seq).and_then(|(thread, seq)| places.get(thread, seq));
                let own = wait.holder.map(|thread| (None, thread));
                let holder = own.or(remote_holder(wait).map(|(process, thread)| (Some(process), thread)));
                (kind, task.is_some(), None, holder, place, places.remote_hold_name(wait))
            }
            // Tasks come in thousands: what they have in common is the place.
            By::Waiter => {
                let waiter = waiting_thread(wait).map(|thread| (None, thread));
                (kind, task.is_some(), None, waiter, places.of_waiter(wait), None)
            }
        };
        if by == By::Holder && key.3.is_none() {
            continue;
        }
        let sum = sums.entry(key.clone()).or_insert_with(|| WaitSum {
            kind,
            longest: *wait,
            count: 0,
            open: 0,
            total_ns: 0,
            waiters: BTreeSet::new(),
            tasks: 0,
            holders: BTreeSet::new(),
            remote_holders: BTreeSet::new(),
            waited_in: BTreeMap::new(),
            held_in: BTreeMap::new(),
            remote_held_in: BTreeMap::new(),
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
