//! The tree of logical spans: threads, tasks, blocks and callbacks below what made them, across runtimes.

use std::collections::HashMap;

use ada_event::{ThreadId, TraceNanos};
use serde_json::{Value, json};

use super::Args;
use crate::analysis::{ListFormat, OpenedSession, Out, Span, csv, list_page, nanoseconds};

/// A span, with its level of the tree.
struct Line {
    level: usize,
    record: Value,
}

pub(super) fn print(args: &Args, opened: &OpenedSession, threads: &[ThreadId], out: &mut Out) -> anyhow::Result<()> {
    let since = args.since.map_or(TraceNanos(0), |it| it.on_clock(opened.start()));
    let until = args.until.map_or(TraceNanos::MAX, |it| it.on_clock(opened.start()));
    let mut lines = hierarchy(opened, args.depth.max(1));
    lines.retain(|line| {
        let number = |name: &str| line.record[name].as_u64().unwrap_or(0);
        let is_of_thread = args.thread.is_empty() || threads.iter().any(|id| u64::from(id.0) == number("thread_id"));
        is_of_thread
            && (since..until).contains(&TraceNanos(number("start_ns")))
            && number("duration_ns") >= args.min_duration
    });
    let (page, next) = list_page(&lines, args.cursor, args.limit);
    let fields = ["level", "span_id", "runtime", "name", "status", "start_ns", "duration_ns", "parent_span_id"];
    match args.format {
        ListFormat::Table => {
            for line in page {
                let word = |name: &str| line.record[name].as_str().unwrap_or_default();
                let duration = nanoseconds(line.record["duration_ns"].as_u64().unwrap_or(0));
                out.line(&format!(
                    "{duration:>11}  {:indent$}{} {}  {}  {}",
                    "",
                    word("runtime"),
                    word("span_id"),
                    word("status"),
                    word("name"),
                    indent = 2 * line.level.min(60),
                ))?;
            }
            next.map_or(Ok(()), |next| {
                out.line(&format!("{} more lines; go on with --cursor {next}", lines.len() - next))
            })
        }
        ListFormat::Json => {
            let nodes: Vec<Value> = page.iter().map(|line| short(line, &fields)).collect();
            out.json(&json!({ "nodes": nodes, "next_cursor": next }))
        }
        ListFormat::Csv => csv(out, &fields, &page.iter().map(|line| short(line, &fields)).collect::<Vec<_>>()),
    }
}

fn short(line: &Line, fields: &[&str]) -> Value {
    let mut shown = json!({ "level": line.level });
    for field in fields.iter().filter(|field| **field != "level") {
        shown[*field] = line.record[*field].clone();
    }
    shown
}

/// Each span behind its parent, in the order of their starts. What no logical span made is below the thread that it ran on, or at the top.
fn hierarchy(opened: &OpenedSession, depth: usize) -> Vec<Line> {
    let spans = (0..opened.processes().len()).flat_map(|process| Span::logical(opened, process));
    let mut records: Vec<Value> = spans.map(|span| span.record(opened)).collect();
    records.sort_by_key(|record| record["start_ns"].as_u64());
    let text = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let indexes: HashMap<String, usize> =
        records.iter().enumerate().map(|(index, record)| (text(record, "span_id"), index)).collect();
    let number = |record: &Value, name: &str| record[name].as_u64().unwrap_or(0);
    let of_thread = |record: &Value| (number(record, "pid"), number(record, "thread_id"));
    let mut threads: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
    for (index, record) in records.iter().enumerate().filter(|(_, record)| record["runtime"] == "pthread") {
        threads.entry(of_thread(record)).or_default().push(index);
    }
    let thread_of = |record: &Value| {
        let lives = threads.get(&of_thread(record)).filter(|_| record["runtime"] == "callback")?;
        // An id may be used again.
        let start = number(record, "start_ns");
        lives.iter().copied().rfind(|life| {
            let from = number(&records[*life], "start_ns");
            (from..=from.saturating_add(number(&records[*life], "duration_ns"))).contains(&start)
        })
    };
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); records.len()];
    let mut stack = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let parent = indexes.get(&text(record, "parent_span_id")).copied();
        match parent.or_else(|| thread_of(record)) {
            Some(parent) if parent != index => below[parent].push(index),
            _ => stack.push((index, 0)),
        }
    }
    stack.reverse();
    let mut lines = Vec::new();
    while let Some((index, level)) = stack.pop() {
        if level < depth {
            lines.push(Line { level, record: records[index].take() });
            stack.extend(std::mem::take(&mut below[index]).into_iter().rev().map(|child| (child, level + 1)));
        }
    }
    lines
}
