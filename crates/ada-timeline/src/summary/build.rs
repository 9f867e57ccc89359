//! Makes a thread's summary in one pass over its spans.

use ada_event::TraceNanos;
use ada_span::table::{Column, Columns, Tables};
use ada_span::{SpanError, ThreadIndex};

use super::cell::Cell;
use crate::item::{Item, LAST_ROW};
use crate::lens_rows::LensRows;

/// How much longer a level's stretches are than those of the one below.
pub(super) const FACTOR: u64 = 4;
/// Levels that there can be: the longest stretch is longer than any trace.
const LEVELS: usize = 24;
/// Stretches that a thread has in any case: the whole run is a view, and a screen is not wider.
const FEWEST: u64 = 2048;
/// The finest level has an item for so many spans, or fewer; one that has more is given up for the next one.
const SPANS_PER_ITEM: u64 = 8;
/// Items that a thread may have in any case.
const FEWEST_ITEMS: u64 = 65_536;

/// A thread's summary.
#[derive(Debug, Default)]
pub(super) struct ThreadSummary {
    pub(super) levels: Vec<Level>,
}

/// A level: items by row.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// How long a stretch is.
    pub(super) width: u64,
    pub(super) rows: Vec<Vec<Item>>,
}

struct Building {
    origin: TraceNanos,
    levels: Vec<Level>,
    /// What each level has in hand, by row.
    cells: Vec<Vec<Option<Cell>>>,
    /// Levels below this were given up.
    finest: usize,
    items: u64,
    /// So many items are too many for the finest level …
    most: u64,
    /// … unless the next one's stretches would be longer than this.
    longest: u64,
}

/// Sums up a thread, or what a lens shows of it.
pub(super) fn build(
    tables: &Tables,
    thread: ThreadIndex,
    lens: Option<&LensRows>,
    progress: &dyn Fn(u64),
) -> Result<ThreadSummary, SpanError> {
    let entry = &tables.meta().threads[thread.as_usize()];
    let mut building = Building::new(entry.facts.first_time, entry.facts.last_time, entry.spans);
    let mut columns = Columns::new();
    let wanted = |it: Column| {
        matches!(
            it,
            Column::OpenSeq | Column::Start | Column::Duration | Column::Function | Column::Depth | Column::Outcome
        )
    };
    for block in tables.blocks_of(thread) {
        tables.read(block, wanted, &mut columns)?;
        for row in 0..columns.rows() {
            let item = Item {
                start: columns.start(row),
                duration: columns.at(Column::Duration, row),
                seq: columns.seq(row).0,
                function: columns.function(row),
                count: 1,
                outcome: columns.at(Column::Outcome, row) as u8,
            };
            let at = match lens {
                None => Some(columns.at(Column::Depth, row).min(LAST_ROW.into()) as u32),
                Some(lens) => lens.row(block, row, item.function),
            };
            if let Some(at) = at {
                building.add(0, at as usize, item);
            }
        }
        progress(columns.rows() as u64);
    }
    Ok(building.finish())
}

impl Building {
    fn new(first: TraceNanos, last: TraceNanos, spans: u64) -> Self {
        let length = last.since(first);
        let longest = length / FEWEST + 1;
        // So that the level with the fewest stretches has no more than it must.
        let mut width = longest;
        while width >= FACTOR && width > length / (spans / SPANS_PER_ITEM).max(FEWEST) {
            width /= FACTOR;
        }
        let mut levels = Vec::new();
        while levels.len() < LEVELS {
            levels.push(Level { width, rows: Vec::new() });
            if width > length {
                break;
            }
            width = width.saturating_mul(FACTOR);
        }
        Self {
            origin: first,
            cells: levels.iter().map(|_| Vec::new()).collect(),
            levels,
            finest: 0,
            items: 0,
            most: (spans / SPANS_PER_ITEM).max(FEWEST_ITEMS),
            longest,
        }
    }

    #[inline]
    fn add(&mut self, level: usize, row: usize, item: Item) {
        let bucket = item.start.since(self.origin) / self.levels[level].width;
        let cells = &mut self.cells[level];
        if cells.len() <= row {
            cells.resize(row + 1, None);
        }
        match &mut cells[row] {
            Some(cell) if cell.bucket == bucket => cell.add(item),
            cell => {
                if let Some(full) = cell.replace(Cell::new(bucket, item)) {
                    self.put(level, row, &full);
                }
            }
        }
    }

    fn put(&mut self, level: usize, row: usize, cell: &Cell) {
        for item in cell.items() {
            if level + 1 < self.levels.len() {
                self.add(level + 1, row, item);
            }
            if level < self.finest {
                continue;
            }
            let rows = &mut self.levels[level].rows;
            if rows.len() <= row {
                rows.resize_with(row + 1, Vec::new);
            }
            rows[row].push(item);
            if level == self.finest {
                self.items += 1;
            }
        }
        let coarser = self.levels.get(self.finest + 1).map(|level| level.width);
        if self.items > self.most && coarser.is_some_and(|width| width <= self.longest) {
            self.levels[self.finest].rows = Vec::new();
            self.finest += 1;
            self.items = self.levels[self.finest].rows.iter().map(|row| row.len() as u64).sum();
        }
    }

    fn finish(mut self) -> ThreadSummary {
        for level in 0..self.levels.len() {
            for row in 0..self.cells[level].len() {
                if let Some(cell) = self.cells[level][row].take() {
                    self.put(level, row, &cell);
                }
            }
        }
        let finest = self.finest;
        ThreadSummary { levels: self.levels.split_off(finest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::is_odd;
    use crate::range::Range;
    use ada_span::table::FunctionIndex;
    use ada_span::{Outcome, Reason, Status};
    use proptest::prelude::*;

    /// Spans of one row, one after the other: durations and gaps, some odd.
    fn any_spans() -> impl Strategy<Value = Vec<Item>> {
        let span = (0_u64..50, prop_oneof![10 => 0_u64..60, 1 => 60_u64..5000], prop::bool::weighted(0.02));
        prop::collection::vec(span, 1..600).prop_map(|spans| {
            let mut time = 1000;
            let odd = Outcome::new(Status::Unmatched, Reason::Exception).to_byte();
            let make = |(seq, (gap, duration, is_odd)): (u64, (u64, u64, bool))| {
                let start = time + gap;
                time = start + duration;
                Item {
                    start: TraceNanos(start),
                    duration,
                    seq,
                    function: FunctionIndex(0),
                    count: 1,
                    outcome: if is_odd { odd } else { 0 },
                }
            };
            (0..).zip(spans).map(make).collect()
        })
    }

    proptest! {
        /// For any pixels that are not shorter than a level's stretches: what is the longest of a pixel is there, or
        /// hidden by a longer one of the same stretch, which begins less than a pixel away.
        #[test]
        fn only_a_longer_one_less_than_a_pixel_away_hides_the_longest(spans in any_spans(), width in 1_u64..200) {
            let (first, last) = (spans[0].start, spans[spans.len() - 1].end());
            let mut building = Building::new(first, last, spans.len() as u64 * 40);
            spans.iter().for_each(|span| building.add(0, 3, *span));
            let summary = building.finish();
            let range = Range { start: first, end: last.saturating_add(1), width };
            let grid = range.grid();
            for level in &summary.levels {
                let items = &level.rows[3];
                prop_assert_eq!(items.iter().map(|it| it.count as usize).sum::<usize>(), spans.len());
                prop_assert!(items.is_sorted_by_key(|it| it.start));
                if level.width > range.pixel() {
                    continue;
                }
                for wants_odd in [false, true] {
                    for pixel in 0..width {
                        let here = spans.iter().filter(|it| grid.column(it.start) == pixel);
                        let wanted = here.filter(|it| !wants_odd || is_odd(it.outcome));
                        let Some(longest) = wanted.max_by_key(|it| it.duration) else { continue };
                        let hides = |it: &&Item| {
                            (!wants_odd || is_odd(it.outcome))
                                && it.duration >= longest.duration
                                && it.start.0.abs_diff(longest.start.0) < range.pixel()
                        };
                        prop_assert!(items.iter().any(|it| hides(&it)), "{:?} in {}", longest, pixel);
                    }
                }
            }
        }
    }

    #[test]
    fn dense_rows_give_up_fine_levels_but_never_those_of_a_screen() {
        let (length, spans) = (800_000, 200_000);
        let mut building = Building::new(TraceNanos(0), TraceNanos(length), spans);
        for at in 0..spans {
            let item = Item {
                start: TraceNanos(at * 4),
                duration: 3,
                seq: at,
                function: FunctionIndex(0),
                count: 1,
                outcome: 0,
            };
            // So many rows that even the fewest stretches have more items than there should be.
            (0..40).for_each(|row| building.add(0, row, item));
        }
        let summary = building.finish();
        let finest = summary.levels[0].width;
        assert!(finest <= length / FEWEST + 1 && finest > length / FEWEST / FACTOR, "{finest}");
    }
}
