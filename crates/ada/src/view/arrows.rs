//! Arrows from causes to effects.

use std::cmp::Reverse;

use ada_event::TraceNanos;
use serde_json::{Value, json};

use super::page_lens::Seen;
use super::timeline::Timeline;
use super::timeline_link::{LinkEnd, TimelineLink};
use crate::analysis::Reference;

/// Arrows of one answer; the longest waits come first.
const MOST: usize = 300;

/// The arrows that are seen between two moments and have an end on these tracks.
pub(super) fn answer(
    timeline: &Timeline,
    start: TraceNanos,
    end: TraceNanos,
    is_shown: impl Fn(usize) -> bool,
    seen: Seen,
) -> anyhow::Result<Value> {
    let overlaps =
        |link: &&TimelineLink| link.from.time.min(link.to.time) < end && link.from.time.max(link.to.time) > start;
    let mut links: Vec<&TimelineLink> = timeline
        .links
        .iter()
        .filter(overlaps)
        .filter(|link| (is_shown(link.from.track) || is_shown(link.to.track)) && link.from.track != link.to.track)
        .collect();
    let count = links.len();
    links.sort_by_key(|link| (rank(link.kind), Reverse(link.to.time.since(link.from.time))));
    links.truncate(MOST);
    let mut arrows = Vec::new();
    for link in links {
        let scene = |process: usize| timeline.scene(process, seen);
        let (from, to) = (link.from.row(scene)?, link.to.row(scene)?);
        let time = |time: TraceNanos| time.since(timeline.start);
        arrows.push(json!([
            link.kind,
            link.from.track,
            from,
            time(link.from.time),
            link.to.track,
            to,
            time(link.to.time),
            refer(timeline, &link.from),
            refer(timeline, &link.to),
        ]));
    }
    Ok(json!({ "arrows": arrows, "left_out": count - arrows.len() }))
}

/// Callbacks are many and near, and waits may be; whoever created or resumed another is looked for first.
fn rank(kind: &str) -> u8 {
    match kind {
        "callback" => 2,
        "wake" | "hold" => 1,
        _ => 0,
    }
}

fn refer(timeline: &Timeline, end: &LinkEnd) -> String {
    let pid = (timeline.processes.len() > 1).then_some(timeline.processes[end.process].pid);
    Reference { pid, target: end.target }.to_string()
}
