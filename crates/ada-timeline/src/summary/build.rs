//! Makes a thread's summary in one pass over its spans.

use ada_span::SpanError;
use ada_span::table::{Column, Columns, Tables};

use super::cell::Cell;
use crate::item::{Item, LAST_ROW};

/// How much longer a level's stretches are than those of the one below.
pub(super) const FACTOR: u64 = 4;
/// Levels that there can be: the longest stretch is longer than any trace.
const LEVELS: usize = 24;
/// Stretches of the finest level, of all threads of a process together.
const STRETCHES: u64 = 200_000;
/// Stretches that a thread has in any case.
const FEWEST: u64 = 1024;
/// Items of the finest level, of all threads together; beyond, it is given up for the next one.
const MOST_ITEMS: u64 = 4_000_000;
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
    origin: u64,
    levels: Vec<Level>,
    /// What each level has in hand, by row.
    cells: Vec<Vec<Option<Cell>>>,
    /// Levels below this were given up.
    finest: usize,
    items: u64,
    most: u64,
}

/// Sums up a thread, whose process has so many spans.
pub(super) fn build(
    tables: &Tables,
    thread: usize,
    all_spans: u64,
    progress: &dyn Fn(u64),
) -> Result<ThreadSummary, SpanError> {
    let entry = &tables.meta().threads[thread];
    let share = |whole: u64| (u128::from(whole) * u128::from(entry.spans) / u128::from(all_spans.max(1))) as u64;
    let length = entry.facts.last_time.saturating_sub(entry.facts.first_time);
    let mut width = length / share(STRETCHES).max(FEWEST) + 1;
    let mut levels = Vec::new();
    while levels.len() < LEVELS {
        levels.push(Level { width, rows: Vec::new() });
        if width > length {
            break;
        }
        width = width.saturating_mul(FACTOR);
    }
    let mut building = Building {
        origin: entry.facts.first_time,
        cells: levels.iter().map(|_| Vec::new()).collect(),
        levels,
        finest: 0,
        items: 0,
        most: share(MOST_ITEMS).max(FEWEST_ITEMS),
    };
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
                start: columns.at(Column::Start, row),
                duration: columns.at(Column::Duration, row),
                seq: columns.at(Column::OpenSeq, row),
                function: columns.at(Column::Function, row) as u32,
                count: 1,
                outcome: columns.at(Column::Outcome, row) as u8,
            };
            let depth = columns.at(Column::Depth, row).min(LAST_ROW.into()) as usize;
            building.add(0, depth, item);
        }
        progress(columns.rows() as u64);
    }
    Ok(building.finish())
}

impl Building {
    #[inline]
    fn add(&mut self, level: usize, row: usize, item: Item) {
        let bucket = item.start.saturating_sub(self.origin) / self.levels[level].width;
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
        if self.items > self.most && self.finest + 1 < self.levels.len() {
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
