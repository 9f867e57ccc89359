//! A span as it is drawn.

use ada_event::TraceNanos;

use crate::item::Item;

/// Something that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whose row.
    pub track: u32,
    /// Which row.
    pub row: u32,
    /// The span, which may stand for shorter ones of its pixel.
    pub item: Item,
    /// The time that is painted: from the first of those that it stands for …
    pub from: TraceNanos,
    /// … to the end of the last.
    pub until: TraceNanos,
}

impl Shape {
    pub(crate) fn alone(track: u32, row: u32, item: Item) -> Self {
        Self { track, row, item, from: item.start, until: item.end() }
    }
}
