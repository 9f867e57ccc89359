//! Tasks that were never resumed, or whose errors nobody has seen, and dispatch groups that were never left.

use ada_span::gcd::GroupEntry;
use ada_span::task::{TaskRuntime, WaitKind};
use ada_span::{Reason, Status};
use serde_json::json;

use super::{About, Finding};
use crate::span::{Span, SpanKind};
use crate::trace::Target;

pub(super) fn find(about: &About<'_>) -> Vec<Finding> {
    let mut found = never_resumed(about);
    found.extend(never_left(about));
    found.extend(ignored_errors(about));
    found
}

/// Errors that nobody will ever see: those of tasks whose results nobody has asked for.
fn ignored_errors(about: &About<'_>) -> Vec<Finding> {
    let tasks = &about.process.tables.meta().tasks;
    let finding = |index: usize| {
        let task = &tasks[index];
        let name = Span { process: about.number, kind: SpanKind::Task(index) }.name(about.trace);
        let error = about.process.thrown(task);
        let what = error.as_deref().unwrap_or("an error");
        let title = format!("task {} ({name}) ended by throwing {what}; nobody asked for its result", task.id);
        let rationale = "The error is lost: whoever needs what the task was to do does not hear that it was not done.";
        let mut finding = about.finding("ignored_error", 50.0, title, rationale);
        finding.function = Some(name);
        finding.evidence = vec![about.process.refer(Target::Task(task.id))];
        finding.facts = json!({ "task_id": task.id, "error": error, "end_ns": task.end.0 });
        finding
    };
    about.trace.ignored_errors(about.process).into_iter().map(finding).collect()
}

fn never_resumed(about: &About<'_>) -> Vec<Finding> {
    let meta = about.process.tables.meta();
    let mut found = Vec::new();
    let of_swift = meta.tasks.iter().enumerate().filter(|(_, task)| task.runtime() == TaskRuntime::Swift);
    for (index, task) in of_swift {
        let Some(wait) = about.process.suspensions_of(task).last().filter(|wait| wait.end.is_none()) else { continue };
        let outcome = task.outcome();
        // Where events are missing, it may have gone on among them.
        if matches!(outcome.status, Status::Completed | Status::Canceled) || outcome.reason == Reason::Dropped {
            continue;
        }
        let name = Span { process: about.number, kind: SpanKind::Task(index) }.name(about.trace);
        let what = wait.kind().word().replace('_', " ");
        let title = format!("task {} ({name}) was suspended and never went on: it waits for {what}", task.id);
        let rationale = match wait.resume_time {
            None => "Nobody resumed it before the recording ended.",
            _ => "It was resumed, and did not get to run again.",
        };
        // Nobody is left who could resume it.
        let is_leaked = wait.kind() == WaitKind::Continuation
            && wait.resume_time.is_none()
            && matches!(outcome.reason, Reason::ProcessExit | Reason::Crash);
        let (kind, score) = if is_leaked { ("leaked_continuation", 95.0) } else { ("never_resumed", 60.0) };
        let mut finding = about.finding(kind, score, title, rationale);
        finding.function = Some(name);
        finding.evidence = vec![
            about.process.refer(Target::Task(task.id)),
            about.process.refer(Target::Event(about.process.thread_id(wait.thread), wait.seq)),
        ];
        finding.facts = json!({ "task_id": task.id, "waits_for": what, "since_ns": wait.start.0 });
        found.push(finding);
    }
    found
}

fn never_left(about: &About<'_>) -> Vec<Finding> {
    let meta = about.process.tables.meta();
    let remaining = |(index, group)| Some((index, group, GroupEntry::remaining(group)?));
    let pending = meta.groups.iter().enumerate().filter_map(remaining).filter(|(_, _, remaining)| *remaining > 0);
    pending
        .map(|(index, group, remaining)| {
            let title = format!(
                "the dispatch group at {:#x} was entered {} times more than it was left",
                group.address, remaining
            );
            let rationale = "Whoever waits for it waits for ever, and blocks that it is to notify never run.";
            let mut finding = about.finding("never_left", 55.0, title, rationale);
            let blocks = meta.dispatched.iter().filter(|block| block.group == index as u64).take(3);
            finding.evidence = blocks
                .map(|block| Target::Block(about.process.thread_id(block.thread), block.seq))
                .map(|target| about.process.refer(target))
                .collect();
            finding.facts =
                json!({ "left": remaining, "entered": group.enters, "blocks": group.blocks, "waits": group.waits });
            finding
        })
        .collect()
}
