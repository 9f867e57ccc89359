//! `spans`: a list with neighbours that are alike folded into one.

use serde_json::{Value, json};

use crate::analysis::{OpenedSession, Row};
use crate::mcp::arguments::Arguments;
use crate::mcp::budget::Answer;
use crate::mcp::library::Asked;
use crate::spans;

/// Spans that are looked at for one answer.
const MOST: usize = 4000;

pub(super) fn spans(asked: &Asked, arguments: &Arguments) -> anyhow::Result<Answer> {
    let mut options = Vec::new();
    let mut option = |name: &str, value: Option<String>| options.extend(value.map(|it| format!("--{name}={it}")));
    for name in ["function", "module", "status", "reason", "type", "sort", "cursor"] {
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
    for (row, cursor) in rows {
        let key = Key::of(&asked.opened, &row);
        match items.last_mut().filter(|_| folds && last.as_ref() == Some(&key)) {
            Some((item, end)) => {
                fold(item, &row);
                *end = cursor;
            }
            None => items.push((first(&asked.opened, &row, &key), cursor)),
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
    thread: u32,
    pid: u32,
    status: &'static str,
    reason: &'static str,
}

impl Key {
    fn of(opened: &OpenedSession, row: &Row) -> Self {
        let process = &opened.processes[row.process()];
        Self {
            name: row.name(opened),
            runtime: row.runtime(opened),
            thread: process.tables.meta().threads[row.thread()].id,
            pid: process.pid,
            status: row.outcome().status.word(),
            reason: row.outcome().reason.word(),
        }
    }
}

/// The item of a span that may stand for others too.
fn first(opened: &OpenedSession, row: &Row, key: &Key) -> Value {
    let mut item = json!({
        "span_id": row.reference(opened).to_string(),
        "name": key.name,
        "count": 1,
        "start_ns": row.start(),
        "duration_ns": row.duration(),
        "thread_id": key.thread,
        "status": key.status,
    });
    if key.reason != "none" {
        item["reason"] = key.reason.into();
    }
    if key.runtime != "sync" {
        item["runtime"] = key.runtime.into();
    }
    if let Some(self_ns) = row.self_ns() {
        item["self_ns"] = self_ns.into();
    }
    item
}

/// Adds another one of the same kind: `duration_ns` and `self_ns` become sums, and `max_ns` tells the longest.
fn fold(item: &mut Value, row: &Row) {
    let of = |item: &Value, name: &str| item[name].as_u64().unwrap_or(0);
    let longest = item["max_ns"].as_u64().unwrap_or_else(|| of(item, "duration_ns"));
    item["max_ns"] = longest.max(row.duration()).into();
    item["count"] = (of(item, "count") + 1).into();
    item["duration_ns"] = of(item, "duration_ns").saturating_add(row.duration()).into();
    if let Some(self_ns) = row.self_ns() {
        item["self_ns"] = of(item, "self_ns").saturating_add(self_ns).into();
    }
    item["last_start_ns"] = row.start().into();
}
