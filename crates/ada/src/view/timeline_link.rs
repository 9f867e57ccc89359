//! Causal links between tracks.

use std::collections::HashMap;

use ada_event::{EventSeq, TraceNanos};
use ada_query::Trace;
use ada_span::ThreadIndex;
use ada_timeline::Scene;

use super::placed::LIFE_ROW;
use super::timeline_process::TimelineProcess;
use crate::analysis::{CausalEnd, CausalLink, RemoteLink, Target, causal_links, remote_links};

/// A causal edge between tracks, of one process or of two.
pub(super) struct TimelineLink {
    pub(super) kind: &'static str,
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
    pub(super) process: usize,
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
    /// The row on its track; of a call that is not seen, that of the nearest one above it that is.
    /// `scene` has what is seen of a process.
    pub(super) fn row<'a>(&self, scene: impl Fn(usize) -> anyhow::Result<Scene<'a>>) -> anyhow::Result<u32> {
        match self.row {
            RowOf::Known(row) => Ok(row),
            RowOf::Call(thread, seq) => {
                let place = scene(self.process)?.place(thread, seq)?;
                Ok(place.map_or(0, |(row, _)| row))
            }
        }
    }
}

/// Keeps the longest waits of very many.
fn keep_longest<T>(links: &mut Vec<T>, link: impl Fn(&T) -> &CausalLink) {
    const MOST: usize = 100_000;
    let length = |it: &T| link(it).from.time.zip(link(it).to.time).map_or(0, |(from, to)| to.since(from));
    let mut lengths: Vec<u64> = links.iter().filter(|it| is_of_wait(link(it).kind)).map(length).collect();
    if lengths.len() > MOST {
        lengths.sort_unstable();
        let least = lengths[lengths.len() - MOST];
        links.retain(|it| !is_of_wait(link(it).kind) || length(it) >= least);
    }
}

/// All edges of a session, by when their causes happened.
pub(super) fn gather(trace: &Trace, processes: &[TimelineProcess]) -> Vec<TimelineLink> {
    let mut links = Vec::new();
    for (number, process) in processes.iter().enumerate() {
        let meta = process.tables.meta();
        let tasks: HashMap<u64, usize> = meta.tasks.iter().enumerate().map(|(index, task)| (task.id, index)).collect();
        let blocks: HashMap<(ThreadIndex, EventSeq), usize> =
            meta.dispatched.iter().enumerate().map(|(index, it)| ((it.thread, it.seq), index)).collect();
        let end = |end: &CausalEnd| {
            let time = end.time?;
            let at = |track, row| LinkEnd { process: number, track, time, row, target: end.target };
            let on_thread = |row: RowOf| at(process.track_of_thread(end.thread), row);
            let placed = |position: Option<&(u32, u32)>| {
                let &(track, row) = position?;
                Some(at(track as usize, RowOf::Known(row)))
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
        keep_longest(&mut all, |link| link);
        links.extend(
            all.iter()
                .filter_map(|link| Some(TimelineLink { kind: link.kind, from: end(&link.from)?, to: end(&link.to)? })),
        );
    }
    let mut remote = remote_links(trace);
    remote.retain(|it| it.link.is_drawn());
    keep_longest(&mut remote, |it| &it.link);
    let call = |process: usize, end: &CausalEnd| {
        let Target::Frame(_, seq) = end.target else { return None };
        let track = processes[process].track_of_thread(end.thread);
        Some(LinkEnd { process, track, time: end.time?, row: RowOf::Call(end.thread, seq), target: end.target })
    };
    links.extend(remote.iter().filter_map(|RemoteLink { link, from_process, to_process }| {
        let (from, to) = (call(*from_process, &link.from)?, call(*to_process, &link.to)?);
        Some(TimelineLink { kind: link.kind, from, to })
    }));
    links.sort_by_key(|link| link.from.time);
    links
}
