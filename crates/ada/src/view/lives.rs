//! From when to when threads lived: a bar on each thread's track, apart from its calls.

use std::collections::HashMap;

use ada_span::ThreadIndex;
use serde_json::{Value, json};

use super::timeline::Timeline;
use crate::analysis::{OpenedSession, Target};

/// The lives on each thread's track: more than one where a thread's id was given again. Of a thread that nobody was
/// seen to make, it is known when it was there, and no more.
pub(super) fn by_track(opened: &OpenedSession, timeline: &Timeline) -> HashMap<usize, Vec<Value>> {
    let mut lives: HashMap<usize, Vec<Value>> = HashMap::new();
    for (number, process) in opened.processes().iter().enumerate() {
        // Lanes of an imported trace are no threads.
        if process.runtime == "heph" {
            continue;
        }
        let meta = process.tables.meta();
        for life in &meta.pthreads {
            let id = process.thread_id(life.thread);
            lives.entry(timeline.track_of_thread(number, life.thread)).or_default().push(json!({
                "start": life.start.since(timeline.start),
                "end": life.end.since(timeline.start),
                "reference": process.refer(Target::Thread(id, life.begin_seq)),
                "outcome": life.outcome().to_byte(),
                "ended_by": life.end_how().word(),
            }));
        }
        for (thread, entry) in ThreadIndex::all(meta.threads.len()).zip(&meta.threads) {
            let track = timeline.track_of_thread(number, thread);
            let (start, end) = (entry.facts.start_time.min(entry.facts.first_time), entry.facts.end_time);
            if !lives.contains_key(&track) && entry.facts.events > 0 && start < end {
                let (start, end) = (start.since(timeline.start), end.since(timeline.start));
                lives.insert(track, vec![json!({ "start": start, "end": end, "reference": null, "outcome": 0 })]);
            }
        }
    }
    lives
}
