//! A track of tasks, blocks, callbacks, or of a lock.

use ada_event::TraceNanos;
use ada_timeline::{Item, LAST_ROW, Range, Row};

use super::shape_kind::ShapeKind;

/// What a track shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LogicalKind {
    Tasks,
    /// A queue, by its index; none where it is not known.
    Queue(Option<u64>),
    Callbacks,
    /// A lock that threads waited for, by its rank.
    Lock(usize),
}

impl LogicalKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Queue(_) => "queue",
            Self::Callbacks => "callbacks",
            Self::Lock(_) => "lock",
        }
    }
}

/// A span that has no row yet.
pub(super) struct Waiting {
    pub(super) kind: LogicalKind,
    /// Whether it lies below all that are not.
    pub(super) is_below: bool,
    pub(super) item: Item,
    pub(super) running: Vec<Item>,
}

/// One track.
pub(super) struct LogicalTrack {
    pub(super) kind: LogicalKind,
    /// Spans by row; their `seq` is their index in the tables' list of their kind.
    rows: Vec<Vec<Item>>,
    /// The parts in which they ran, or had the lock, likewise.
    running: Vec<Vec<Item>>,
}

impl LogicalTrack {
    pub(super) fn new(kind: LogicalKind) -> Self {
        Self { kind, rows: Vec::new(), running: Vec::new() }
    }

    pub(super) fn rows(&self) -> u32 {
        self.rows.len() as u32
    }

    pub(super) fn spans(&self) -> u64 {
        self.rows.iter().map(|row| row.len() as u64).sum()
    }

    /// When the first one begins and the last one ends.
    pub(super) fn times(&self) -> Option<(TraceNanos, TraceNanos)> {
        let all = || self.rows.iter().flatten();
        Some((all().map(|it| it.start).min()?, all().map(Item::end).max()?))
    }

    /// What rows have in a range.
    pub(super) fn look(&self, range: Range, first: u32, last: u32) -> Vec<(ShapeKind, Row)> {
        let mut found = Vec::new();
        for row in first..=last.min(LAST_ROW) {
            for (kind, layer) in [(ShapeKind::Logical, &self.rows), (ShapeKind::Running, &self.running)] {
                let Some(items) = layer.get(row as usize) else { continue };
                let from = items.partition_point(|it| it.start < range.start).saturating_sub(1);
                let until = items.partition_point(|it| it.start < range.end);
                let within = items.get(from..until).unwrap_or_default().iter();
                let items: Vec<Item> =
                    within.filter(|it| it.end() > range.start || it.start >= range.start).copied().collect();
                if !items.is_empty() {
                    found.push((kind, Row { row, items }));
                }
            }
        }
        found
    }

    /// Adds a span to a row, and the parts in which it ran.
    pub(super) fn put(&mut self, row: usize, span: Item, running: Vec<Item>) {
        put(&mut self.rows, row, span);
        running.into_iter().for_each(|part| put(&mut self.running, row, part));
    }
}

fn put(layer: &mut Vec<Vec<Item>>, row: usize, item: Item) {
    if layer.len() <= row {
        layer.resize_with(row + 1, Vec::new);
    }
    layer[row].push(item);
}
