//! A process of the session, with what its tracks are drawn from.

use ada_span::table::Tables;
use ada_timeline::{Blocks, Item, Scene, Summary};

use super::placed::Placed;

/// One process of the timeline.
pub(super) struct TimelineProcess {
    pub(super) pid: u32,
    pub(super) tables: Tables,
    pub(super) summary: Summary,
    pub(super) blocks: Blocks,
    /// The track of the first thread; the others follow.
    pub(super) first_track: usize,
    /// Where each logical span is drawn.
    pub(super) placed: Placed,
    /// Odd events: thread's place, event, time and what.
    pub(super) anomalies: Vec<Vec<Item>>,
}

impl TimelineProcess {
    pub(super) fn scene(&self) -> Scene<'_> {
        Scene { tables: &self.tables, summary: &self.summary, blocks: &self.blocks }
    }

    /// The track of a thread.
    pub(super) fn track_of_thread(&self, thread: usize) -> usize {
        self.first_track + thread
    }
}
