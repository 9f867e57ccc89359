//! A process of the session, with what its tracks are drawn from.

use std::sync::Arc;

use ada_event::ProcessId;
use ada_span::ThreadIndex;
use ada_span::state::ThreadStates;
use ada_span::table::Tables;
use ada_timeline::{Blocks, Item, Scene, Summary};

use super::placed::Placed;

/// One process of the timeline.
pub(super) struct TimelineProcess {
    pub(super) pid: ProcessId,
    pub(super) tables: Tables,
    pub(super) summary: Summary,
    pub(super) blocks: Blocks,
    /// The track of the first thread; the others follow.
    pub(super) first_track: usize,
    /// Where each logical span is drawn.
    pub(super) placed: Placed,
    /// When each thread ran, where that is known.
    pub(super) states: Vec<Option<Arc<ThreadStates>>>,
    /// Odd events, by thread: event, time and what.
    pub(super) anomalies: Vec<Vec<Item>>,
}

impl TimelineProcess {
    /// All of its calls.
    pub(super) fn scene(&self) -> Scene<'_> {
        Scene { tables: &self.tables, summary: &self.summary, blocks: &self.blocks, lens: None }
    }

    /// The track of a thread.
    pub(super) fn track_of_thread(&self, thread: ThreadIndex) -> usize {
        self.first_track + thread.as_usize()
    }
}
