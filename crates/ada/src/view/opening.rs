//! Where the page opens: on what somebody will want to see first.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::analysis::{OpenedSession, Target, nanoseconds, refer};

/// Shown around a crash, before and after, in the share of the whole run.
const AROUND_CRASH: u64 = 20;
/// Calls of a thread among which `main` is looked for.
const EARLY: u64 = 500_000;
/// It is opened on if it takes at least this part of the run.
const LEAST: u64 = 4;

/// A view: start and end since the session's start, the track, and why: `kind` for the page to act on, `why` for people.
pub(super) fn find(opened: &OpenedSession, stage: &Stage) -> Value {
    crash(opened, stage).or_else(|| main(opened, stage)).unwrap_or_else(|| everything(stage))
}

fn crash(opened: &OpenedSession, stage: &Stage) -> Option<Value> {
    let crashes = opened.processes.iter().enumerate().flat_map(|(number, process)| {
        let manifest = opened.recorded(process).manifest.iter();
        manifest.flat_map(|it| &it.crashes).map(move |crash| (number, crash))
    });
    let (number, crash) = crashes.min_by_key(|(_, crash)| crash.time_ns)?;
    let thread = opened.processes[number].tables.meta().thread_index(crash.thread)?;
    let around = (stage.end.saturating_sub(stage.start) / AROUND_CRASH).max(1000);
    let start = crash.time_ns.saturating_sub(around).max(stage.start) - stage.start;
    let end = (crash.time_ns + around / 4).min(stage.end).saturating_sub(stage.start).max(start + 1);
    let why = format!("signal {} after {}", crash.signal, nanoseconds(crash.time_ns.saturating_sub(stage.start)));
    // What it was in is chosen at once. The call ends when the signal hit.
    let innermost = stage.processes[number].scene().innermost(thread, crash.time_ns.saturating_sub(1)).ok().flatten();
    let span = innermost.map(|call| refer(opened, number, Target::Frame(crash.thread, call.seq)).to_string());
    let track = stage.track_of_thread(number, thread);
    Some(json!({ "start": start, "end": end, "track": track, "kind": "crash", "why": why, "span": span }))
}

/// The program's `main`: what the loader does before is seldom what is looked for. Where most of the run is elsewhere (in
/// another program that the process became, or in tasks that `main` only starts), that is no good beginning.
fn main(opened: &OpenedSession, stage: &Stage) -> Option<Value> {
    let mut calls = Vec::new();
    for (number, process) in opened.processes.iter().enumerate() {
        let meta = process.tables.meta();
        // It is called early, by the process's first thread. It may never have returned.
        let Some(thread) = meta.thread_index(process.pid) else { continue };
        let named = (0..).zip(&meta.functions).filter(|(_, it)| process.names.raw(it.function) == Some("main"));
        for (function, _) in named {
            let found = stage.processes[number].scene().first_of(thread, function, EARLY);
            calls.extend(found.ok().flatten().map(|call| (call, stage.track_of_thread(number, thread))));
        }
    }
    let (call, track) = calls.into_iter().max_by_key(|(call, _)| call.duration)?;
    let length = stage.end.saturating_sub(stage.start);
    if call.duration.saturating_mul(LEAST) < length {
        return None;
    }
    let margin = call.duration / 50;
    let start = call.start.saturating_sub(margin).max(stage.start) - stage.start;
    let end = call.end().saturating_add(margin).min(stage.end).saturating_sub(stage.start);
    Some(json!({ "start": start, "end": end.max(start + 1), "track": track, "kind": "main", "why": "main" }))
}

fn everything(stage: &Stage) -> Value {
    let busiest = stage.processes.iter().enumerate().flat_map(|(number, process)| {
        let threads = process.tables.meta().threads.iter().enumerate();
        threads.map(move |(thread, entry)| (entry.spans, number, thread))
    });
    let track = busiest.max().map_or(0, |(_, number, thread)| stage.track_of_thread(number, thread));
    let end = stage.end.saturating_sub(stage.start).max(1);
    json!({ "start": 0, "end": end, "track": track, "kind": "whole_run", "why": "the whole run" })
}
