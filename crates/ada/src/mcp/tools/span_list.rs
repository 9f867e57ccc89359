//! `spans`: a list with neighbours that are alike folded into one.

use ada_event::{ProcessId, ThreadId};
use serde_json::{Value, json};

use crate::analysis::{OpenedSession, Span, Wanted};
use crate::mcp::arguments::Arguments;
use crate::mcp::budget::Answer;
use crate::mcp::library::Asked;
use crate::spans;

/// Spans that are looked at for one answer.
const MOST: usize = 4000;

pub(super) fn spans(asked: &Asked, arguments: &Arguments) -> anyhow::Result<Answer> {
    let mut options = Vec::new();
    let mut option = |name: &str, value: Option<String>| options.extend(value.map(|it| format!("--{name}={it}")));
    for name in ["function", "module", "status", "reason", "type", "sort", "cursor", "where"] {
        option(name, arguments.text(name)?.map(str::to_owned));
    }
    option("thread", arguments.number("thread_id")?.map(|it| it.to_string()));
    option("min-duration", arguments.number("min_duration_ns")?.map(|it| format!("{it}ns")));
    option("since", arguments.number("since_ns")?.map(|it| format!("@{it}")));
    option("until", arguments.number("until_ns")?.map(|it| format!("@{it}")));
    let folds = arguments.0.get("fold").and_then(Value::as_bool).unwrap_or(true);
    let (rows, has_more) = spans::list(&asked.opened, &options, MOST)?;
    let more = rows.last().filter(|_| has_more).map(|(_, cursor)| cursor.clone());
    let mut items: Vec<(Value, String)> = Vec::new();
    let mut last: Option<Key> = None;
    for (span, cursor) in rows {
        let key = Key::of(&asked.opened, &span);
        match items.last_mut().filter(|_| folds && last.as_ref() == Some(&key)) {
            Some((item, end)) => {
                fold(&asked.opened, item, &span);
                *end = cursor;
            }
            None => items.push((first(&asked.opened, &span, &key), cursor)),
        }
        last = Some(key);
    }
    Ok(Answer { items, more, ..Answer::default() }.fact("session", asked.name.clone()))
}

/// What spans have in common that are folded.
#[derive(PartialEq, Eq)]
struct Key {
    name: String,
    runtime: &'static str,
    thread: ThreadId,
    pid: ProcessId,
    status: &'static str,
    reason: &'static str,
}

impl Key {
    fn of(opened: &OpenedSession, span: &Span) -> Self {
        let process = &opened.processes()[span.process];
        let outcome = span.outcome(opened);
        Self {
            name: span.name(opened),
            runtime: span.runtime(opened),
            thread: process.thread_id(span.thread(opened)),
            pid: process.pid,
            status: outcome.status.word(),
            reason: outcome.reason.word(),
        }
    }
}

/// The item of a span that may stand for others too.
fn first(opened: &OpenedSession, span: &Span, key: &Key) -> Value {
    let mut item = json!({
        "span_id": span.reference(opened).to_string(),
        "name": key.name,
        "count": 1,
        "start_ns": span.start(opened).0,
        "duration_ns": span.duration(opened),
        "thread_id": key.thread.0,
        "status": key.status,
    });
    if key.reason != "none" {
        item["reason"] = key.reason.into();
    }
    if key.runtime != "sync" {
        item["runtime"] = key.runtime.into();
    }
    if let Some(self_ns) = span.self_ns(opened) {
        item["self_ns"] = self_ns.into();
    }
    if let Some(call) = span.call_values(opened, Wanted::Captured) {
        item["call"] = call.line().into();
    }
    item
}

/// Adds another one of the same kind: `duration_ns` and `self_ns` become sums, and `max_ns` is the longest.
fn fold(opened: &OpenedSession, item: &mut Value, span: &Span) {
    let of = |item: &Value, name: &str| item[name].as_u64().unwrap_or(0);
    let longest = item["max_ns"].as_u64().unwrap_or_else(|| of(item, "duration_ns"));
    item["max_ns"] = longest.max(span.duration(opened)).into();
    item["count"] = (of(item, "count") + 1).into();
    item["duration_ns"] = of(item, "duration_ns").saturating_add(span.duration(opened)).into();
    if let Some(self_ns) = span.self_ns(opened) {
        item["self_ns"] = of(item, "self_ns").saturating_add(self_ns).into();
    }
    item["last_start_ns"] = span.start(opened).0.into();
}
