//! A row as a picture: a column for each pixel.
//!
//! A screen has more pixels than a picture may have shapes. A strip is one shape however many calls it shows: of each
//! of its pixels it has the longest call that touches it, and how the longest odd one ended.

use ada_span::table::FunctionIndex;

use crate::item::{Item, is_odd};
use crate::range::Grid;

/// A run of pixels of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strip {
    /// Whose row.
    pub track: u32,
    /// Which row.
    pub row: u32,
    /// The first pixel.
    pub first: u64,
    /// Its columns, from there on.
    pub columns: Vec<StripColumn>,
}

/// A pixel of a row. There are many of them, so that they are small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripColumn {
    duration: u64,
    odd_duration: u64,
    function: FunctionIndex,
    /// How many calls begin in it.
    pub count: u32,
    outcome: u8,
    odd: u8,
}

/// The longest call that touches a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// How long it took.
    pub duration: u64,
    /// The function.
    pub function: FunctionIndex,
    /// [`ada_span::Outcome::to_byte`].
    pub outcome: u8,
}

/// No function has this index.
const NOTHING: FunctionIndex = FunctionIndex(u32::MAX);

impl StripColumn {
    const EMPTY: Self = Self { duration: 0, odd_duration: 0, function: NOTHING, count: 0, outcome: 0, odd: 0 };

    /// The longest call that touches it; none in a gap.
    pub fn longest(&self) -> Option<Longest> {
        let Self { duration, function, outcome, .. } = *self;
        (function != NOTHING).then_some(Longest { duration, function, outcome })
    }

    /// How the longest odd one ended that touches it, and its duration. What returned is not odd, and has the byte 0.
    pub fn odd(&self) -> Option<(u8, u64)> {
        (self.odd != 0).then_some((self.odd, self.odd_duration))
    }

    fn touch(&mut self, item: &Item) {
        if self.function == NOTHING || self.duration < item.duration {
            (self.duration, self.function, self.outcome) = (item.duration, item.function, item.outcome);
        }
        if is_odd(item.outcome) && (self.odd == 0 || self.odd_duration < item.duration) {
            (self.odd, self.odd_duration) = (item.outcome, item.duration);
        }
    }
}

impl Strip {
    pub(crate) fn new(track: u32, row: u32) -> Self {
        Self { track, row, first: 0, columns: Vec::new() }
    }

    /// Paints an item, which begins where the one before did or later.
    pub(crate) fn paint(&mut self, item: &Item, grid: Grid) {
        let (from, to) = grid.columns(item.start, item.end());
        if self.columns.is_empty() {
            self.first = from;
        }
        let from = from.saturating_sub(self.first) as usize;
        let to = (to.saturating_sub(self.first) as usize).max(from);
        if self.columns.len() <= to {
            self.columns.resize(to + 1, StripColumn::EMPTY);
        }
        self.columns[from..=to].iter_mut().for_each(|column| column.touch(item));
        let count = &mut self.columns[from].count;
        *count = count.saturating_add(item.count);
    }
}
