//! Tracks of threads, tasks, queues and callbacks: spans that overlap lie below each other.

use std::collections::BTreeMap;

use ada_event::FunctionId;
use ada_export::Lanes;
use ada_span::NONE;
use ada_timeline::{Item, LAST_ROW};

use super::logical_track::{LogicalKind, LogicalTrack};
use super::names::SpanNames;
use super::placed::Placed;
use super::track::{Track, TrackKind};
use crate::analysis::{BlockView, CallbackView, OpenedSession, PthreadView, Row as SpanRow, TaskView, queue_name};

/// A span that has no row yet.
struct Waiting {
    kind: LogicalKind,
    item: Item,
    running: Vec<Item>,
}

/// The tracks of a process, the first of which will have the number `next`.
pub(super) fn tracks(opened: &OpenedSession, number: usize, names: &SpanNames, next: usize) -> (Vec<Track>, Placed) {
    let process = &opened.processes[number];
    let meta = process.tables.meta();
    let function_name = |function: u64| {
        let place = (function != NONE).then(|| meta.function_index(FunctionId(function))).flatten();
        place.map(|place| names.of_function(number, place as u32))
    };
    let to_item = |row: &SpanRow, place: usize, function: u64| Item {
        start: row.start(),
        duration: row.duration(),
        seq: place as u64,
        function: function_name(function).unwrap_or_else(|| names.of_text(&row.name(opened))),
        count: 1,
        outcome: row.outcome().to_byte(),
    };
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut wait = |kind: LogicalKind, item: Item, running: Vec<Item>| waiting.push(Waiting { kind, item, running });
    for (place, &span) in meta.pthreads.iter().enumerate() {
        let row = SpanRow::Pthread(PthreadView { process: number, span });
        wait(LogicalKind::Threads, to_item(&row, place, span.function), Vec::new());
    }
    for (place, &span) in meta.tasks.iter().enumerate() {
        let view = TaskView { process: number, span };
        let item = to_item(&SpanRow::Task(view), place, span.function);
        let runs = view.runs(process).iter();
        let running = runs.map(|run| Item { start: run.start, duration: run.end.saturating_sub(run.start), ..item });
        wait(LogicalKind::Tasks, item, running.collect());
    }
    for (place, &span) in meta.dispatched.iter().enumerate() {
        let row = SpanRow::Block(BlockView { process: number, span });
        let mut item = to_item(&row, place, span.function);
        // From its submission on it waits; it runs from its start.
        let running = if span.has_run() { vec![item] } else { Vec::new() };
        if span.has_run() && span.submit_time != NONE && span.submit_time < span.start {
            item.start = span.submit_time;
            item.duration = span.end.saturating_sub(span.submit_time);
        }
        let queue = (span.queue != NONE).then_some(span.queue);
        wait(LogicalKind::Queue(queue), item, running);
    }
    for (place, &span) in meta.callbacks.iter().enumerate() {
        let row = SpanRow::Callback(CallbackView { process: number, span });
        wait(LogicalKind::Callbacks, to_item(&row, place, span.function), Vec::new());
    }
    // The longer of two that begin together lies above.
    waiting.sort_by_key(|it| (it.kind, it.item.start, std::cmp::Reverse(it.item.duration)));
    let mut placed = Placed {
        threads: vec![(0, 0); meta.pthreads.len()],
        tasks: vec![(0, 0); meta.tasks.len()],
        blocks: vec![(0, 0); meta.dispatched.len()],
        callbacks: vec![(0, 0); meta.callbacks.len()],
    };
    let mut made: BTreeMap<LogicalKind, (LogicalTrack, Lanes, usize)> = BTreeMap::new();
    for Waiting { kind, item, running } in waiting {
        let number = next + made.len();
        let (track, lanes, number) =
            made.entry(kind).or_insert_with(|| (LogicalTrack::new(kind), Lanes::default(), number));
        let row = lanes.place(item.start, item.end()).min(LAST_ROW as usize);
        track.put(row, item, running);
        let list = match kind {
            LogicalKind::Threads => &mut placed.threads,
            LogicalKind::Tasks => &mut placed.tasks,
            LogicalKind::Queue(_) => &mut placed.blocks,
            LogicalKind::Callbacks => &mut placed.callbacks,
        };
        list[item.seq as usize] = (*number as u32, row as u32);
    }
    let track = |(track, _, _): (LogicalTrack, Lanes, usize)| {
        let title = match track.kind {
            LogicalKind::Threads => "Threads".to_owned(),
            LogicalKind::Tasks => "Tasks".to_owned(),
            LogicalKind::Queue(Some(queue)) => format!("Queue {}", queue_name(process, queue).unwrap_or_default()),
            LogicalKind::Queue(None) => "Blocks".to_owned(),
            LogicalKind::Callbacks => "Callbacks".to_owned(),
        };
        Track { process: number, title, kind: TrackKind::Logical(track) }
    };
    // In the order of their numbers, which is that of their kinds.
    (made.into_values().map(track).collect(), placed)
}
