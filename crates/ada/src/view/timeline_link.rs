//! Causal links between tracks.

use std::collections::HashMap;

use ada_event::{EventSeq, TraceNanos};
use ada_span::{SpanError, ThreadIndex};

use super::placed::LIFE_ROW;
use super::timeline_process::TimelineProcess;
use crate::analysis::{CausalEnd, CausalLink, Target, causal_links};

/// A causal edge between tracks.
pub(super) struct TimelineLink {
    pub(super) kind: &'static str,
    pub(super) process: usize,
    pub(super) from: LinkEnd,
    pub(super) to: LinkEnd,
}

impl TimelineLink {
    /// Whether it tells who ended a wait, or whom it was for.
    pub(super) fn is_of_wait(&self) -> bool {
        is_of_wait(self.kind)
    }
}

fn is_of_wait(kind: &str) -> bool {
    matches!(kind, "wake" | "hold")
}

/// An end of it.
pub(super) struct LinkEnd {
    pub(super) track: usize,
    pub(super) time: TraceNanos,
    row: RowOf,
    pub(super) target: Target,
}

/// Where on its track an end lies.
#[derive(Clone, Copy)]
enum RowOf {
    Known(u32),
    /// The depth of a call of a thread, by the opening event.
    Call(ThreadIndex, EventSeq),
}

impl LinkEnd {
    /// The row on its track.
    pub(super) fn row(&self, process: &TimelineProcess) -> Result<u32, SpanError> {
        match self.row {
            RowOf::Known(row) => Ok(row),
            RowOf::Call(thread, seq) => Ok(process.scene().depth(thread, seq)?.unwrap_or(0)),
        }
    }
}

/// Keeps the longest waits of very many.
fn keep_longest(links: &mut Vec<CausalLink>) {
    const MOST: usize = 100_000;
    let length = |link: &CausalLink| link.from.time.zip(link.to.time).map_or(0, |(from, to)| to.since(from));
    let mut lengths: Vec<u64> = links.iter().filter(|link| is_of_wait(link.kind)).map(length).collect();
    if lengths.len() > MOST {
        lengths.sort_unstable();
        let least = lengths[lengths.len() - MOST];
        links.retain(|link| !is_of_wait(link.kind) || length(link) >= least);
    }
}

/// All edges of a session, by when their causes happened.
pub(super) fn gather(processes: &[TimelineProcess]) -> Vec<TimelineLink> {
    let mut links = Vec::new();
    for (number, process) in processes.iter().enumerate() {
        let meta = process.tables.meta();
        let tasks: HashMap<u64, usize> = meta.tasks.iter().enumerate().map(|(index, task)| (task.id, index)).collect();
        let blocks: HashMap<(ThreadIndex, EventSeq), usize> =
            meta.dispatched.iter().enumerate().map(|(index, it)| ((it.thread, it.seq), index)).collect();
        let end = |end: &CausalEnd| {
            let time = end.time?;
            let on_thread =
                |row: RowOf| LinkEnd { track: process.track_of_thread(end.thread), time, row, target: end.target };
            let placed = |position: Option<&(u32, u32)>| {
                let &(track, row) = position?;
                Some(LinkEnd { track: track as usize, time, row: RowOf::Known(row), target: end.target })
            };
            match end.target {
                Target::Frame(_, seq) | Target::Callback(_, seq) => Some(on_thread(RowOf::Call(end.thread, seq))),
                Target::Thread(..) => Some(on_thread(RowOf::Known(LIFE_ROW))),
                Target::Task(id) => placed(tasks.get(&id).and_then(|&index| process.placed.tasks.get(index))),
                Target::Block(_, seq) => {
                    let index = blocks.get(&(end.thread, seq));
                    placed(index.and_then(|&index| process.placed.blocks.get(index)))
                }
                _ => None,
            }
        };
        let mut all = causal_links(meta);
        all.retain(CausalLink::is_drawn);
        keep_longest(&mut all);
        links.extend(all.iter().filter_map(|link| {
            Some(TimelineLink { kind: link.kind, process: number, from: end(&link.from)?, to: end(&link.to)? })
        }));
    }
    links.sort_by_key(|link| link.from.time);
    links
}
