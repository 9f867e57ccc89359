//! What may be wrong with the program, or with its trace.

use std::collections::BTreeMap;

use ada_query::findings::Unhandled;
use ada_span::task::{Suspension, TaskSpan, WaitKind};
use ada_span::{AnomalyKind, Outcome, Reason, Status};
use serde_json::json;

use super::imbalances;
use super::item::Item;
use crate::analysis::{OpenedSession, Target, TraceProcess, counted, thousands};

pub(super) fn gather(opened: &OpenedSession) -> Vec<Item> {
    let (usual, mut items): (Vec<_>, Vec<_>) = outcomes(opened).into_iter().partition(|(is_usual, _)| *is_usual);
    let others = items.drain(..).map(|(_, item)| item);
    // What the program itself takes for wrong comes first.
    let mut items = unhandled(opened);
    items.extend(leaked_continuations(opened));
    items.extend(ignored_errors(opened));
    items.extend(others);
    items.extend(anomalies(opened));
    items.extend(orphans(opened));
    items.extend(pending_groups(opened));
    items.extend(imbalances::gather(opened));
    items.extend(usual.into_iter().map(|(_, item)| item));
    items
}

/// What an outcome means, and whether nearly every program has it.
fn meaning(status: Status, reason: Reason) -> (bool, &'static str) {
    match (status, reason) {
        (_, Reason::TailCall) => (true, "jumped to another function as the last thing they did; that is usual"),
        (_, Reason::ProcessExit) => (true, "were open when the process exited; that is usual"),
        (_, Reason::AttachedMidway) => (true, "began before the first event of their thread"),
        (_, Reason::Exception) => (false, "were unwound by an exception or a panic"),
        (_, Reason::Unwind) => (false, "were gone without a return: by longjmp, or in a way that is not known"),
        (_, Reason::Canceled) => (false, "ended with their thread, which was cancelled"),
        (_, Reason::Crash) => (false, "were open when a signal ended the process"),
        (Status::Open, Reason::Timeout) => {
            (false, "took longer than --timeout, and were open when the recording ended")
        }
        (_, Reason::Timeout) => (false, "took longer than --timeout"),
        (_, Reason::Dropped) => (false, "lack their beginning or their end: events were dropped there"),
        (Status::Open, Reason::None) => (false, "were open when the recording ended"),
        (_, Reason::None) => (false, "lack their beginning or their end, and nothing says why"),
    }
}

/// Spans that did not simply return, by how and why, and whether that is usual.
fn outcomes(opened: &OpenedSession) -> Vec<(bool, Item)> {
    let mut counts: BTreeMap<(Status, Reason), u64> = BTreeMap::new();
    for thread in opened.processes().iter().flat_map(|process| &process.tables.meta().threads) {
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
        let how = format!("ada spans --all --type frame --status {status} --reason {reason}");
        let name = match (status, reason) {
            (Status::Completed | Status::EntryOnly | Status::Exited, Reason::Timeout) => "long calls".to_owned(),
            (_, Reason::None) => format!("{status}"),
            _ => format!("{status}: {reason}"),
        };
        let (is_usual, words) = meaning(status, reason);
        let json = json!({
            "kind": "outcome", "status": status.word(), "reason": reason.word(), "count": count, "usual": is_usual,
        });
        (is_usual, Item::oddity(name, format!("{} {words}", counted(count, "call")), Some(how), json))
    })
    .collect()
}

fn anomalies(opened: &OpenedSession) -> Vec<Item> {
    let mut counts: BTreeMap<u32, (u64, String)> = BTreeMap::new();
    for (process, it) in opened.processes().iter().enumerate() {
        for anomaly in &it.tables.meta().anomalies {
            let thread = it.thread_id(anomaly.thread);
            let reference = opened.processes()[process].refer(Target::Event(thread, anomaly.first_seq));
            counts.entry(anomaly.kind).or_insert((0, reference)).0 += anomaly.count;
        }
    }
    let known = counts.into_iter().filter_map(|(kind, found)| Some((AnomalyKind::ALL.get(kind as usize)?, found)));
    known
        .map(|(kind, (count, reference))| {
            let json = json!({ "kind": kind.word(), "count": count });
            let name = kind.word().replace('_', " ");
            // What cannot be read cannot be shown.
            match kind {
                AnomalyKind::Unreadable => {
                    let words =
                        format!("{} of the events cannot be read: damaged blocks are left out", counted(count, "part"));
                    Item::oddity(name, words, Some("ada atf verify".into()), json)
                }
                AnomalyKind::TooDeep => {
                    let words =
                        format!("{} nested too deep to be followed to their ends, first at", counted(count, "call"));
                    Item::oddity(name, words, Some(reference), json)
                }
                _ => Item::oddity(name, format!("{}, first at", counted(count, "time")), Some(reference), json),
            }
        })
        .collect()
}

/// Rust panics, and exceptions that nobody caught.
fn unhandled(opened: &OpenedSession) -> Vec<Item> {
    let mut counts: BTreeMap<Unhandled, (u64, String)> = BTreeMap::new();
    for process in opened.processes() {
        for stats in process.tables.meta().functions.iter().filter(|stats| stats.spans > 0) {
            let raw = process.names.raw(stats.function).unwrap_or_default();
            let Some(kind) = Unhandled::raised_by(raw) else { continue };
            let reference = process.refer(Target::Function(stats.function));
            counts.entry(kind).or_insert((0, reference)).0 += stats.spans;
        }
    }
    let item = |(kind, (count, reference)): (Unhandled, (u64, String))| {
        let words = match kind {
            Unhandled::Panic => format!("{}, those that were caught too, by", counted(count, "Rust panic")),
            Unhandled::Exception => format!("{} that nobody caught, by", counted(count, "exception")),
        };
        let json = json!({ "kind": kind.word(), "count": count });
        Item::oddity(kind.word().replace('_', " "), words, Some(reference), json)
    };
    counts.into_iter().map(item).collect()
}

/// Tasks that wait for a continuation that nobody resumed before the process ended.
fn leaked_continuations(opened: &OpenedSession) -> Option<Item> {
    let mut first = None;
    let mut count = 0;
    for process in opened.processes() {
        let has_ended = |task: &&TaskSpan| matches!(task.outcome().reason, Reason::ProcessExit | Reason::Crash);
        for task in process.tables.meta().tasks.iter().filter(has_ended) {
            let wait = process.suspensions_of(task).last();
            let is_leaked = |wait: &Suspension| {
                wait.end.is_none() && wait.resume_time.is_none() && wait.kind() == WaitKind::Continuation
            };
            if wait.is_some_and(is_leaked) {
                count += 1;
                first.get_or_insert_with(|| process.refer(Target::Task(task.id)));
            }
        }
    }
    let who = if count == 1 { "1 task waits".to_owned() } else { format!("{} tasks wait", thousands(count)) };
    let words = format!("{who} for a continuation that nobody resumed; the first:");
    let json = json!({ "kind": "leaked_continuation", "count": count });
    (count > 0).then(|| Item::oddity("leaked continuation".into(), words, first, json))
}

/// Tasks that ended by throwing, and whose results nobody asked for.
fn ignored_errors(opened: &OpenedSession) -> Option<Item> {
    let of = |process: &TraceProcess| {
        let tasks = &process.tables.meta().tasks;
        let ids = opened.ignored_errors(process).into_iter().map(|index| tasks[index].id);
        ids.map(|id| process.refer(Target::Task(id))).collect::<Vec<String>>()
    };
    let all: Vec<String> = opened.processes().iter().flat_map(of).collect();
    let count = all.len() as u64;
    let words = format!("{} ended by throwing, and nobody asked for the result; the first:", counted(count, "task"));
    let json = json!({ "kind": "ignored_error", "count": count });
    Some(Item::oddity("ignored error".into(), words, Some(all.into_iter().next()?), json))
}

/// Continuations that were resumed though no task waited for them.
fn orphans(opened: &OpenedSession) -> Option<Item> {
    let mut all = opened
        .processes()
        .iter()
        .enumerate()
        .flat_map(|(process, it)| it.tables.meta().orphans.iter().map(move |&orphan| (process, orphan)));
    let count = all.clone().count() as u64;
    let (process, (thread, seq)) = all.next()?;
    let thread = opened.processes()[process].thread_id(thread);
    let reference = opened.processes()[process].refer(Target::Event(thread, seq));
    let json = json!({ "kind": "orphaned_resume", "count": count });
    Some(Item::oddity("orphaned resume".into(), format!("{} times, first at", thousands(count)), Some(reference), json))
}

/// Groups that wait for something to the end.
fn pending_groups(opened: &OpenedSession) -> Option<Item> {
    let groups =
        opened.processes().iter().flat_map(|it| &it.tables.meta().groups).filter_map(|group| group.remaining());
    let pending = groups.filter(|remaining| *remaining > 0);
    let (count, remaining) = pending.fold((0_u64, 0_u64), |(count, sum), remaining| (count + 1, sum + remaining));
    let json = json!({ "kind": "pending_group", "count": count, "left": remaining });
    let words = format!("{} dispatch groups never became empty", thousands(count));
    (count > 0).then(|| Item::oddity("pending groups".into(), words, Some("ada queues".into()), json))
}
