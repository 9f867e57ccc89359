//! What may be wrong with the program, or with its trace.

use std::collections::BTreeMap;

use ada_span::{AnomalyKind, Outcome, Reason, Status};
use serde_json::json;

use super::{Item, imbalances};
use crate::analysis::{OpenedSession, Target, nanoseconds, refer, thousands};
use crate::top::{self, Sort, Use};

/// A call this much longer than the 99th percentile of its function is worth a look.
const OUTLIER: u64 = 10;
/// Functions with fewer calls have no percentiles to speak of.
const ENOUGH_CALLS: u64 = 20;
/// Shorter calls are not worth a look, whatever their function's others are like.
const SHORTEST_OUTLIER: u64 = 100_000;

pub(super) fn gather(opened: &OpenedSession, limit: usize) -> Vec<Item> {
    let mut items = outcomes(opened);
    items.extend(anomalies(opened));
    items.extend(outliers(opened).into_iter().take(limit));
    items.extend(imbalances::gather(opened));
    items
}

pub(super) fn item(name: String, value: String, reference: Option<String>, json: serde_json::Value) -> Item {
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

/// Calls that took much longer than others of the same function.
fn outliers(opened: &OpenedSession) -> Vec<Item> {
    let is_outlier = |it: &Use<'_>| {
        let usual = it.stats.quantile(0.99).unwrap_or(u64::MAX);
        it.stats.timed >= ENOUGH_CALLS
            && it.stats.max_ns >= SHORTEST_OUTLIER
            && it.stats.max_ns / OUTLIER >= usual.max(1)
    };
    let mut found = top::all(opened);
    found.retain(is_outlier);
    top::sort_uses(&mut found, Sort::Max);
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
