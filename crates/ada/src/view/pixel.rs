//! What a pixel of a strip stands for: asked when somebody points at it.

use ada_timeline::{Item, Range, is_odd};
use serde_json::{Value, json};

use super::page_lens::Seen;
use super::picture;
use super::shape_kind::ShapeKind;
use super::timeline::Timeline;

/// Calls that are looked at one by one for it.
const MOST_SPANS: u64 = 300_000;

/// The longest span of a row that touches a stretch, and the longest odd one.
pub(super) fn answer(
    timeline: &Timeline,
    (track, row, kind): (usize, u32, u8),
    range: Range,
    seen: Seen,
) -> anyhow::Result<Value> {
    let rows = timeline.look(track, range, (row, row), MOST_SPANS, seen)?;
    let here =
        rows.iter().filter(|(of, _)| *of as u8 == kind).flat_map(|(of, row)| row.items.iter().map(|it| (*of, it)));
    let touches = |it: &Item| it.start < range.end && (it.end() > range.start || it.start >= range.start);
    let all: Vec<(ShapeKind, &Item)> = here.filter(|(_, it)| touches(it)).collect();
    let count: u64 = all.iter().map(|(_, it)| u64::from(it.count)).sum();
    let longest = all.iter().max_by_key(|(_, it)| it.duration);
    let odd = all.iter().filter(|(_, it)| is_odd(it.outcome)).max_by_key(|(_, it)| it.duration);
    let describe = |(of, it): &(ShapeKind, &Item)| {
        json!({
            "start": it.start.since(timeline.start),
            "duration": it.duration,
            "seq": it.seq,
            "name": picture::name(timeline, (track, *of), it.function),
            "outcome": it.outcome,
        })
    };
    Ok(json!({ "longest": longest.map(describe), "odd": odd.map(describe), "spans": count }))
}
