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
    /// The time that is painted: from the first of those that it stands for …
    pub from: u64,
    /// … to the end of the last.
    pub until: u64,
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
    items: Vec<Drawn>,
    pixels: u64,
}

/// An item and the time that it is painted over.
#[derive(Clone, Copy)]
struct Drawn {
    item: Item,
    from: u64,
    until: u64,
}

impl Drawn {
    fn alone(item: Item) -> Self {
        Self { item, from: item.start, until: item.end() }
    }
}

/// At most `most` shapes, as long as there are fewer rows than a third of that. Calls narrower than a pixel are drawn
/// as the longest of it, and the longest odd one beside; only rows with too many get places of several pixels.
pub fn fit(rows: Vec<(u32, Row)>, range: Range, most: usize) -> Picture {
    let mut fitted: Vec<Fitted> = rows
        .into_iter()
        .map(|(track, row)| {
            let items = row.items.into_iter().map(Drawn::alone).collect();
            Fitted { track, row: row.row, items: merged(items, range, 1), pixels: 1 }
        })
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
        items.into_iter().map(move |it| Shape { track, row, item: it.item, from: it.from, until: it.until })
    });
    Picture { shapes: shapes.collect() }
}

/// Puts together what begins in the same place and is narrower than it.
fn merged(items: Vec<Drawn>, range: Range, pixels: u64) -> Vec<Drawn> {
    let width = range.pixel.max(1).saturating_mul(pixels);
    let mut out: Vec<Drawn> = Vec::new();
    let mut place: Option<Place> = None;
    for it in items {
        let number = it.from.saturating_sub(range.start) / width;
        // One that reaches into the view from before is drawn from its edge on.
        let visible = it.item.end().saturating_sub(it.item.start.max(range.start));
        if visible >= width && it.item.count == 1 {
            out.extend(place.take().into_iter().flat_map(Place::drawn));
            out.push(it);
            continue;
        }
        match &mut place {
            Some(open) if open.number == number => open.add(it),
            open => {
                let closed = open.replace(Place::new(number, it));
                out.extend(closed.into_iter().flat_map(Place::drawn));
            }
        }
    }
    out.extend(place.into_iter().flat_map(Place::drawn));
    out
}

struct Place {
    number: u64,
    longest: Drawn,
    odd: Option<Drawn>,
    count: u32,
}

impl Place {
    fn new(number: u64, it: Drawn) -> Self {
        Self { number, longest: it, odd: is_odd(it.item.outcome).then_some(it), count: it.item.count }
    }

    fn add(&mut self, it: Drawn) {
        self.count = self.count.saturating_add(it.item.count);
        if is_odd(it.item.outcome) && self.odd.is_none_or(|odd| it.item.is_before(&odd.item)) {
            self.odd = Some(it);
        }
        let (from, until) = (self.longest.from.min(it.from), self.longest.until.max(it.until));
        if it.item.is_before(&self.longest.item) {
            self.longest = it;
        }
        (self.longest.from, self.longest.until) = (from, until);
    }

    fn drawn(self) -> impl Iterator<Item = Drawn> {
        let odd = self.odd.filter(|odd| odd.item.seq != self.longest.item.seq);
        let odd = odd.map(|odd| Drawn::alone(Item { count: 1, ..odd.item }));
        let left = self.count.saturating_sub(odd.is_some().into()).max(1);
        std::iter::once(Drawn { item: Item { count: left, ..self.longest.item }, ..self.longest }).chain(odd)
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
        // What is put together is painted as one: a busy row has no gaps.
        let busy: Vec<&Shape> = picture.shapes.iter().filter(|it| it.row == 7).collect();
        assert_eq!((busy[0].from, busy[busy.len() - 1].until), (0, 99_999));
        assert!(busy.windows(2).all(|it| it[1].from - it[0].until == 1), "{:?}", &busy[..3]);
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
