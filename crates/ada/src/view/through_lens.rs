//! What the page has to know to look through its lens.

use ada_span::table::FunctionIndex;
use serde_json::{Value, json};

use super::crashed_call::CrashedCall;
use super::page_lens::Seen;
use super::timeline::Timeline;
use super::track::TrackKind;

/// Functions of an answer.
const MOST_FUNCTIONS: usize = 12;

/// Calls and rows of each track, rows of crashes, and the functions with the most time, that of what they call behind the lens included.
pub(super) fn answer(timeline: &Timeline, crashes: &[CrashedCall]) -> anyhow::Result<Value> {
    let lensed = timeline.lensed(&|_| ())?;
    let tracks: Vec<Option<(u64, u32)>> = timeline
        .tracks
        .iter()
        .map(|track| match &track.kind {
            TrackKind::Thread(thread) => {
                let shown = lensed[track.process].rows.of_thread(*thread);
                Some((shown.calls, shown.rows))
            }
            TrackKind::Logical(_) => None,
        })
        .collect();
    let mut functions = Vec::new();
    for (number, process) in timeline.processes.iter().enumerate() {
        let charged = (0..).map(FunctionIndex).zip(lensed[number].rows.charged());
        for ((index, &ns), stats) in charged.zip(&process.tables.meta().functions).filter(|((_, ns), _)| **ns > 0) {
            let name = timeline.names.of_function(number, index);
            functions.push((ns, json!([name, stats.spans, ns, stats.total_ns])));
        }
    }
    let own_ns = functions.iter().fold(0_u64, |sum, (ns, _)| sum.saturating_add(*ns));
    functions.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let crashes = crashes.iter().map(|it| it.row(timeline, Seen::ThroughLens));
    Ok(json!({
        "tracks": tracks,
        "crashes": crashes.collect::<anyhow::Result<Vec<_>>>()?,
        "own_ns": own_ns,
        "top": functions.into_iter().take(MOST_FUNCTIONS).map(|(_, it)| it).collect::<Vec<_>>(),
    }))
}
