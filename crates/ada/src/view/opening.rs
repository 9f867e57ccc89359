//! Where the page opens: on what somebody will want to see first.

use ada_event::EventSeq;
use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use serde_json::{Value, json};

use super::crashed_call::CrashedCall;
use super::timeline::Timeline;
use crate::analysis::{OpenedSession, Target, nanoseconds};

/// Shown around a crash, before and after, in the share of the whole run.
const AROUND_CRASH: u64 = 20;
/// Calls of a thread among which `main` is looked for.
const EARLY: u64 = 500_000;
/// It is opened on if it takes at least this part of the run.
const LEAST: u64 = 4;

/// A view: start and end since the session's start, the track, and why: `kind` for the page to act on, `why` for people.
pub(super) fn find(opened: &OpenedSession, timeline: &Timeline, crashes: &[CrashedCall]) -> Value {
    crash(opened, timeline, crashes).or_else(|| main(opened, timeline)).unwrap_or_else(|| everything(timeline))
}

fn crash(opened: &OpenedSession, timeline: &Timeline, crashes: &[CrashedCall]) -> Option<Value> {
    let crash = crashes.first()?;
    let around = (timeline.end.since(timeline.start) / AROUND_CRASH).max(1000);
    let start = crash.time.saturating_sub(around).since(timeline.start);
    let end = crash.time.saturating_add(around / 4).min(timeline.end).since(timeline.start).max(start + 1);
    let signal = ada_query::signal_name(crash.signal);
    let why = format!("{signal} after {}", nanoseconds(crash.time.since(timeline.start)));
    // What it was in is chosen at once.
    let process = &opened.processes()[crash.process];
    let id = process.thread_id(crash.thread);
    let span = crash.call.map(|call| process.refer(Target::Frame(id, EventSeq(call.seq))));
    let track = timeline.track_of_thread(crash.process, crash.thread);
    Some(json!({ "start": start, "end": end, "track": track, "kind": "crash", "why": why, "span": span }))
}

/// The program's `main`: what the loader does before is seldom what is looked for. Where most of the run is elsewhere (in
/// another program that the process became, or in tasks that `main` only starts), that is no good beginning.
fn main(opened: &OpenedSession, timeline: &Timeline) -> Option<Value> {
    let mut calls = Vec::new();
    for (number, process) in opened.processes().iter().enumerate() {
        let meta = process.tables.meta();
        // It is called early, by the process's first thread. It may never have returned.
        let Some(thread) = meta.thread_index(process.pid.first_thread()) else { continue };
        let named = (0..)
            .map(FunctionIndex)
            .zip(&meta.functions)
            .filter(|(_, it)| process.names.raw(it.function) == Some("main"));
        for (function, _) in named {
            let found = timeline.processes[number].scene().first_of(thread, function, EARLY);
            calls.extend(found.ok().flatten().map(|call| (call, timeline.track_of_thread(number, thread))));
        }
    }
    let (call, track) = calls.into_iter().max_by_key(|(call, _)| call.duration)?;
    let length = timeline.end.since(timeline.start);
    if call.duration.saturating_mul(LEAST) < length {
        return None;
    }
    let margin = call.duration / 50;
    let start = call.start.saturating_sub(margin).since(timeline.start);
    let end = call.end().saturating_add(margin).min(timeline.end).since(timeline.start);
    Some(json!({ "start": start, "end": end.max(start + 1), "track": track, "kind": "main", "why": "main" }))
}

fn everything(timeline: &Timeline) -> Value {
    let busiest = timeline.processes.iter().enumerate().flat_map(|(number, process)| {
        let threads = &process.tables.meta().threads;
        ThreadIndex::all(threads.len()).zip(threads).map(move |(thread, entry)| (entry.spans, number, thread))
    });
    let track = busiest.max().map_or(0, |(_, number, thread)| timeline.track_of_thread(number, thread));
    let end = timeline.end.since(timeline.start).max(1);
    json!({ "start": 0, "end": end, "track": track, "kind": "whole_run", "why": "the whole run" })
}
