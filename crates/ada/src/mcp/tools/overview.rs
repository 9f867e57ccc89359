//! `list_sessions`, `summary` and `source`.

use ada_query::{FunctionPattern, Limits};
use serde_json::{Value, json};

use super::sql::objects;
use crate::mcp::arguments::Arguments;
use crate::mcp::budget::Answer;
use crate::mcp::library::{Asked, Library};

/// Functions that a summary lists.
const MOST_FUNCTIONS: usize = 200;

pub(super) fn list_sessions(library: &Library, arguments: &Arguments) -> anyhow::Result<Answer> {
    let mut items = Vec::new();
    for (name, path) in library.sessions() {
        let Ok(session) = Library::glance(&path) else {
            items.push(json!({ "session": name, "processes": [], "problem": "it cannot be read" }));
            continue;
        };
        let process = |it: &ada_format::atf::Process| {
            let manifest = it.manifest.as_ref();
            let exit = manifest.and_then(|it| it.exit.as_ref());
            json!({
                "pid": it.pid.map(|pid| pid.0),
                "command": manifest.map(|it| it.command_line.join(" ")),
                "exit_code": exit.and_then(|it| it.code),
                "signal": exit.and_then(|it| it.signal),
                "events": it.threads.iter().map(|it| it.event_count()).sum::<u64>(),
                "threads": it.threads.len(),
            })
        };
        items.push(json!({
            "session": name,
            "processes": session.processes().iter().map(process).collect::<Vec<_>>(),
        }));
    }
    let count = items.len();
    Ok(Answer::list(items, arguments.first_item()?).fact("count", count))
}

pub(super) fn summary(asked: &Asked, limits: &Limits, arguments: &Arguments) -> anyhow::Result<Answer> {
    let (processes, _) = objects(
        asked,
        limits,
        "SELECT pid, command, exit_code, signal, threads, events, spans, nullif(dropped, 0) AS dropped FROM processes",
    )?;
    let (threads, _) = objects(
        asked,
        limits,
        "SELECT thread_id, name, given_name, end_by, spans FROM threads ORDER BY spans DESC LIMIT 20",
    )?;
    let (outcomes, _) =
        objects(asked, limits, "SELECT key1 AS status, key2 AS reason, count FROM stats('status, reason')")?;
    let sql = format!(
        "SELECT name, module, calls, self_ns, total_ns, p99_ns, reference FROM functions ORDER BY self_ns DESC, function_id LIMIT {MOST_FUNCTIONS}"
    );
    let (functions, _) = objects(asked, limits, &sql)?;
    let opened = &asked.opened;
    Ok(Answer::list(functions, arguments.first_item()?)
        .fact("session", asked.name.clone())
        .fact("start_ns", opened.start().0)
        .fact("duration_ns", opened.end().since(opened.start()))
        .fact("processes", processes)
        .fact("threads", threads)
        .fact("spans_by_status_and_reason", outcomes))
}

pub(super) fn source(asked: &Asked, arguments: &Arguments) -> anyhow::Result<Answer> {
    let pattern = FunctionPattern::new(arguments.required("function")?);
    let mut items: Vec<Value> = Vec::new();
    for (number, process) in asked.opened.processes().iter().enumerate() {
        for stats in &process.tables.meta().functions {
            let name = process.names.name(stats.function);
            if pattern.matches_function(process, stats.function) {
                let source = asked.opened.source(number, stats.function);
                let (file, line) = source.map(|it| (it.file, it.line)).unzip();
                items.push(json!({
                    "name": name, "module": process.names.module(stats.function), "file": file, "line": line,
                    "reference": format!("function:{}", stats.function),
                }));
            }
        }
    }
    let count = items.len();
    Ok(Answer::list(items, arguments.first_item()?).fact("session", asked.name.clone()).fact("count", count))
}
