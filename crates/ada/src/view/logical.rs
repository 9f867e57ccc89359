//! Tracks of tasks, queues, callbacks and locks: spans that overlap lie below each other. A thread's life is drawn on the
//! thread's own track.

use std::collections::BTreeMap;

use ada_event::FunctionId;
use ada_export::Lanes;
use ada_span::NONE;
use ada_span::table::FunctionIndex;
use ada_timeline::{Item, LAST_ROW};

use super::locks;
use super::logical_track::{LogicalKind, LogicalTrack, Waiting};
use super::names::SpanNames;
use super::placed::{LIFE_ROW, Placed};
use super::track::{Track, TrackKind};
use crate::analysis::{OpenedSession, Span, SpanKind};

/// A track that is being filled.
struct Making {
    track: LogicalTrack,
    lanes: Lanes,
    /// The first row of what lies below the rest.
    first_row: usize,
    number: usize,
}

impl Making {
    fn new(kind: LogicalKind, number: usize) -> Self {
        Self { track: LogicalTrack::new(kind), lanes: Lanes::default(), first_row: 0, number }
    }
}

/// The tracks of a process whose threads have the tracks from `first_track` on; the first of these will have the number
/// `next`.
pub(super) fn tracks(
    opened: &OpenedSession,
    number: usize,
    names: &SpanNames,
    (first_track, next): (usize, usize),
) -> (Vec<Track>, Placed) {
    let process = &opened.processes()[number];
    let meta = process.tables.meta();
    let function_name = |function: Option<FunctionId>| {
        function.and_then(|function| meta.function_index(function)).map(|index| names.of_function(number, index))
    };
    let to_item = |kind: SpanKind, index: usize, function: Option<FunctionId>| {
        let span = Span { process: number, kind };
        let name = function_name(function).unwrap_or_else(|| names.of_text(&span.name(opened)));
        Item {
            start: span.start(opened),
            duration: span.duration(opened),
            seq: index as u64,
            function: FunctionIndex(name),
            count: 1,
            outcome: span.outcome(opened).to_byte(),
        }
    };
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut wait = |kind: LogicalKind, item: Item, running: Vec<Item>| {
        waiting.push(Waiting { kind, is_below: false, item, running })
    };
    for (index, span) in meta.tasks.iter().enumerate() {
        let item = to_item(SpanKind::Task(index), index, span.function);
        let runs = process.runs_of(span).iter();
        let running = runs.map(|run| Item { start: run.start, duration: run.end.since(run.start), ..item });
        wait(LogicalKind::Tasks, item, running.collect());
    }
    for (index, span) in meta.dispatched.iter().enumerate() {
        let mut item = to_item(SpanKind::Block(index), index, span.function);
        // From its submission on it waits; it runs from its start.
        let running = if span.has_run() { vec![item] } else { Vec::new() };
        if span.has_run() && span.submit_time < span.start {
            item.start = span.submit_time;
            item.duration = span.end.since(span.submit_time);
        }
        let queue = (span.queue != NONE).then_some(span.queue);
        wait(LogicalKind::Queue(queue), item, running);
    }
    for (index, span) in meta.callbacks.iter().enumerate() {
        wait(LogicalKind::Callbacks, to_item(SpanKind::Callback(index), index, Some(span.function)), Vec::new());
    }
    let (locks, of_locks) = locks::spans(opened, number, names);
    waiting.extend(of_locks);
    // The longer of two that begin together lies above.
    waiting.sort_by_key(|it| (it.kind, it.is_below, it.item.start, std::cmp::Reverse(it.item.duration)));
    let mut placed = Placed {
        threads: meta.pthreads.iter().map(|life| ((first_track + life.thread.as_usize()) as u32, LIFE_ROW)).collect(),
        tasks: vec![(0, 0); meta.tasks.len()],
        blocks: vec![(0, 0); meta.dispatched.len()],
        callbacks: vec![(0, 0); meta.callbacks.len()],
    };
    let mut made: BTreeMap<LogicalKind, Making> = BTreeMap::new();
    for Waiting { kind, is_below, item, running } in waiting {
        let number = next + made.len();
        let Making { track, lanes, first_row, number } = made.entry(kind).or_insert_with(|| Making::new(kind, number));
        if is_below && *first_row == 0 {
            (*lanes, *first_row) = (Lanes::default(), track.rows().max(1) as usize);
        }
        let row = (*first_row + lanes.take(item.start, item.end())).min(LAST_ROW as usize);
        track.put(row, item, running);
        let list = match kind {
            LogicalKind::Tasks => &mut placed.tasks,
            LogicalKind::Queue(_) => &mut placed.blocks,
            LogicalKind::Callbacks => &mut placed.callbacks,
            // Who holds and who waits are calls, which have their places.
            LogicalKind::Lock(_) => continue,
        };
        list[item.seq as usize] = (*number as u32, row as u32);
    }
    let track = |Making { track, .. }: Making| {
        let title = match track.kind {
            LogicalKind::Tasks => "Tasks".to_owned(),
            LogicalKind::Queue(Some(queue)) => format!("Queue {}", process.queue_name(queue).unwrap_or_default()),
            LogicalKind::Queue(None) => "Blocks".to_owned(),
            LogicalKind::Callbacks => "Callbacks".to_owned(),
            LogicalKind::Lock(rank) => format!("Lock {}", locks.get(rank).map_or("", String::as_str)),
        };
        Track { process: number, title, kind: TrackKind::Logical(track) }
    };
    // In the order of their numbers, which is that of their kinds.
    (made.into_values().map(track).collect(), placed)
}
