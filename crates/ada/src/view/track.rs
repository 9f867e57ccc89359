//! A line of the page.

use ada_span::ThreadIndex;

use super::logical_track::LogicalTrack;

/// A line of the page.
pub(super) struct Track {
    pub(super) process: usize,
    pub(super) title: String,
    pub(super) kind: TrackKind,
}

pub(super) enum TrackKind {
    /// The calls of a thread.
    Thread(ThreadIndex),
    /// Tasks, blocks or callbacks.
    Logical(LogicalTrack),
}
