//! A picture of tracks, as the page reads it: numbers column after column.
//!
//! | bytes | |
//! | --- | --- |
//! | 4 | how many shapes, `n` |
//! | 4 | how many strips, `s` |
//! | 4 | how many columns the strips have together, `c` |
//! | 4 | how many pixels it is wide |
//! | 8 × n | start, nanoseconds since the session's: a double |
//! | 8 × n | duration: a double |
//! | 8 × n | the span's number on its track: a double |
//! | 8 × n | where painting begins: a double |
//! | 8 × n | how much is painted: a double |
//! | 4 × n | the name's number |
//! | 4 × n | how many spans it stands for |
//! | 4 × n | the track |
//! | 4 × n | row, outcome and kind: 16, 8 and 8 bits from the lowest |
//! | 4 × s | the strip's track |
//! | 4 × s | its row and kind, as above |
//! | 4 × s | its first pixel |
//! | 4 × s | its columns |
//! | 4 × c | the name's number of the longest call that touches the pixel; all bits set in a gap |
//! | 4 × c | its duration: a float |
//! | 4 × c | how many calls begin there |
//! | 1 × c | how it ended |
//! | 1 × c | how the longest odd one ended; 0 where there is none |

use ada_format::parallel::in_parallel;
use ada_span::table::FunctionIndex;
use ada_timeline::{Picture, Range, Row, Shape, StripColumn, fit};

use super::page_lens::Seen;
use super::shape_kind::ShapeKind;
use super::timeline::Timeline;
use super::track::TrackKind;

/// Shapes of one picture, a strip being one.
pub(super) const MOST_SHAPES: usize = 20_000;
/// Rows of one picture: with more, there would not be one shape for each.
const MOST_ROWS: u32 = 3_000;
/// Pixels of one picture, and of one of its rows: with more, it is drawn with fewer.
const MOST_PIXELS: u64 = 8_000_000;
const MOST_WIDTH: u64 = 20_000;
/// Calls that are looked at one by one for a picture; with more, summaries are.
const MOST_SPANS: u64 = 1_000_000;

/// Which rows of which track are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) track: usize,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// `12:0-39,13:0-3`: tracks and rows.
pub(super) fn parse_wanted(text: &str, timeline: &Timeline) -> Option<Vec<Wanted>> {
    let mut rows = 0;
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (track, range) = part.split_once(':')?;
        let (first, last) = range.split_once('-')?;
        let wanted = Wanted { track: track.parse().ok()?, first: first.parse().ok()?, last: last.parse().ok()? };
        if wanted.last < wanted.first || wanted.track >= timeline.tracks.len() {
            return None;
        }
        let last = wanted.last.min(ada_timeline::LAST_ROW);
        rows += last.saturating_sub(wanted.first) + 1;
        all.push(Wanted { last, ..wanted });
    }
    (rows <= MOST_ROWS).then_some(all)
}

/// Draws.
pub(super) fn answer(timeline: &Timeline, wanted: &[Wanted], mut range: Range, seen: Seen) -> anyhow::Result<Vec<u8>> {
    let rows: u64 = wanted.iter().map(|it| u64::from(it.last.saturating_sub(it.first)) + 1).sum();
    range.width = range.width.clamp(1, (MOST_PIXELS / rows.max(1)).clamp(1, MOST_WIDTH));
    let spans: u64 = wanted.iter().map(|it| timeline.spans_between(it.track, range)).sum();
    // What all tracks may take together, or else each the same part of it.
    let each = if spans <= MOST_SPANS { MOST_SPANS } else { MOST_SPANS / wanted.len().max(1) as u64 };
    let looked = in_parallel(wanted.len(), |at| {
        let it = &wanted[at];
        timeline.look(it.track, range, (it.first, it.last), each, seen)
    });
    // Kinds are drawn apart, so that a running part does not hide the span that it is of.
    let mut rows: Vec<(u32, Row)> = Vec::new();
    let mut kinds: Vec<(usize, ShapeKind)> = Vec::new();
    for (it, looked) in wanted.iter().zip(looked) {
        for (kind, row) in looked? {
            rows.push((kinds.len() as u32, row));
            kinds.push((it.track, kind));
        }
    }
    let picture = fit(&rows, range, MOST_SHAPES);
    Ok(Encoder { timeline, kinds: &kinds, out: Vec::new() }.encode(&picture, range.width))
}

struct Encoder<'a> {
    timeline: &'a Timeline,
    /// Track and kind behind the numbers that rows were drawn under.
    kinds: &'a [(usize, ShapeKind)],
    out: Vec<u8>,
}

impl Encoder<'_> {
    fn encode(mut self, picture: &Picture, width: u64) -> Vec<u8> {
        let (shapes, strips) = (&picture.shapes, &picture.strips);
        let columns: usize = strips.iter().map(|it| it.columns.len()).sum();
        self.out.reserve(16 + shapes.len() * 56 + strips.len() * 16 + columns * 14);
        self.numbers([shapes.len() as u32, strips.len() as u32, columns as u32, width as u32].iter(), |it| *it);
        let start = self.timeline.start;
        // A start before the session's (a thread that was made earlier) is drawn from there.
        self.doubles(shapes, |it| it.item.start.since(start));
        self.doubles(shapes, |it| it.item.duration);
        self.doubles(shapes, |it| it.item.seq);
        self.doubles(shapes, |it| it.from.since(start));
        self.doubles(shapes, |it| it.until.since(it.from.max(start)));
        let (timeline, kinds) = (self.timeline, self.kinds);
        let name = |number: u32, function: FunctionIndex| name(timeline, kinds[number as usize], function);
        let track = |number: u32| kinds[number as usize].0 as u32;
        let packed = |number: u32, row: u32, outcome: u8| {
            row | u32::from(outcome) << 16 | u32::from(kinds[number as usize].1 as u8) << 24
        };
        self.numbers(shapes.iter(), |it| name(it.track, it.item.function));
        self.numbers(shapes.iter(), |it| it.item.count);
        self.numbers(shapes.iter(), |it| track(it.track));
        self.numbers(shapes.iter(), |it| packed(it.track, it.row, it.item.outcome));
        self.numbers(strips.iter(), |it| track(it.track));
        self.numbers(strips.iter(), |it| packed(it.track, it.row, 0));
        self.numbers(strips.iter(), |it| it.first as u32);
        self.numbers(strips.iter(), |it| it.columns.len() as u32);
        for strip in strips {
            let number = |it: &StripColumn| it.longest().map_or(u32::MAX, |it| name(strip.track, it.function));
            self.numbers(strip.columns.iter(), number);
        }
        let columns = || strips.iter().flat_map(|it| &it.columns);
        self.numbers(columns(), |it| it.longest().map_or(0.0, |it| it.duration as f32).to_bits());
        self.numbers(columns(), |it| it.count);
        self.out.extend(columns().map(|it| it.longest().map_or(0, |it| it.outcome)));
        self.out.extend(columns().map(|it| it.odd().map_or(0, |(outcome, _)| outcome)));
        self.out
    }

    fn doubles(&mut self, shapes: &[Shape], value: impl Fn(&Shape) -> u64) {
        shapes.iter().for_each(|it| self.out.extend_from_slice(&(value(it) as f64).to_le_bytes()));
    }

    fn numbers<'a, T: 'a>(&mut self, all: impl Iterator<Item = &'a T>, value: impl Fn(&T) -> u32) {
        all.for_each(|it| self.out.extend_from_slice(&value(it).to_le_bytes()));
    }
}

/// The number of a name. Functions of calls are those of their process; other spans have names of their own.
pub(super) fn name(timeline: &Timeline, (track, kind): (usize, ShapeKind), function: FunctionIndex) -> u32 {
    let it = &timeline.tracks[track];
    match (&it.kind, kind) {
        (TrackKind::Thread(_), ShapeKind::Call) => timeline.names.of_function(it.process, function),
        _ => function.0,
    }
}
