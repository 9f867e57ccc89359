//! Arrows from causes to effects.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::stage::Stage;
use crate::analysis::{CausalEnd, Reference, Target, causal_links};

/// Arrows of one answer; the longest waits come first.
const MOST: usize = 300;

/// A causal edge between tracks.
pub(super) struct StageLink {
    pub(super) kind: &'static str,
    pub(super) process: usize,
    pub(super) from: StageEnd,
    pub(super) to: StageEnd,
}

pub(super) struct StageEnd {
    track: usize,
    time: u64,
    row: RowOf,
    pub(super) target: Target,
}

/// Where on its track an end lies.
#[derive(Clone, Copy)]
enum RowOf {
    Known(u32),
    /// The depth of a call of a thread, by the opening event.
    Call(usize, u64),
}

/// All edges of a session, by when their causes happened.
pub(super) fn gather(stage: &Stage) -> Vec<StageLink> {
    let mut links = Vec::new();
    for (number, process) in stage.processes.iter().enumerate() {
        let meta = process.tables.meta();
        let tasks: std::collections::HashMap<u64, usize> =
            meta.tasks.iter().enumerate().map(|(place, task)| (task.id, place)).collect();
        let blocks: std::collections::HashMap<(u64, u64), usize> =
            meta.dispatched.iter().enumerate().map(|(place, it)| ((it.thread, it.seq), place)).collect();
        let end = |end: &CausalEnd| {
            let on_thread = |row: RowOf| StageEnd {
                track: stage.track_of_thread(number, end.thread),
                time: end.time,
                row,
                target: end.target,
            };
            let placed = |place: Option<&(u32, u32)>| {
                let &(track, row) = place?;
                Some(StageEnd { track: track as usize, time: end.time, row: RowOf::Known(row), target: end.target })
            };
            match end.target {
                Target::Frame(_, seq) | Target::Callback(_, seq) => Some(on_thread(RowOf::Call(end.thread, seq))),
                // A thread's calls are more to look at than its one bar.
                Target::Thread(..) => Some(on_thread(RowOf::Known(0))),
                Target::Task(id) => placed(tasks.get(&id).and_then(|&place| process.placed.tasks.get(place))),
                Target::Block(_, seq) => {
                    let place = blocks.get(&(end.thread as u64, seq));
                    placed(place.and_then(|&place| process.placed.blocks.get(place)))
                }
                _ => None,
            }
        };
        let all = causal_links(meta);
        links.extend(all.iter().filter(|link| link.is_drawn()).filter_map(|link| {
            Some(StageLink { kind: link.kind, process: number, from: end(&link.from)?, to: end(&link.to)? })
        }));
    }
    links.sort_by_key(|link| link.from.time);
    links
}

/// The arrows that are seen between two moments and have an end on these tracks.
pub(super) fn answer(stage: &Stage, start: u64, end: u64, is_shown: impl Fn(usize) -> bool) -> anyhow::Result<Value> {
    let overlaps =
        |link: &&StageLink| link.from.time.min(link.to.time) < end && link.from.time.max(link.to.time) > start;
    let mut seen: Vec<&StageLink> = stage
        .links
        .iter()
        .filter(overlaps)
        .filter(|link| (is_shown(link.from.track) || is_shown(link.to.track)) && link.from.track != link.to.track)
        .collect();
    let count = seen.len();
    // Callbacks are many and near; whoever created or resumed another is looked for first.
    seen.sort_by_key(|link| (link.kind == "callback", Reverse(link.to.time.saturating_sub(link.from.time))));
    seen.truncate(MOST);
    let mut arrows = Vec::new();
    for link in seen {
        let from = row(stage, link.process, &link.from)?;
        let to = row(stage, link.process, &link.to)?;
        let time = |time: u64| time.saturating_sub(stage.start);
        arrows.push(json!([
            link.kind,
            link.from.track,
            from,
            time(link.from.time),
            link.to.track,
            to,
            time(link.to.time),
            refer(stage, link.process, link.from.target),
            refer(stage, link.process, link.to.target),
        ]));
    }
    Ok(json!({ "arrows": arrows, "left_out": count - arrows.len() }))
}

fn refer(stage: &Stage, process: usize, target: Target) -> String {
    let pid = (stage.processes.len() > 1).then_some(stage.processes[process].pid);
    Reference { pid, target }.to_string()
}

fn row(stage: &Stage, process: usize, end: &StageEnd) -> anyhow::Result<u32> {
    Ok(match end.row {
        RowOf::Known(row) => row,
        RowOf::Call(thread, seq) => stage.processes[process].scene().depth(thread, seq)?.unwrap_or(0),
    })
}
