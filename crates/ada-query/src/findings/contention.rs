//! Locks that their holders kept while they slept, and waits that nobody could end any more.

use std::collections::{BTreeMap, BTreeSet};

use ada_event::EventSeq;
use ada_span::ThreadIndex;
use ada_span::pthread::ThreadEnd;
use ada_span::table::FunctionIndex;
use ada_span::wait::{WaitKind, WaitSpan};
use serde_json::json;

use super::{About, Finding, nanoseconds};
use crate::error::QueryError;
use crate::waits::{CallPlaces, blocked_at, deadlocks, object_name, to_json};

/// Shorter times that others waited meanwhile are not worth a word.
const SHORTEST: u64 = 1_000_000;

pub(super) fn find(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let mut found = held_while_asleep(about)?;
    found.extend(never_woken(about)?);
    Ok(found)
}

/// What others waited for one function that slept with a lock.
#[derive(Default)]
struct Asleep {
    waits: u64,
    total_ns: u64,
    waiters: BTreeSet<ThreadIndex>,
    example: Option<WaitSpan>,
}

/// Waits for a lock whose holder slept, from the call that took it to the one that let go of it.
fn held_while_asleep(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let meta = about.process.tables.meta();
    let mut sleeps: BTreeMap<ThreadIndex, Vec<&WaitSpan>> = BTreeMap::new();
    for sleep in meta.waits.iter().filter(|wait| matches!(wait.kind(), WaitKind::Sleep | WaitKind::Input)) {
        sleeps.entry(sleep.thread).or_default().push(sleep);
    }
    if sleeps.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for wait in meta.waits.iter().filter(|wait| wait.kind() == WaitKind::Mutex && wait.waker == wait.holder) {
        let (Some(holder), Some(since), Some(until)) = (wait.holder, wait.hold_start, wait.wake_time) else { continue };
        let Some(of_holder) = sleeps.get(&holder) else { continue };
        let first = of_holder.partition_point(|sleep| sleep.start < since);
        let inside = of_holder[first..].iter().take_while(|sleep| sleep.end <= until);
        let overlap = |sleep: &&WaitSpan| sleep.end.min(wait.end).since(sleep.start.max(wait.start));
        let slept: u64 = inside.map(overlap).sum();
        if slept > 0 {
            all.push((*wait, slept));
        }
    }
    let places = CallPlaces::of_waits(about.trace, about.process, all.iter().map(|(wait, _)| wait))?;
    let mut by_place: BTreeMap<FunctionIndex, Asleep> = BTreeMap::new();
    for (wait, slept) in &all {
        let place = wait.holder.zip(wait.hold_seq).and_then(|(thread, seq)| places.get(thread, seq));
        let Some(place) = place else { continue };
        let sum = by_place.entry(place).or_default();
        sum.waits += 1;
        sum.total_ns = sum.total_ns.saturating_add(*slept);
        sum.waiters.insert(wait.thread);
        sum.example.get_or_insert(*wait);
    }
    let is_long = |(_, sum): &(FunctionIndex, Asleep)| sum.total_ns >= SHORTEST;
    let finding = |(place, sum): (FunctionIndex, Asleep)| {
        let name = about.name(place);
        let title = format!(
            "{name} slept or waited for input with a lock that others waited for, {} in all",
            nanoseconds(sum.total_ns)
        );
        let rationale = format!(
            "{} waits of {} threads for a mutex went on while its holder, which had taken it in {name}, slept or waited for input or output.",
            sum.waits,
            sum.waiters.len()
        );
        let share = (sum.total_ns as f64 / about.lifetime().max(1) as f64).min(1.0);
        let mut finding = about.finding("lock_held_asleep", 45.0 + 30.0 * share, title, rationale);
        finding.evidence = sum.example.iter().map(|wait| about.frame(wait.thread, wait.seq)).collect();
        finding.facts = json!({ "waits": sum.waits, "total_ns": sum.total_ns, "waiters": sum.waiters.len() });
        finding.function = Some(name);
        finding
    };
    Ok(by_place.into_iter().filter(is_long).map(finding).collect())
}

/// Threads that waited for a signal or a post when all others had ended or waited too.
fn never_woken(about: &About<'_>) -> Result<Vec<Finding>, QueryError> {
    let process = about.process;
    let blocked = blocked_at(process, ada_event::TraceNanos::MAX);
    let is_for_ever = |wait: &WaitSpan| {
        wait.is_open() && wait.is_timed == 0 && !matches!(wait.kind(), WaitKind::Sleep | WaitKind::Input)
    };
    let all = ThreadIndex::all(process.tables.meta().threads.len());
    let mut alive = all.filter(|thread| is_alive(about, *thread));
    if !alive.all(|thread| blocked.get(&thread).is_some_and(is_for_ever)) || !deadlocks(process).is_empty() {
        return Ok(Vec::new());
    }
    let is_to_be_woken = |kind| matches!(kind, WaitKind::Condition | WaitKind::Semaphore | WaitKind::Futex);
    let waits: Vec<WaitSpan> = blocked.into_values().filter(|wait| is_to_be_woken(wait.kind())).collect();
    let places = CallPlaces::of_waits(about.trace, process, &waits)?;
    let finding = |wait: &WaitSpan| {
        let id = process.thread_id(wait.thread);
        let object = object_name(process, wait).unwrap_or_default();
        let place = places.name(process, wait.thread, wait.seq);
        let who = place.as_ref().map_or_else(|| format!("thread {id}"), |place| format!("{place} (thread {id})"));
        let title = format!("{who} waited for {} {object}, and nobody was left to end that", wait.kind());
        let rationale = "Every other thread of the process had ended, or waited without a time limit itself. It was \
                         signalled before it waited, or never (a lost wake-up).";
        let mut finding = about.finding("lost_wakeup", 94.0, title, rationale);
        finding.function = place;
        finding.evidence = vec![about.frame(wait.thread, wait.seq)];
        finding.facts = to_json(process, wait, &places);
        finding
    };
    Ok(waits.iter().map(finding).collect())
}

/// Whether a thread had not ended when the process or the recording did.
fn is_alive(about: &About<'_>, thread: ThreadIndex) -> bool {
    let life = about.process.pthread(thread, EventSeq(u64::MAX));
    life.is_none_or(|life| matches!(life.end_how(), ThreadEnd::ProcessEnd | ThreadEnd::Alive))
}
