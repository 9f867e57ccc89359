//! Makes a bounded number of shapes of what a view has.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::item::{Item, is_odd};
use crate::scene::{Range, Row};

/// Something that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whose row.
    pub track: u32,
    /// Which row.
    pub row: u32,
    /// The span, which may stand for shorter ones near it.
    pub item: Item,
}

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The shapes, by track, row and start.
    pub shapes: Vec<Shape>,
}

/// One row, drawn with so many pixels for each place.
struct Fitted {
    track: u32,
    row: u32,
    items: Vec<Item>,
    pixels: u64,
}

/// At most `most` shapes, as long as there are fewer rows than a third of that. Calls narrower than a pixel are drawn
/// as the longest of it, and the longest odd one beside; only rows with too many get places of several pixels.
pub fn fit(rows: Vec<(u32, Row)>, range: Range, most: usize) -> Picture {
    let mut fitted: Vec<Fitted> = rows
        .into_iter()
        .map(|(track, row)| Fitted { track, row: row.row, items: merged(row.items, range, 1), pixels: 1 })
        .collect();
    let mut total: usize = fitted.iter().map(|row| row.items.len()).sum();
    let mut largest: BinaryHeap<(usize, Reverse<usize>)> =
        fitted.iter().enumerate().map(|(place, row)| (row.items.len(), Reverse(place))).collect();
    let width = range.end.saturating_sub(range.start) / range.pixel.max(1) + 1;
    while total > most
        && let Some((count, Reverse(place))) = largest.pop()
    {
        let row = &mut fitted[place];
        if row.pixels > 2 * width {
            // Nothing more can be put together here.
            continue;
        }
        row.pixels *= 2;
        row.items = merged(std::mem::take(&mut row.items), range, row.pixels);
        total = total - count + row.items.len();
        largest.push((row.items.len(), Reverse(place)));
    }
    let shapes = fitted.into_iter().flat_map(|row| {
        let Fitted { track, row, items, .. } = row;
        items.into_iter().map(move |item| Shape { track, row, item })
    });
    Picture { shapes: shapes.collect() }
}

/// Puts together what begins in the same place and is narrower than it.
fn merged(items: Vec<Item>, range: Range, pixels: u64) -> Vec<Item> {
    let width = range.pixel.max(1).saturating_mul(pixels);
    let mut out: Vec<Item> = Vec::new();
    let mut place: Option<Place> = None;
    for item in items {
        let number = item.start.saturating_sub(range.start) / width;
        // One that reaches into the view from before is drawn from its edge on.
        let visible = item.end().saturating_sub(item.start.max(range.start));
        if visible >= width && item.count == 1 {
            out.extend(place.take().into_iter().flat_map(Place::items));
            out.push(item);
            continue;
        }
        match &mut place {
            Some(open) if open.number == number => open.add(item),
            open => {
                let closed = open.replace(Place::new(number, item));
                out.extend(closed.into_iter().flat_map(Place::items));
            }
        }
    }
    out.extend(place.into_iter().flat_map(Place::items));
    out
}

struct Place {
    number: u64,
    longest: Item,
    odd: Option<Item>,
    count: u32,
}

impl Place {
    fn new(number: u64, item: Item) -> Self {
        Self { number, longest: item, odd: is_odd(item.outcome).then_some(item), count: item.count }
    }

    fn add(&mut self, item: Item) {
        self.count = self.count.saturating_add(item.count);
        if is_odd(item.outcome) && self.odd.is_none_or(|odd| item.is_before(&odd)) {
            self.odd = Some(item);
        }
        if item.is_before(&self.longest) {
            self.longest = item;
        }
    }

    fn items(self) -> impl Iterator<Item = Item> {
        let odd = self.odd.filter(|odd| odd.seq != self.longest.seq).map(|odd| Item { count: 1, ..odd });
        let left = self.count.saturating_sub(odd.is_some().into()).max(1);
        std::iter::once(Item { count: left, ..self.longest }).chain(odd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_span::{Outcome, Reason, Status};

    const VIEW: Range = Range { start: 0, end: 100_000, pixel: 100 };

    fn item(start: u64, duration: u64) -> Item {
        Item { start, duration, seq: start, function: 0, count: 1, outcome: 0 }
    }

    fn row(number: u32, items: Vec<Item>) -> (u32, Row) {
        (0, Row { row: number, items })
    }

    #[test]
    fn the_longest_of_a_pixel_and_the_odd_one_are_drawn() {
        let odd = Outcome::new(Status::Unmatched, Reason::Crash).to_byte();
        let items =
            vec![item(0, 10), item(20, 30), Item { outcome: odd, ..item(60, 1) }, item(100, 99), item(199, 500)];
        let picture = fit(vec![row(3, items)], VIEW, 100);
        let drawn: Vec<(u64, u32)> = picture.shapes.iter().map(|it| (it.item.start, it.item.count)).collect();
        assert_eq!(drawn, [(20, 2), (60, 1), (100, 1), (199, 1)]);
    }

    #[test]
    fn there_never_are_more_shapes_than_allowed_and_every_span_is_counted() {
        let dense = |number: u32| row(number, (0..20_000).map(|at| item(at * 5, 4)).collect());
        let sparse = row(50, (0..100).map(|at| item(at * 1000, 900)).collect());
        let mut rows: Vec<(u32, Row)> = (0..50).map(dense).collect();
        rows.push(sparse);
        let picture = fit(rows, VIEW, 20_000);
        assert!(picture.shapes.len() <= 20_000, "{}", picture.shapes.len());
        let counted: u64 = picture.shapes.iter().map(|it| u64::from(it.item.count)).sum();
        assert_eq!(counted, 50 * 20_000 + 100);
        let of_sparse = picture.shapes.iter().filter(|it| it.row == 50).count();
        assert_eq!(of_sparse, 100, "a row that is no trouble keeps its pixels");
    }

    #[test]
    fn odd_spans_survive_the_tightest_fit() {
        let odd = Outcome::new(Status::Open, Reason::None).to_byte();
        let rows = (0..30).map(|number| {
            let mut items: Vec<Item> = (0..10_000).map(|at| item(at * 10, 9)).collect();
            items[7777].outcome = odd;
            row(number, items)
        });
        let picture = fit(rows.collect(), VIEW, 100);
        assert!(picture.shapes.len() <= 100);
        assert_eq!(picture.shapes.iter().filter(|it| is_odd(it.item.outcome)).count(), 30);
    }
}
