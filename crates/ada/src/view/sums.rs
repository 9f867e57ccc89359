//! What was done between two moments: functions, endings, and the merged tree of calls.

use std::collections::BTreeMap;

use ada_event::TraceNanos;
use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use ada_timeline::{Folded, fold};
use serde_json::{Value, json};

use super::endings::Endings;
use super::page_lens::Seen;
use super::timeline::Timeline;
use super::track::TrackKind;

/// Functions of an answer.
const MOST_FUNCTIONS: usize = 200;
/// Nodes of an answer: those with the most time.
const MOST_NODES: usize = 4_000;

/// Sums up tracks, which are threads'; others have no calls.
pub(super) fn answer(
    timeline: &Timeline,
    tracks: &[usize],
    start: TraceNanos,
    end: TraceNanos,
    seen: Seen,
    go_on: &dyn Fn() -> bool,
) -> anyhow::Result<Value> {
    let mut by_process: BTreeMap<usize, Vec<ThreadIndex>> = BTreeMap::new();
    for &track in tracks {
        let it = &timeline.tracks[track];
        if let TrackKind::Thread(thread) = it.kind {
            by_process.entry(it.process).or_default().push(thread);
        }
    }
    let (mut functions, mut nodes) = (Vec::new(), Vec::new());
    let mut endings = Endings::default();
    let (mut calls, mut left_out, mut threads) = (0, 0, 0);
    for (process, of) in by_process {
        threads += of.len();
        let folded = fold(&timeline.scene(process, seen)?, &of, start, end, go_on)?;
        calls += folded.calls;
        left_out += folded.left_out;
        for (byte, count) in folded.outcomes.iter().enumerate().filter(|(_, count)| **count > 0) {
            endings.add(byte as u8, *count);
        }
        for (index, it) in (0..).map(FunctionIndex).zip(&folded.functions).filter(|(_, it)| it.calls > 0) {
            let name = timeline.names.of_function(process, index);
            functions.push((it.self_ns, json!([name, it.calls, it.self_ns, it.total_ns, it.longest_ns])));
        }
        left_out += put_nodes(timeline, process, &folded, &mut nodes);
    }
    let own_ns = functions.iter().fold(0_u64, |sum, (own, _)| sum.saturating_add(*own));
    functions.sort_by_key(|(own, _)| std::cmp::Reverse(*own));
    let distinct = functions.len();
    let functions: Vec<Value> = functions.into_iter().take(MOST_FUNCTIONS).map(|(_, it)| it).collect();
    Ok(json!({
        "calls": calls,
        "threads": threads,
        "own_ns": own_ns,
        "distinct_functions": distinct,
        "functions": functions,
        "endings": endings.to_json(),
        "nodes": nodes,
        "left_out": left_out,
    }))
}

/// Adds the nodes with the most time, callers before those they call: name, the caller's index, calls, total, own.
fn put_nodes(timeline: &Timeline, process: usize, folded: &Folded, nodes: &mut Vec<Value>) -> u64 {
    let mut totals: Vec<u64> = folded.nodes.iter().map(|node| node.total_ns).collect();
    totals.sort_unstable_by_key(|&it| std::cmp::Reverse(it));
    let least = totals.get(MOST_NODES).copied().map_or(0, |it| it + 1);
    let mut indexes: Vec<Option<usize>> = vec![None; folded.nodes.len()];
    let mut left_out = 0;
    for (number, node) in folded.nodes.iter().enumerate() {
        let parent = node.parent.map(|parent| indexes[parent as usize]);
        // A caller has at least the time of what it calls, so that its index is known.
        if node.total_ns < least || parent == Some(None) {
            left_out += node.calls;
            continue;
        }
        indexes[number] = Some(nodes.len());
        let name = timeline.names.of_function(process, node.function);
        nodes.push(json!([name, parent.flatten(), node.calls, node.total_ns, node.self_ns]));
    }
    left_out
}
