//! Which creation made which thread: a key that both have, and the nearest later start.

use std::collections::{BTreeSet, HashMap};

use ada_event::{RuntimeAddr, TraceNanos};

use super::call::ThreadCall;

/// What is known of a thread that some call must have created.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Started {
    /// Which one.
    pub(crate) number: u32,
    pub(crate) first_time: TraceNanos,
    pub(crate) handle: Option<u64>,
    pub(crate) routine_address: Option<RuntimeAddr>,
    pub(crate) argument: Option<u64>,
}

/// A creation and its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) create: usize,
    /// [`Started::number`].
    pub(crate) number: u32,
    pub(crate) confidence: u64,
}

const BY_HANDLE: u64 = 100;
const BY_ROUTINE_AND_ARGUMENT: u64 = 90;
const BY_ROUTINE: u64 = 60;
const THE_ONLY_ONE: u64 = 60;
const BY_ORDER: u64 = 30;

/// Matches creations, sorted by time, with threads, by the best key that there is.
pub(crate) fn match_threads(creates: &[ThreadCall], threads: &[Started]) -> Vec<Match> {
    let mut matching =
        Matching { creates, free: vec![true; creates.len()], threads: threads.to_vec(), found: Vec::new() };
    matching.by_key(BY_HANDLE, ThreadCall::word, |thread| thread.handle);
    matching.by_key(
        BY_ROUTINE_AND_ARGUMENT,
        |create| create.arguments.map(|it| (RuntimeAddr(it[2]), it[3])),
        |thread| thread.routine_address.zip(thread.argument),
    );
    matching.by_key(
        BY_ROUTINE,
        |create| create.arguments.map(|it| RuntimeAddr(it[2])),
        |thread| thread.routine_address,
    );
    matching.by_time();
    matching.found
}

struct Matching<'a> {
    creates: &'a [ThreadCall],
    free: Vec<bool>,
    /// Those without a creation yet.
    threads: Vec<Started>,
    found: Vec<Match>,
}

impl Matching<'_> {
    fn by_key<K: std::hash::Hash + Eq>(
        &mut self,
        confidence: u64,
        of_create: impl Fn(&ThreadCall) -> Option<K>,
        of_thread: impl Fn(&Started) -> Option<K>,
    ) {
        let mut waiting: HashMap<K, BTreeSet<(TraceNanos, u32)>> = HashMap::new();
        for thread in &self.threads {
            if let Some(key) = of_thread(thread) {
                waiting.entry(key).or_default().insert((thread.first_time, thread.number));
            }
        }
        // How often a key was handed over again before its thread's start.
        let mut taken = BTreeSet::new();
        for (number, create) in self.creates.iter().enumerate().filter(|(number, _)| self.free[*number]) {
            let Some(threads) = of_create(create).and_then(|key| waiting.get_mut(&key)) else { continue };
            let Some(&nearest) = threads.range((create.time, 0)..).next() else { continue };
            threads.remove(&nearest);
            taken.insert(nearest.1);
            self.found.push(Match { create: number, number: nearest.1, confidence });
        }
        for found in &self.found {
            self.free[found.create] = false;
        }
        self.threads.retain(|thread| !taken.contains(&thread.number));
    }

    /// What has no key in common: the order in time, in doubt where several creations were under way.
    fn by_time(&mut self) {
        let mut waiting: BTreeSet<(TraceNanos, u32)> =
            self.threads.iter().map(|it| (it.first_time, it.number)).collect();
        let free: Vec<usize> = (0..self.creates.len()).filter(|&number| self.free[number]).collect();
        let mut last_start = TraceNanos(0);
        for (index, &number) in free.iter().enumerate() {
            let create = &self.creates[number];
            let Some(&nearest) = waiting.range((create.time, 0)..).next() else { continue };
            waiting.remove(&nearest);
            let next = free.get(index + 1).map(|&next| self.creates[next].time);
            let is_alone = last_start <= create.time && next.is_none_or(|next| next > nearest.0);
            last_start = nearest.0;
            let confidence = if is_alone { THE_ONLY_ONE } else { BY_ORDER };
            self.found.push(Match { create: number, number: nearest.1, confidence });
        }
    }
}
