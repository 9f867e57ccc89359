//! Views of a thread, by its spans and by its summary, against all of its calls.

use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use ada_timeline::{Blocks, Item, Picture, Range, Scene, Summary, fit, is_odd};

use crate::recorded::{Chance, calls, tables, thread};

/// What a row shows of a pixel: durations of calls that begin there as shapes, or of what its columns have.
fn drawn_at(picture: &Picture, row: u32, range: Range, wants_odd: bool) -> Vec<Option<u64>> {
    let grid = range.grid();
    let mut longest: Vec<Option<u64>> = vec![None; range.width as usize];
    let mut put = |pixel: u64, duration: u64| {
        let index = &mut longest[pixel as usize];
        *index = Some(index.map_or(duration, |it| it.max(duration)));
    };
    for shape in picture.shapes.iter().filter(|it| it.row == row && (!wants_odd || is_odd(it.item.outcome))) {
        put(grid.column(shape.item.start), shape.item.duration);
    }
    for strip in picture.strips.iter().filter(|it| it.row == row) {
        for (pixel, column) in (strip.first..).zip(&strip.columns) {
            let duration = if wants_odd { column.odd().map(|it| it.1) } else { column.longest().map(|it| it.duration) };
            duration.into_iter().for_each(|duration| put(pixel, duration));
        }
    }
    longest
}

/// The longest call of each pixel of a row.
fn expected(all: &[(u32, Item)], row: u32, range: Range, wants_odd: bool) -> Vec<Option<Item>> {
    let grid = range.grid();
    let mut longest: Vec<Option<Item>> = vec![None; range.width as usize];
    for (_, item) in all.iter().filter(|(depth, item)| {
        *depth == row && item.start >= range.start && item.start < range.end && (!wants_odd || is_odd(item.outcome))
    }) {
        let index = &mut longest[grid.column(item.start) as usize];
        if index.is_none_or(|it| it.duration < item.duration) {
            *index = Some(*item);
        }
    }
    longest
}

#[test]
fn every_view_shows_the_longest_call_of_each_pixel() {
    let (_folder, tables) = tables(vec![thread(7, 300_000)]);
    let summary = Summary::of(&tables, &|_| ()).unwrap();
    let blocks = Blocks::default();
    let scene = Scene { tables: &tables, summary: &summary, blocks: &blocks, lens: None };
    let all = calls(&tables, ThreadIndex(0));
    let (first, last) = (all[0].1.start, all[0].1.start.max(all[all.len() - 1].1.end()));
    let mut chance = Chance(99);
    let (mut seen, mut odd, mut strips) = (0, 0, 0);
    for view in 0..60 {
        let width = 50 + chance.below(900);
        // The summary has more than two thousand stretches: wider pixels than this are made of whole ones.
        let length = (last - first) / (1 << (view % 12));
        let start = first.saturating_add(chance.below(last - first - length + 1));
        let range = Range { start, end: start.saturating_add(length.max(1)), width };
        let spans = scene.spans_between(ThreadIndex(0), range.start, range.end);
        for most_spans in [u64::MAX, 0] {
            let by_summary = most_spans == 0 && spans > 0;
            let rows = scene.rows(ThreadIndex(0), range, (0, 255), most_spans).unwrap();
            let rows: Vec<_> = rows.into_iter().map(|row| (0, row)).collect();
            let picture = fit(&rows, range, 300);
            assert!(picture.shapes.len() + picture.strips.len() <= 300);
            strips += picture.strips.len();
            for row in 0..12 {
                for wants_odd in [false, true] {
                    let drawn = drawn_at(&picture, row, range, wants_odd);
                    // Exactly, or hidden by a longer one of the same stretch: in the next pixel, or, where no level is
                    // fine enough, as many pixels away as a stretch has. What lies beyond the view's edge can hide
                    // too; the page asks for more than it shows.
                    let stretch = (last - first) / 2048 + 1;
                    let away = if by_summary { 1 + (stretch / range.pixel()) as usize } else { 0 };
                    let pixels = away..drawn.len().saturating_sub(away);
                    for (pixel, item) in expected(&all, row, range, wants_odd).iter().enumerate() {
                        let Some(item) = item.filter(|_| pixels.contains(&pixel)) else { continue };
                        seen += 1;
                        odd += usize::from(wants_odd);
                        let near = &drawn[pixel - away..=pixel + away];
                        let is_shown = near.iter().any(|it| it.is_some_and(|it| it >= item.duration));
                        assert!(is_shown, "view {view} row {row} pixel {pixel}: {item:?} in {near:?}");
                    }
                }
            }
        }
    }
    assert!(seen > 50_000 && odd > 500 && strips > 100, "{seen} {odd} {strips}");
}

#[test]
fn the_first_call_of_a_function_is_found_among_so_many() {
    let (_folder, tables) = tables(vec![thread(3, 20_000)]);
    let summary = Summary::of(&tables, &|_| ()).unwrap();
    let blocks = Blocks::default();
    let scene = Scene { tables: &tables, summary: &summary, blocks: &blocks, lens: None };
    let all = calls(&tables, ThreadIndex(0));
    let last = all[all.len() - 1].1.function;
    let index = all.iter().position(|(_, it)| it.function == last).unwrap() as u64;
    let found = scene.first_of(ThreadIndex(0), last, u64::MAX).unwrap();
    assert_eq!(found.map(|it| it.seq), Some(all[index as usize].1.seq));
    assert_eq!(scene.first_of(ThreadIndex(0), last, index + 1).unwrap(), found);
    assert_eq!(scene.first_of(ThreadIndex(0), last, index).unwrap(), None);
    assert_eq!(scene.first_of(ThreadIndex(0), FunctionIndex(u32::MAX), u64::MAX).unwrap(), None);
}

#[test]
fn the_innermost_call_of_a_moment_is_found() {
    let (_folder, tables) = tables(vec![thread(3, 20_000)]);
    let summary = Summary::of(&tables, &|_| ()).unwrap();
    let blocks = Blocks::default();
    let scene = Scene { tables: &tables, summary: &summary, blocks: &blocks, lens: None };
    let all = calls(&tables, ThreadIndex(0));
    for at in (0..all.len()).step_by(97) {
        let time = all[at].1.start.saturating_add(1);
        let open = all.iter().filter(|(_, it)| it.start < time && it.end() > time);
        let innermost = open.max_by_key(|(depth, _)| *depth).map(|(_, it)| it.seq);
        assert_eq!(scene.innermost(ThreadIndex(0), time).unwrap().map(|it| it.seq), innermost);
    }
}
