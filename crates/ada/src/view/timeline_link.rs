//! Causal links between tracks.

use std::collections::HashMap;

use ada_span::SpanError;

use super::timeline_process::TimelineProcess;
use crate::analysis::{CausalEnd, Target, causal_links};

/// A causal edge between tracks.
pub(super) struct TimelineLink {
    pub(super) kind: &'static str,
    pub(super) process: usize,
    pub(super) from: LinkEnd,
    pub(super) to: LinkEnd,
}

/// An end of it.
pub(super) struct LinkEnd {
    pub(super) track: usize,
    pub(super) time: u64,
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

impl LinkEnd {
    /// The row on its track.
    pub(super) fn row(&self, process: &TimelineProcess) -> Result<u32, SpanError> {
        match self.row {
            RowOf::Known(row) => Ok(row),
            RowOf::Call(thread, seq) => Ok(process.scene().depth(thread, seq)?.unwrap_or(0)),
        }
    }
}

/// All edges of a session, by when their causes happened.
pub(super) fn gather(processes: &[TimelineProcess]) -> Vec<TimelineLink> {
    let mut links = Vec::new();
    for (number, process) in processes.iter().enumerate() {
        let meta = process.tables.meta();
        let tasks: HashMap<u64, usize> = meta.tasks.iter().enumerate().map(|(place, task)| (task.id, place)).collect();
        let blocks: HashMap<(u64, u64), usize> =
            meta.dispatched.iter().enumerate().map(|(place, it)| ((it.thread, it.seq), place)).collect();
        let end = |end: &CausalEnd| {
            let on_thread = |row: RowOf| LinkEnd {
                track: process.track_of_thread(end.thread),
                time: end.time,
                row,
                target: end.target,
            };
            let placed = |place: Option<&(u32, u32)>| {
                let &(track, row) = place?;
                Some(LinkEnd { track: track as usize, time: end.time, row: RowOf::Known(row), target: end.target })
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
            Some(TimelineLink { kind: link.kind, process: number, from: end(&link.from)?, to: end(&link.to)? })
        }));
    }
    links.sort_by_key(|link| link.from.time);
    links
}
