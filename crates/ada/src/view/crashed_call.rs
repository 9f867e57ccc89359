//! The calls that crashes hit.

use ada_event::TraceNanos;
use ada_span::ThreadIndex;
use ada_timeline::{Item, LAST_ROW};
use serde_json::{Value, json};

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

    /// What the page marks: the call by its track, row and number there.
    pub(super) fn to_json(&self, timeline: &Timeline) -> Value {
        let scene = timeline.processes[self.process].scene();
        let depth = self.call.and_then(|call| scene.depth(self.thread, ada_event::EventSeq(call.seq)).ok().flatten());
        json!({
            "track": timeline.track_of_thread(self.process, self.thread),
            "row": depth.map(|depth| depth.min(LAST_ROW)),
            "seq": self.call.map(|call| call.seq),
            "time": self.time.since(timeline.start),
            "signal": ada_query::signal_name(self.signal),
        })
    }
}
