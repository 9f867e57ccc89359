//! A picture of tracks, as the page reads it: numbers column after column.
//!
//! | bytes | |
//! | --- | --- |
//! | 4 | how many shapes, `n` |
//! | 4 | 0 |
//! | 8 × n | start, nanoseconds since the session's: a double |
//! | 8 × n | duration: a double |
//! | 8 × n | the span's number on its track: a double |
//! | 8 × n | where painting begins: a double |
//! | 8 × n | how much is painted: a double |
//! | 4 × n | the name's number |
//! | 4 × n | how many spans it stands for |
//! | 4 × n | the track |
//! | 4 × n | row, outcome and kind: 16, 8 and 8 bits from the lowest |

use ada_timeline::{Range, Row, Shape, fit};

use super::stage::{ShapeKind, Stage, TrackKind};

/// Shapes of one picture.
pub(super) const MOST_SHAPES: usize = 20_000;
/// Rows of one picture: with more, not even one shape for each would be left.
const MOST_ROWS: u32 = 3_000;

/// Which rows of which track are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) track: usize,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// `12:0-39,13:0-3`: tracks and rows.
pub(super) fn parse_wanted(text: &str, stage: &Stage) -> Option<Vec<Wanted>> {
    let mut rows = 0;
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (track, range) = part.split_once(':')?;
        let (first, last) = range.split_once('-')?;
        let wanted = Wanted { track: track.parse().ok()?, first: first.parse().ok()?, last: last.parse().ok()? };
        if wanted.last < wanted.first || wanted.track >= stage.tracks.len() {
            return None;
        }
        let last = wanted.last.min(ada_timeline::LAST_ROW);
        rows += last.saturating_sub(wanted.first) + 1;
        all.push(Wanted { last, ..wanted });
    }
    (rows <= MOST_ROWS).then_some(all)
}

/// Draws.
pub(super) fn answer(stage: &Stage, wanted: &[Wanted], range: Range) -> anyhow::Result<Vec<u8>> {
    // Kinds are drawn apart, so that a running part does not hide the span that it is of.
    let mut rows: Vec<(u32, Row)> = Vec::new();
    let mut kinds: Vec<(usize, ShapeKind)> = Vec::new();
    for it in wanted {
        for (kind, row) in stage.look(it.track, range, it.first, it.last)? {
            rows.push((kinds.len() as u32, row));
            kinds.push((it.track, kind));
        }
    }
    let picture = fit(rows, range, MOST_SHAPES);
    Ok(encode(stage, &picture.shapes, &kinds))
}

fn encode(stage: &Stage, shapes: &[Shape], kinds: &[(usize, ShapeKind)]) -> Vec<u8> {
    let count = shapes.len();
    let mut out = Vec::with_capacity(8 + count * 56);
    out.extend((count as u32).to_le_bytes());
    out.extend([0; 4]);
    let mut doubles = |value: &dyn Fn(&Shape) -> u64| {
        for shape in shapes {
            out.extend((value(shape) as f64).to_le_bytes());
        }
    };
    // A start before the session's (a thread that was made earlier) is drawn from there.
    doubles(&|it| it.item.start.saturating_sub(stage.start));
    doubles(&|it| it.item.duration);
    doubles(&|it| it.item.seq);
    doubles(&|it| it.from.saturating_sub(stage.start));
    doubles(&|it| it.until.saturating_sub(it.from.max(stage.start)));
    let mut numbers = |value: &dyn Fn(&Shape) -> u32| {
        for shape in shapes {
            out.extend(value(shape).to_le_bytes());
        }
    };
    numbers(&|it| {
        let (track, kind) = kinds[it.track as usize];
        match (&stage.tracks[track].kind, kind) {
            (TrackKind::Thread(_), ShapeKind::Call) => {
                stage.names.of_function(stage.tracks[track].process, it.item.function)
            }
            _ => it.item.function,
        }
    });
    numbers(&|it| it.item.count);
    numbers(&|it| kinds[it.track as usize].0 as u32);
    numbers(&|it| it.row | u32::from(it.item.outcome) << 16 | u32::from(kinds[it.track as usize].1 as u8) << 24);
    out
}
