//! What is seen where only some functions are shown, against all calls and who called them.

use std::collections::HashMap;

use ada_event::{EventSeq, TraceNanos};
use ada_span::ThreadIndex;
use ada_span::table::Tables;
use ada_timeline::{Blocks, Item, LensRows, Range, Scene, Summary, ThreadRows, fold};

use crate::recorded::{calls, tables, thread};

const THREAD: ThreadIndex = ThreadIndex(0);

/// A call, and how many of those above it are shown.
struct Expected {
    item: Item,
    above: u32,
    /// The function that has its time: the nearest one that is shown, itself or above.
    nearest: Option<usize>,
}

/// Of one stack, whose calls nest by their depths.
fn expected(tables: &Tables, shown: &[bool]) -> Vec<Expected> {
    let mut open: Vec<(u32, u32, Option<usize>)> = Vec::new();
    let mut all = Vec::new();
    for (depth, item) in calls(tables, THREAD) {
        open.retain(|(above, ..)| *above < depth);
        let (above, nearest) = open.last().map_or((0, None), |(_, below, nearest)| (*below, *nearest));
        let function = item.function.as_usize();
        let nearest = if shown[function] { Some(function) } else { nearest };
        open.push((depth, above + u32::from(shown[function]), nearest));
        all.push(Expected { item, above, nearest });
    }
    all
}

fn some_functions(tables: &Tables) -> Vec<bool> {
    (0..tables.meta().functions.len()).map(|index| index % 3 == 0).collect()
}

#[test]
fn calls_move_up_to_whoever_is_shown_above_them() {
    let (_folder, tables) = tables(vec![thread(7, 60_000)]);
    let shown = some_functions(&tables);
    let lens = LensRows::of(&tables, shown.clone(), &|_| ()).unwrap();
    let summary = Summary::through(&tables, &lens, &|_| ()).unwrap();
    let blocks = Blocks::default();
    let scene = Scene { tables: &tables, summary: &summary, blocks: &blocks, lens: Some(&lens) };
    let all = expected(&tables, &shown);
    let is_shown = |it: &&Expected| shown[it.item.function.as_usize()];
    let mut wanted: Vec<(u32, u64)> = all.iter().filter(is_shown).map(|it| (it.above, it.item.seq)).collect();
    wanted.sort_unstable();
    let whole = Range { start: TraceNanos(0), end: TraceNanos::MAX, width: 1000 };
    let rows = scene.rows(THREAD, whole, (0, 255), u64::MAX).unwrap();
    let found = rows.iter().flat_map(|row| row.items.iter().map(|it| (row.row, it.seq)));
    let mut found: Vec<(u32, u64)> = found.collect();
    found.sort_unstable();
    assert!(found.len() > 5000 && found == wanted, "{} {}", found.len(), wanted.len());
    let deepest = wanted.iter().map(|it| it.0).max().unwrap();
    assert_eq!(lens.of_thread(THREAD), ThreadRows { calls: wanted.len() as u64, rows: deepest + 1 });
    for it in all.iter().step_by(31) {
        let place = scene.place(THREAD, EventSeq(it.item.seq)).unwrap();
        let here =
            if shown[it.item.function.as_usize()] { (it.above, true) } else { (it.above.saturating_sub(1), false) };
        assert_eq!(place, Some(here));
    }
    // From afar too: each row's longest calls are there, and nothing that is hidden.
    for row in scene.rows(THREAD, whole, (0, 255), 0).unwrap() {
        let of_row = all.iter().filter(is_shown).filter(|it| it.above == row.row);
        let longest = of_row.max_by_key(|it| it.item.duration).unwrap();
        assert_eq!(row.items.iter().map(|it| it.duration).max(), Some(longest.item.duration));
        assert!(row.items.iter().all(|it| shown[it.function.as_usize()]));
    }
    // A view that begins in the middle has what is open there.
    for at in (0..all.len()).step_by(997) {
        let start = all[at].item.start.saturating_add(1);
        let view = Range { start, end: start.saturating_add(1), width: 1 };
        let open = all.iter().filter(is_shown).filter(|it| it.item.start < start && it.item.end() > start);
        let open: Vec<u64> = open.map(|it| it.item.seq).collect();
        let rows = scene.rows(THREAD, view, (0, 255), u64::MAX).unwrap();
        let mut seen: Vec<u64> = rows.iter().flat_map(|row| &row.items).map(|it| it.seq).collect();
        seen.sort_unstable();
        assert_eq!(seen, open);
    }
}

#[test]
fn time_in_what_is_hidden_belongs_to_whoever_is_shown_above() {
    let (_folder, tables) = tables(vec![thread(11, 20_000)]);
    let shown = some_functions(&tables);
    let lens = LensRows::of(&tables, shown.clone(), &|_| ()).unwrap();
    let all = expected(&tables, &shown);
    let ends: HashMap<u64, u64> = all.iter().map(|it| (it.item.seq, it.item.duration)).collect();
    assert_eq!(ends.len(), all.len());
    // What a call took without those that it called itself.
    let mut own: Vec<u64> = all.iter().map(|it| it.item.duration).collect();
    let mut open: Vec<(usize, TraceNanos)> = Vec::new();
    for (index, it) in all.iter().enumerate() {
        open.retain(|(_, end)| *end > it.item.start);
        if let Some((above, _)) = open.last() {
            own[*above] -= it.item.duration;
        }
        open.push((index, it.item.end()));
    }
    let mut wanted = vec![0; shown.len()];
    for (it, own) in all.iter().zip(&own) {
        if let Some(function) = it.nearest {
            wanted[function] += own;
        }
    }
    assert_eq!(lens.charged(), wanted);
    // A selection of everything says the same.
    let summary = Summary::through(&tables, &lens, &|_| ()).unwrap();
    let scene = Scene { tables: &tables, summary: &summary, blocks: &Blocks::default(), lens: Some(&lens) };
    let folded = fold(&scene, &[THREAD], TraceNanos(0), TraceNanos::MAX, &|| true).unwrap();
    let selves: Vec<u64> = folded.functions.iter().map(|it| it.self_ns).collect();
    assert_eq!(selves, wanted);
}
