//! What was run and recorded.

use std::collections::{BTreeMap, HashSet};

use ada_span::{AnomalyKind, Outcome};
use serde_json::json;

use super::item::Item;
use super::process_lines::{self, RanProcess};
use super::recording;
use crate::analysis::{OpenedSession, counted, end_words, nanoseconds, thousands};

/// Run facts, coverage and drops, of processes in an order.
pub(super) fn gather(opened: &OpenedSession, order: &[usize]) -> Vec<Item> {
    let mut items = Vec::new();
    let path = opened.session().path().display().to_string();
    items.push(Item::fact("session", path.clone(), path.into()));
    let (mut found, mut hooked, mut drops) = (0_u64, 0_u64, BTreeMap::<String, u64>::new());
    let (mut ran, mut limits, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for process in order.iter().map(|number| &opened.processes()[*number]) {
        let Some(manifest) = &opened.recorded(process).manifest else { continue };
        let command = manifest.command_line.join(" ");
        let end = end_words(manifest);
        ran.push(RanProcess { command, pid: process.pid, parent: manifest.parent_pid, end });
        // A fork's child has its parent's images.
        let new = manifest.modules.iter().filter(|module| seen.insert(&module.path));
        for coverage in new.filter_map(|module| module.coverage.as_ref()) {
            found = found.saturating_add(coverage.found);
            hooked = hooked.saturating_add(coverage.hooked).saturating_add(coverage.entry_only);
        }
        for drop in manifest.drops.iter().filter(|drop| drop.count > 0) {
            let count = drops.entry(format!("{} {}", drop.lane, drop.reason)).or_default();
            // The processes of a trace share their rings, and each lists all that was lost.
            *count = (*count).max(drop.count);
        }
        for limit in &manifest.limits {
            let words = limit.as_str().map_or_else(|| limit.to_string(), str::to_owned);
            // What holds for the whole recording stands with each of its processes.
            if !limits.iter().any(|it: &Item| it.value == words) {
                limits.push(Item::fact("limit", words, json!([limit])));
            }
        }
    }
    items.extend(process_lines::lines(&ran));
    merge_limits(&mut limits);
    items.extend(limits);
    let threads = || opened.processes().iter().flat_map(|process| &process.tables.meta().threads);
    let duration = opened.end().since(opened.start());
    let events: u64 = threads().map(|thread| thread.facts.events).sum();
    let spans: u64 = threads().map(|thread| thread.spans).sum();
    items.push(Item::fact(
        "duration",
        nanoseconds(duration),
        json!({ "start_ns": opened.start().0, "duration_ns": duration }),
    ));
    items.push(Item::fact(
        "events",
        format!("{} events, {} calls", thousands(events), thousands(spans)),
        json!({ "events": events, "spans": spans }),
    ));
    let deepest = threads().map(|thread| thread.facts.deepest).max().unwrap_or(0);
    let anomalies = opened.processes().iter().flat_map(|process| &process.tables.meta().anomalies);
    // What was too deep to follow is deeper.
    let is_cut = anomalies.into_iter().any(|it| it.kind == AnomalyKind::TooDeep as u32);
    let least = if is_cut { "at least " } else { "" };
    let count = opened.processes().iter().map(|process| process.lives().len()).sum::<usize>();
    items.push(Item::fact(
        "threads",
        format!("{count}; the deepest stack has {least}{} frames", thousands(deepest.into())),
        json!({ "count": count, "deepest": deepest, "is_deepest_known": least.is_empty() }),
    ));
    if found > 0 {
        let share = hooked as f64 / found as f64 * 100.0;
        items.push(Item::fact(
            "coverage",
            format!(
                "{} of {} functions hooked ({share:.1} %); `ada hooks` lists the others",
                thousands(hooked),
                thousands(found)
            ),
            json!({ "found": found, "hooked": hooked }),
        ));
    }
    items.extend(recording::gather(opened));
    let dropped: u64 = drops.values().fold(0, |sum, count| sum.saturating_add(*count));
    let words = match dropped {
        0 => "none".to_owned(),
        _ => drops.iter().map(|(what, count)| format!("{} {what}", thousands(*count))).collect::<Vec<_>>().join(", "),
    };
    items.push(Item::fact("drops", words, json!(drops)));
    for finding in opened.session().findings() {
        let words = finding.to_string();
        items.push(Item::fact("damage", words.clone(), words.into()));
    }
    items
}

/// JSON has one list of limits.
fn merge_limits(limits: &mut [Item]) {
    let all = limits.iter().flat_map(|item| item.json.as_array().cloned().unwrap_or_default()).collect();
    if let Some(last) = limits.last_mut() {
        last.json = all;
    }
}

/// Logical spans by runtime and outcome.
pub(super) fn logical(opened: &OpenedSession) -> Vec<Item> {
    let mut counts: BTreeMap<(&str, &str, &str), (u64, u64)> = BTreeMap::new();
    let mut count = |runtime: &'static str, outcome: Outcome, duration: u64| {
        let sum = counts.entry((runtime, outcome.status.word(), outcome.reason.word())).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(duration));
    };
    let (mut left_out, mut has_callbacks) = (0, false);
    for process in opened.processes() {
        let meta = process.tables.meta();
        for span in &meta.pthreads {
            count("pthread", span.outcome(), span.end.since(span.start));
        }
        for span in &meta.callbacks {
            has_callbacks = true;
            count("callback", span.outcome(), span.end.since(span.start));
        }
        for span in &meta.tasks {
            count(span.runtime().word(), span.outcome(), span.end.since(span.start));
        }
        for span in &meta.dispatched {
            count("gcd", span.outcome(), span.end.since(span.start));
        }
        left_out += meta.callbacks_left_out;
    }
    let mut items: Vec<Item> = counts
        .into_iter()
        .map(|((runtime, status, reason), (count, total))| Item {
            section: "logical",
            name: format!(
                "{runtime} {status}{}",
                if reason == "none" { String::new() } else { format!(" ({reason})") }
            ),
            value: format!("{}, {} in all", counted(count, "span"), nanoseconds(total)),
            reference: None,
            json: json!({ "runtime": runtime, "status": status, "reason": reason, "count": count, "total_ns": total }),
        })
        .collect();
    if let Some(words) = opened.why_few_callbacks() {
        let name = if has_callbacks { "further callbacks" } else { "callbacks" };
        items.push(Item {
            section: "logical",
            name: name.into(),
            value: words.into(),
            reference: None,
            json: json!({ "runtime": "callback", "limit": words }),
        });
    }
    if left_out > 0 {
        items.push(Item {
            section: "logical",
            name: "callbacks left out".into(),
            value: format!("{}: there were too many to keep", thousands(left_out)),
            reference: None,
            json: json!({ "count": left_out }),
        });
    }
    items
}
