//! A function's page: how long its calls took, who calls it and what it calls, its slowest calls and its source.

use ada_event::{EventSeq, TraceNanos};
use ada_span::table::FunctionIndex;
use ada_span::{Outcome, Reason, ThreadIndex};
use ada_timeline::{Calls, Item, relatives};
use anyhow::Context;
use serde_json::{Value, json};

use super::source_text;
use super::timeline::Timeline;
use crate::analysis::{OpenedSession, Target, TraceProcess};

/// Callers, callees and slowest calls of an answer.
const MOST: usize = 40;
/// Calls of the process that are looked at one by one: a second's work, or two.
const MOST_CALLS: u64 = 20_000_000;

/// All of a function, by its name's number.
pub(super) fn answer(opened: &OpenedSession, timeline: &Timeline, number: u32) -> anyhow::Result<Value> {
    let (process_number, index) = timeline.names.function(number).context("there is no such function")?;
    let process = &opened.processes()[process_number];
    let meta = process.tables.meta();
    let stats = meta.functions.get(index.as_usize()).context("there is no such function")?;
    let found = relatives(&timeline.processes[process_number].scene(), index, MOST, MOST_CALLS)?;
    let name = |function: FunctionIndex| timeline.names.of_function(process_number, function);
    let callers = longest(found.callers.iter().map(|(caller, calls)| (caller.map(name), *calls)));
    let callees = longest(found.callees.iter().map(|(callee, calls)| (Some(name(*callee)), *calls)));
    let histogram = stats.durations.as_ref().filter(|it| it.filled().next().is_some());
    let slowest = found.slowest.iter().map(|(thread, item)| slow_call(process, timeline.start, *thread, item));
    let own = found.callers.values().fold(0_u64, |sum, calls| sum.saturating_add(calls.ns));
    Ok(json!({
        "calls": stats.spans,
        "timed": stats.timed,
        "self_ns": stats.self_ns,
        "total_ns": stats.total_ns,
        "min_ns": stats.min_ns,
        "max_ns": stats.max_ns,
        "quantiles": histogram.map(|it| [0.5, 0.95, 0.99].map(|share| it.quantile(share))),
        "durations": histogram.map(|it| it.buckets().collect::<Vec<_>>()),
        // Of the calls that were looked at, with what they called.
        "time_ns": own,
        "callers": callers,
        "callees": callees,
        "slowest": slowest.collect::<Vec<Value>>(),
        "looked": found.looked,
        "all_calls": meta.threads.iter().map(|it| it.spans).sum::<u64>(),
        "source": source_text::of(opened, process_number, stats.function),
    }))
}

/// Those with the most time: the name's number, calls and time.
fn longest(all: impl Iterator<Item = (Option<u32>, Calls)>) -> Vec<(Option<u32>, u64, u64)> {
    let mut all: Vec<_> = all.map(|(name, calls)| (name, calls.calls, calls.ns)).collect();
    all.sort_by_key(|&(name, calls, ns)| (std::cmp::Reverse((ns, calls)), name));
    all.truncate(MOST);
    all
}

fn slow_call(process: &TraceProcess, start: TraceNanos, thread: ThreadIndex, item: &Item) -> Value {
    let outcome = Outcome::from_byte(item.outcome).unwrap_or_default();
    let id = process.thread_id(thread);
    json!({
        "reference": process.refer(Target::Frame(id, EventSeq(item.seq))),
        "thread": id.0.to_string(),
        "start": item.start.since(start),
        "duration": item.duration,
        "status": outcome.status.word(),
        "reason": (outcome.reason != Reason::None).then(|| outcome.reason.word()),
    })
}
