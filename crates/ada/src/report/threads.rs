//! Threads: how many, how deep, how fast they started, and what became of them.

use std::collections::BTreeMap;

use serde_json::json;

use super::item::Item;
use crate::analysis::{OpenedSession, counted, nanoseconds, thousands};
use crate::threads::{failed_creations, most_alive, percentages, why_unknown};

/// What is known of threads.
pub(super) fn gather(opened: &OpenedSession) -> Vec<Item> {
    let mut items = created(opened);
    items.extend(states(opened));
    items
}

/// How much of their lives they were on a processor.
fn states(opened: &OpenedSession) -> Option<Item> {
    let (value, json) = match (percentages(opened), why_unknown(opened)) {
        (Some((words, sums)), _) => {
            (format!("{words} of their lives"), json!(sums.into_iter().collect::<BTreeMap<_, _>>()))
        }
        (None, Some(reason)) => (format!("not known: {reason}"), json!({ "unknown": reason })),
        (None, None) => return None,
    };
    Some(Item { section: "threads", name: "states".into(), value, reference: None, json })
}

/// Nothing where no thread was created.
fn created(opened: &OpenedSession) -> Vec<Item> {
    let spans = || opened.processes().iter().flat_map(|process| &process.tables.meta().pthreads);
    let created = spans().filter(|span| span.create_seq.is_some()).count() as u64;
    let failed = failed_creations(opened);
    if spans().next().is_none() && failed.is_empty() {
        return Vec::new();
    }
    let item =
        |name: &str, value: String, json| Item { section: "threads", name: name.into(), value, reference: None, json };
    let most = most_alive(opened);
    let level = spans().filter(|span| span.create_seq.is_some()).map(|span| span.level).max().unwrap_or(0);
    let mut items = vec![
        item("created", thousands(created), created.into()),
        item("most_alive", format!("{} at once", thousands(most)), most.into()),
        item("deepest_level", format!("{} below the first thread", counted(level, "level")), level.into()),
    ];
    let mut latencies: Vec<u64> = spans().filter_map(|span| span.spawn_latency()).collect();
    latencies.sort_unstable();
    if let (Some(median), Some(slow)) = (percentile(&latencies, 50), percentile(&latencies, 99)) {
        let words = format!("p50 {}, p99 {}", nanoseconds(median), nanoseconds(slow));
        items.push(item("start_latency", words, json!({ "p50_ns": median, "p99_ns": slow })));
    }
    let is_left = |span: &&ada_span::pthread::PthreadSpan| {
        span.create_seq.is_some() && span.joiner.is_none() && span.is_detached != 1
    };
    let left = spans().filter(is_left).count() as u64;
    items.push(item("never_joined", format!("{} neither joined nor detached", counted(left, "thread")), left.into()));
    if !failed.is_empty() {
        let words: Vec<String> =
            failed.iter().map(|(error, count)| format!("{}: {error}", thousands(*count))).collect();
        items.push(item("failed", words.join(", "), json!(failed)));
    }
    items
}

/// The value that so many of a hundred are not above.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}
