//! What caused a span, and what it caused: links of its details.

use serde_json::{Value, json};

use super::referenced;
use super::stage::Stage;
use super::stage_link::StageLink;
use crate::analysis::{OpenedSession, Target, refer};

/// Causes and effects of an answer, each.
const MOST: usize = 50;

/// The causal links of a span: what led to it, and what it led to itself or by calls that were made on its behalf.
pub(super) fn find(opened: &OpenedSession, stage: &Stage, process: usize, target: Target) -> anyhow::Result<Value> {
    let of_process = || stage.links.iter().filter(|link| link.process == process);
    let is_own = |end: Target| end == target || on_behalf_of(opened, process, end) == Some(target);
    let causes = of_process().filter(|link| link.to.target == target).map(|link| (link, link.from.target));
    let effects = of_process().filter(|link| is_own(link.from.target)).map(|link| (link, link.to.target));
    Ok(json!({
        "causes": told(opened, process, causes)?,
        "effects": told(opened, process, effects)?,
    }))
}

/// The task, block or thread that made a call.
fn on_behalf_of(opened: &OpenedSession, process: usize, call: Target) -> Option<Target> {
    let Target::Frame(id, seq) = call else { return None };
    let process = &opened.processes[process];
    let thread = process.tables.meta().thread_index(id)? as u64;
    let context = process.target_of(process.context_at(thread, seq));
    context.or_else(|| process.pthread(thread, seq).map(|span| Target::Thread(id, span.begin_seq)))
}

fn told<'a>(
    opened: &OpenedSession,
    process: usize,
    links: impl Iterator<Item = (&'a StageLink, Target)>,
) -> anyhow::Result<Vec<String>> {
    let tell = |(link, other): (&StageLink, Target)| {
        let reference = refer(opened, process, other);
        let name = referenced::find(opened, reference)?.map_or_else(String::new, |row| row.name(opened));
        Ok(format!("{}: {reference} {name}", link.kind).trim_end().to_owned())
    };
    links.take(MOST).map(tell).collect()
}
