//! What may be wrong with the program, or with its trace.

use std::collections::BTreeMap;

use ada_span::{AnomalyKind, Outcome, Reason, Status};
use serde_json::json;

use super::Item;
use crate::analysis::{OpenedSession, Target, nanoseconds, refer, thousands};
use crate::top::{self, Sort, Use};

/// A call this much longer than the 99th percentile of its function is worth a look.
const OUTLIER: u64 = 10;
/// Functions with fewer calls have no percentiles to speak of.
const ENOUGH_CALLS: u64 = 20;
/// Shorter calls are not worth a look, whatever their function's others are like.
const SHORTEST_OUTLIER: u64 = 100_000;

/// What takes, and what gives back.
const PAIRS: [(&[&str], &[&str]); 9] = [
    (&["malloc", "calloc", "aligned_alloc", "posix_memalign", "memalign", "strdup", "strndup"], &["free", "cfree"]),
    (
        &["_Znwm", "_Znam", "_ZnwmSt11align_val_t"],
        &["_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvmSt11align_val_t"],
    ),
    (&["fopen", "fopen64", "fdopen", "freopen", "tmpfile"], &["fclose"]),
    (&["opendir", "fdopendir"], &["closedir"]),
    (&["mmap", "mmap64"], &["munmap"]),
    (&["dlopen", "dlmopen"], &["dlclose"]),
    (&["pthread_mutex_lock", "pthread_mutex_trylock"], &["pthread_mutex_unlock"]),
    (&["pthread_rwlock_rdlock", "pthread_rwlock_wrlock"], &["pthread_rwlock_unlock"]),
    (&["sem_init", "sem_open"], &["sem_destroy", "sem_close"]),
];

pub(super) fn gather(opened: &OpenedSession, limit: usize) -> Vec<Item> {
    let mut items = outcomes(opened);
    items.extend(anomalies(opened));
    items.extend(orphans(opened));
    items.extend(pending_groups(opened));
    items.extend(outliers(opened).into_iter().take(limit));
    items.extend(imbalances(opened));
    items
}

fn item(name: String, value: String, reference: Option<String>, json: serde_json::Value) -> Item {
    Item { section: "anomalies", name, value, reference, json }
}

/// Spans that did not simply return, by how and why.
fn outcomes(opened: &OpenedSession) -> Vec<Item> {
    let mut counts: BTreeMap<(Status, Reason), u64> = BTreeMap::new();
    for thread in opened.processes.iter().flat_map(|process| &process.tables.meta().threads) {
        for &(byte, count) in &thread.outcomes {
            if let Some(outcome) = Outcome::from_byte(byte) {
                *counts.entry((outcome.status, outcome.reason)).or_default() += count;
            }
        }
    }
    let odd = counts.into_iter().filter(|((status, reason), _)| {
        !matches!(status, Status::Completed | Status::EntryOnly | Status::Exited) || *reason == Reason::Timeout
    });
    odd.map(|((status, reason), count)| {
        let how = format!("ada spans --type frame --status {status} --reason {reason}");
        let name = match reason {
            Reason::None => format!("{status}"),
            _ => format!("{status}: {reason}"),
        };
        let json = json!({ "kind": "outcome", "status": status.word(), "reason": reason.word(), "count": count });
        item(name, format!("{} calls", thousands(count)), Some(how), json)
    })
    .collect()
}

fn anomalies(opened: &OpenedSession) -> Vec<Item> {
    let mut counts: BTreeMap<u32, (u64, String)> = BTreeMap::new();
    for (process, it) in opened.processes.iter().enumerate() {
        for anomaly in &it.tables.meta().anomalies {
            let thread = it.tables.meta().threads[anomaly.thread as usize].id;
            let reference = refer(opened, process, Target::Event(thread, anomaly.first_seq)).to_string();
            counts.entry(anomaly.kind).or_insert((0, reference)).0 += anomaly.count;
        }
    }
    let known = counts.into_iter().filter_map(|(kind, found)| Some((AnomalyKind::ALL.get(kind as usize)?, found)));
    known
        .map(|(kind, (count, reference))| {
            let json = json!({ "kind": kind.word(), "count": count });
            item(kind.word().replace('_', " "), format!("{} times, first at", thousands(count)), Some(reference), json)
        })
        .collect()
}

/// Continuations that were resumed though no task waited for them.
fn orphans(opened: &OpenedSession) -> Option<Item> {
    let mut all = opened
        .processes
        .iter()
        .enumerate()
        .flat_map(|(process, it)| it.tables.meta().orphans.iter().map(move |&orphan| (process, orphan)));
    let count = all.clone().count() as u64;
    let (process, (thread, seq)) = all.next()?;
    let thread = opened.processes[process].tables.meta().threads[thread as usize].id;
    let reference = refer(opened, process, Target::Event(thread, seq)).to_string();
    let json = json!({ "kind": "orphaned_resume", "count": count });
    Some(item("orphaned resume".into(), format!("{} times, first at", thousands(count)), Some(reference), json))
}

/// Groups that wait for something to the end.
fn pending_groups(opened: &OpenedSession) -> Option<Item> {
    let groups = opened.processes.iter().flat_map(|it| &it.tables.meta().groups).filter(|group| group.left() > 0);
    let (count, left) = groups.fold((0_u64, 0_u64), |(count, left), group| (count + 1, left + group.left()));
    let json = json!({ "kind": "pending_group", "count": count, "left": left });
    let words = format!("{} dispatch groups never became empty", thousands(count));
    (count > 0).then(|| item("pending groups".into(), words, Some("ada queues".into()), json))
}

/// Calls that took much longer than others of the same function.
fn outliers(opened: &OpenedSession) -> Vec<Item> {
    let is_outlier = |it: &Use<'_>| {
        let usual = it.stats.quantile(0.99).unwrap_or(u64::MAX);
        it.stats.timed >= ENOUGH_CALLS
            && it.stats.max_ns >= SHORTEST_OUTLIER
            && it.stats.max_ns / OUTLIER >= usual.max(1)
    };
    let mut found: Vec<Use<'_>> = top::sorted(opened, Sort::Max);
    found.retain(is_outlier);
    found
        .iter()
        .map(|it| {
            let names = &opened.processes[it.process].names;
            let usual = it.stats.quantile(0.99).unwrap_or(0);
            let json = json!({ "kind": "slow_outlier", "duration_ns": it.stats.max_ns, "p99_ns": usual });
            let words =
                format!("took {} once, where 99 % take {} at most", nanoseconds(it.stats.max_ns), nanoseconds(usual));
            item(names.name(it.stats.function), words, top::longest(opened, it), json)
        })
        .collect()
}

/// Takers that were called more often than givers.
fn imbalances(opened: &OpenedSession) -> Vec<Item> {
    let mut items = Vec::new();
    for (process, it) in opened.processes.iter().enumerate() {
        let mut calls: BTreeMap<&str, (u64, ada_event::FunctionId)> = BTreeMap::new();
        for stats in &it.tables.meta().functions {
            let raw = it.names.raw(stats.function).unwrap_or_default();
            let name = raw.split('@').next().unwrap_or_default().trim_start_matches("__libc_");
            let entry = calls.entry(name).or_insert((0, stats.function));
            entry.0 += stats.spans;
        }
        for (takers, givers) in PAIRS {
            let count = |names: &[&str]| names.iter().filter_map(|name| calls.get(name)).map(|(count, _)| *count).sum();
            let (taken, given): (u64, u64) = (count(takers), count(givers));
            // Some are kept for the whole life of a program; a tenth more than was given back is another matter.
            if taken <= given + given / 10 + 10 {
                continue;
            }
            let function = takers.iter().filter_map(|name| calls.get(name)).map(|(_, function)| *function).next();
            let reference = function.map(|it| refer(opened, process, Target::Function(it)).to_string());
            let name = |raw: &str| ada_image::demangle(raw).into_owned();
            let json = json!({ "kind": "imbalance", "taken": taken, "given": given });
            let value = format!("{} calls, and {} of {}", thousands(taken), thousands(given), name(givers[0]));
            items.push(item(format!("{} without {}", name(takers[0]), name(givers[0])), value, reference, json));
        }
    }
    items
}
