//! Tasks that were never resumed, and dispatch groups that were never left.

use ada_span::Status;
use serde_json::json;

use super::{About, Finding};
use crate::span::{Span, SpanKind};
use crate::trace::Target;

pub(super) fn find(about: &About<'_>) -> Vec<Finding> {
    let mut found = never_resumed(about);
    found.extend(never_left(about));
    found
}

fn never_resumed(about: &About<'_>) -> Vec<Finding> {
    let meta = about.process.tables.meta();
    let mut found = Vec::new();
    for (index, task) in meta.tasks.iter().enumerate() {
        let Some(wait) = about.process.suspensions_of(task).last().filter(|wait| wait.end.is_none()) else { continue };
        if matches!(task.outcome().status, Status::Completed | Status::Canceled) {
            continue;
        }
        let name = Span { process: about.number, kind: SpanKind::Task(index) }.name(about.trace);
        let what = wait.kind().word().replace('_', " ");
        let title = format!("task {} ({name}) was suspended and never went on: it waits for {what}", task.id);
        let rationale = match wait.resume_time {
            None => "Nobody resumed it before the recording ended.",
            _ => "It was resumed, and did not get to run again.",
        };
        let mut finding = about.finding("never_resumed", 60.0, title, rationale);
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
    let pending = meta.groups.iter().enumerate().filter(|(_, group)| group.remaining() > 0);
    pending
        .map(|(index, group)| {
            let title = format!(
                "the dispatch group at {:#x} was entered {} times more than it was left",
                group.address,
                group.remaining()
            );
            let rationale = "Whoever waits for it waits for ever, and blocks that it is to notify never run.";
            let mut finding = about.finding("never_left", 55.0, title, rationale);
            let blocks = meta.dispatched.iter().filter(|block| block.group == index as u64).take(3);
            finding.evidence = blocks
                .map(|block| Target::Block(about.process.thread_id(block.thread), block.seq))
                .map(|target| about.process.refer(target))
                .collect();
            finding.facts =
                json!({ "left": group.remaining(), "entered": group.enters, "blocks": group.blocks, "waits": group.waits });
            finding
        })
        .collect()
}
