//! What caused a span, and what it caused: links of its details.

use ada_event::EventSeq;
use ada_span::wait::WaitSpan;
use serde_json::{Value, json};

use super::referenced;
use super::timeline::Timeline;
use super::timeline_link::{LinkEnd, TimelineLink};
use crate::analysis::{OpenedSession, Target};

/// Causes and effects of an answer, each.
const MOST: usize = 50;

/// The causal links of a span: what led to it, and what it led to itself or by calls that were made on its behalf.
pub(super) fn find(
    opened: &OpenedSession,
    timeline: &Timeline,
    process: usize,
    target: Target,
) -> anyhow::Result<Value> {
    // Waits may be many: those of a thread are not all told with it.
    let is_own = |link: &&TimelineLink| {
        let cause = link.from.target;
        cause == target || !link.is_of_wait() && on_behalf_of(opened, process, cause) == Some(target)
    };
    let links = || timeline.links.iter();
    let causes = links().filter(|it| it.to.process == process && it.to.target == target).map(|it| (it.kind, &it.from));
    let effects = links().filter(|it| it.from.process == process).filter(is_own).map(|it| (it.kind, &it.to));
    let mut causes = list(opened, causes)?;
    causes.extend(calls_of_holders(opened, timeline, process, target)?);
    Ok(json!({
        "causes": causes,
        "effects": list(opened, effects)?,
    }))
}

/// What those were doing that had what a call waited for, when its waits began.
fn calls_of_holders(
    opened: &OpenedSession,
    timeline: &Timeline,
    process: usize,
    target: Target,
) -> anyhow::Result<Vec<String>> {
    let Target::Frame(id, seq) = target else { return Ok(Vec::new()) };
    let of_process = &opened.processes()[process];
    let meta = of_process.tables.meta();
    let thread = meta.thread_index(id);
    let is_of_call = |wait: &&WaitSpan| Some(wait.thread) == thread && wait.seq == seq;
    let held = meta.waits.iter().filter(is_of_call).filter_map(|wait| Some((wait.holder?, wait.start)));
    let mut lines = Vec::new();
    for (holder, time) in held.take(MOST) {
        let Some(call) = timeline.processes[process].scene().innermost(holder, time)? else { continue };
        let call = of_process.reference(Target::Frame(of_process.thread_id(holder), EventSeq(call.seq)));
        let name = referenced::find(opened, call)?.map_or_else(String::new, |row| row.name(opened));
        lines.push(format!("holder was in: {call} {name}").trim_end().to_owned());
    }
    lines.dedup();
    Ok(lines)
}

/// The task, block or thread that made a call.
fn on_behalf_of(opened: &OpenedSession, process: usize, call: Target) -> Option<Target> {
    let Target::Frame(id, seq) = call else { return None };
    let process = &opened.processes()[process];
    let thread = process.tables.meta().thread_index(id)?;
    let context = process.target_of(process.context_at(thread, seq));
    context.or_else(|| process.pthread(thread, seq).map(|span| Target::Thread(id, span.begin_seq)))
}

/// Links as lines: the kind, and the other end.
fn list<'a>(
    opened: &OpenedSession,
    links: impl Iterator<Item = (&'static str, &'a LinkEnd)>,
) -> anyhow::Result<Vec<String>> {
    let line = |(kind, other): (&'static str, &LinkEnd)| {
        let reference = opened.processes()[other.process].reference(other.target);
        let name = referenced::find(opened, reference)?.map_or_else(String::new, |row| row.name(opened));
        Ok(format!("{kind}: {reference} {name}").trim_end().to_owned())
    };
    links.take(MOST).map(line).collect()
}
