//! The calls that crashes hit.

use ada_event::{EventSeq, TraceNanos};
use ada_span::ThreadIndex;
use ada_timeline::Item;
use serde_json::{Value, json};

use super::page_lens::Seen;
use super::timeline::Timeline;
use crate::analysis::OpenedSession;

/// A crash, and the innermost call of its thread that was open then.
pub(super) struct CrashedCall {
    pub(super) process: usize,
    pub(super) thread: ThreadIndex,
    pub(super) time: TraceNanos,
    pub(super) signal: i32,
    pub(super) call: Option<Item>,
}

impl CrashedCall {
    /// All of a session, the earliest first.
    pub(super) fn all(opened: &OpenedSession, timeline: &Timeline) -> Vec<Self> {
        let mut all = Vec::new();
        for (number, process) in opened.processes().iter().enumerate() {
            for crash in opened.recorded(process).manifest.iter().flat_map(|it| &it.crashes) {
                let Some(thread) = process.tables.meta().thread_index(crash.thread) else { continue };
                // The call ends when the signal hit.
                let before = crash.time_ns.saturating_sub(1);
                let call = timeline.processes[number].scene().innermost(thread, before).ok().flatten();
                all.push(Self { process: number, thread, time: crash.time_ns, signal: crash.signal, call });
            }
        }
        all.sort_by_key(|it| it.time);
        all
    }

    /// The row of the call, or of the nearest one above it that is seen.
    pub(super) fn row(&self, timeline: &Timeline, seen: Seen) -> anyhow::Result<Option<u32>> {
        let Some(call) = self.call else { return Ok(None) };
        let place = timeline.scene(self.process, seen)?.place(self.thread, EventSeq(call.seq))?;
        Ok(place.map(|(row, _)| row))
    }

    /// What the page marks: the call by its track, row and number there.
    pub(super) fn to_json(&self, timeline: &Timeline) -> Value {
        json!({
            "track": timeline.track_of_thread(self.process, self.thread),
            "row": self.row(timeline, Seen::All).ok().flatten(),
            "seq": self.call.map(|call| call.seq),
            "time": self.time.since(timeline.start),
            "signal": ada_query::signal_name(self.signal),
        })
    }
}
