//! Tracks of locks that threads waited for: above who had the lock, as far as that is certain, below who waited.

use std::collections::BTreeMap;

use ada_event::{EventSeq, TraceNanos};
use ada_query::waits::hides_releases;
use ada_span::table::{FunctionIndex, Meta};
use ada_span::wait::WaitKind;
use ada_span::{Outcome, ThreadIndex};
use ada_timeline::Item;

use super::logical_track::{LogicalKind, Waiting};
use super::names::SpanNames;
use crate::analysis::{OpenedSession, thread_title};

/// Locks that have tracks: those that were waited for longest.
const MOST_LOCKS: usize = 12;

/// What is to be seen of a process's locks, and their names by rank.
pub(super) fn spans(opened: &OpenedSession, number: usize, names: &SpanNames) -> (Vec<String>, Vec<Waiting>) {
    let process = &opened.processes()[number];
    let meta = process.tables.meta();
    let is_lock = |kind: WaitKind| matches!(kind, WaitKind::Mutex | WaitKind::ReadWriteLock);
    let mut waited: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for wait in meta.waits.iter().filter(|wait| is_lock(wait.kind()) && wait.object != ada_span::NONE) {
        *waited.entry((wait.kind, wait.object)).or_default() += wait.duration();
    }
    let mut locks: Vec<((u64, u64), u64)> = waited.into_iter().collect();
    locks.sort_by_key(|(lock, time)| (std::cmp::Reverse(*time), *lock));
    locks.truncate(MOST_LOCKS);
    let ranks: BTreeMap<(u64, u64), usize> = locks.iter().map(|(lock, _)| *lock).zip(0..).collect();
    let word = |kind: u64| WaitKind::from_number(kind).map_or("", WaitKind::word);
    let named = locks.iter().map(|((kind, object), _)| format!("{} {object:#x}", word(*kind))).collect();
    let item = |thread: ThreadIndex, verb: &str, (start, end): (TraceNanos, TraceNanos), seq: usize| {
        let text = format!("{} {} {verb}", thread_title(opened, number, thread), process.thread_id(thread));
        let function = FunctionIndex(names.of_text(&text));
        Item {
            start,
            duration: end.since(start),
            seq: seq as u64,
            function,
            count: 1,
            outcome: Outcome::default().to_byte(),
        }
    };
    let mut spans = Vec::new();
    if !hides_releases(process) {
        for (index, hold) in meta.holds.iter().enumerate() {
            let Some(&rank) = ranks.get(&(hold.kind, hold.object)) else { continue };
            let verb = if hold.is_shared == 1 { "reads" } else { "holds it" };
            let item = item(hold.thread, verb, (hold.start, hold.end), index);
            spans.push(Waiting { kind: LogicalKind::Lock(rank), is_below: false, item, running: vec![item] });
        }
    }
    for (index, wait) in meta.waits.iter().enumerate() {
        let Some(&rank) = ranks.get(&(wait.kind, wait.object)) else { continue };
        let item = item(wait.thread, "waits", (wait.start, wait.end), meta.holds.len() + index);
        spans.push(Waiting { kind: LogicalKind::Lock(rank), is_below: true, item, running: Vec::new() });
    }
    (named, spans)
}

/// The call that took the lock, or that waited for it, by the number of what is drawn.
pub(super) fn call(meta: &Meta, index: usize) -> Option<(ThreadIndex, EventSeq)> {
    match meta.holds.get(index) {
        Some(hold) => Some((hold.thread, hold.seq)),
        None => meta.waits.get(index - meta.holds.len()).map(|wait| (wait.thread, wait.seq)),
    }
}
