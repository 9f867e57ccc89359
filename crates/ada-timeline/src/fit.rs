//! Makes a bounded number of shapes of what a view has.

use std::cmp::Reverse;

use ada_format::parallel::in_parallel;

use crate::item::Item;
use crate::pixel_group::each_pixel_group;
use crate::range::{Grid, Range};
use crate::scene::Row;
use crate::shape::Shape;
use crate::strip::Strip;

/// A span so many pixels wide has room for a label, and is a shape of its own where others are columns of a strip.
const LABELLED: f64 = 24.0;

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The shapes, by track, row and start.
    pub shapes: Vec<Shape>,
    /// Rows that have too many, likewise.
    pub strips: Vec<Strip>,
}

/// How a row is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A shape for each span; those narrower than a pixel as the longest of it, and the longest odd one beside.
    Shapes,
    /// Strips, and shapes for spans that have room for a label.
    Strips,
    /// One strip.
    Strip,
}

struct Planned {
    way: Way,
    /// How many shapes the first two ways take.
    shapes: usize,
    with_strips: usize,
}

/// At most `most` shapes and strips, as long as there are no more rows than that. Whatever way a row is drawn, the
/// longest call of each pixel is there, and the longest odd one.
pub fn fit(rows: &[(u32, Row)], range: Range, most: usize) -> Picture {
    let grid = range.grid();
    let mut planned = in_parallel(rows.len(), |at| plan(&rows[at].1.items, grid));
    choose(&mut planned, most);
    let drawn = in_parallel(rows.len(), |at| draw(rows[at].0, &rows[at].1, grid, planned[at].way));
    let mut picture = Picture::default();
    for mut of_row in drawn {
        picture.shapes.append(&mut of_row.shapes);
        picture.strips.append(&mut of_row.strips);
    }
    picture
}

fn plan(items: &[Item], grid: Grid) -> Planned {
    let (mut shapes, mut with_strips) = (0, 0);
    each_pixel_group(items, grid, |group| shapes += group.shapes());
    let mut in_strip = false;
    for item in items {
        let is_wide = is_labelled(item, grid);
        with_strips += usize::from(is_wide || !in_strip);
        in_strip = !is_wide;
    }
    Planned { way: Way::Shapes, shapes, with_strips }
}

/// Rows that gain the most become strips first.
fn choose(planned: &mut [Planned], most: usize) {
    let mut total: usize = planned.iter().map(|it| it.shapes).sum();
    let gain = |it: &Planned| it.shapes.saturating_sub(it.with_strips);
    let mut order: Vec<usize> = (0..planned.len()).collect();
    order.sort_by_key(|&at| Reverse(gain(&planned[at])));
    for &at in &order {
        let gain = gain(&planned[at]);
        if total <= most || gain == 0 {
            break;
        }
        planned[at].way = Way::Strips;
        total -= gain;
    }
    let shapes = |it: &Planned| if it.way == Way::Strips { it.with_strips } else { it.shapes };
    order.sort_by_key(|&at| Reverse(shapes(&planned[at])));
    for at in order {
        if total <= most {
            break;
        }
        total -= shapes(&planned[at]).saturating_sub(1);
        planned[at].way = Way::Strip;
    }
}

fn is_labelled(item: &Item, grid: Grid) -> bool {
    grid.pixels(item.start, item.end()) >= LABELLED
}

fn draw(track: u32, row: &Row, grid: Grid, way: Way) -> Picture {
    let mut picture = Picture::default();
    if way == Way::Shapes {
        each_pixel_group(&row.items, grid, |group| picture.shapes.extend(group.draw(track, row.row)));
        return picture;
    }
    let mut strip = Strip::new(track, row.row);
    for item in &row.items {
        if way == Way::Strips && is_labelled(item, grid) {
            picture.shapes.push(Shape::alone(track, row.row, *item));
            picture.finish(&mut strip);
        } else {
            strip.paint(item, grid);
        }
    }
    picture.finish(&mut strip);
    picture
}

impl Picture {
    fn finish(&mut self, strip: &mut Strip) {
        if !strip.columns.is_empty() {
            let next = Strip::new(strip.track, strip.row);
            self.strips.push(std::mem::replace(strip, next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::is_odd;
    use ada_event::TraceNanos;
    use ada_span::table::FunctionIndex;
    use ada_span::{Outcome, Reason, Status};
    use proptest::prelude::*;

    const VIEW: Range = Range { start: TraceNanos(0), end: TraceNanos(100_000), width: 1000 };

    fn item(start: u64, duration: u64) -> Item {
        Item { start: TraceNanos(start), duration, seq: start, function: FunctionIndex(0), count: 1, outcome: 0 }
    }

    fn row(number: u32, items: Vec<Item>) -> (u32, Row) {
        (0, Row { row: number, items })
    }

    fn odd_outcome() -> u8 {
        Outcome::new(Status::Unmatched, Reason::Crash).to_byte()
    }

    fn counted(picture: &Picture) -> u64 {
        let columns = picture.strips.iter().flat_map(|it| &it.columns).map(|it| it.count);
        picture.shapes.iter().map(|it| it.item.count).chain(columns).map(u64::from).sum()
    }

    #[test]
    fn the_longest_of_a_pixel_and_the_odd_one_are_drawn() {
        let odd = Item { outcome: odd_outcome(), ..item(60, 1) };
        let items = vec![item(0, 10), item(20, 30), odd, item(100, 99), item(199, 500)];
        let picture = fit(&[row(3, items)], VIEW, 100);
        let drawn: Vec<(u64, u32)> = picture.shapes.iter().map(|it| (it.item.start.0, it.item.count)).collect();
        assert_eq!(drawn, [(20, 2), (60, 1), (100, 1), (199, 1)]);
        assert_eq!((picture.shapes[0].from, picture.shapes[0].until), (TraceNanos(0), TraceNanos(61)));
    }

    #[test]
    fn rows_with_too_many_shapes_become_strips_and_others_stay() {
        let dense = |number: u32| row(number, (0..20_000).map(|at| item(at * 5, 4)).collect());
        let mut rows: Vec<(u32, Row)> = (0..50).map(dense).collect();
        rows.push(row(50, (0..100).map(|at| item(at * 1000, 900)).collect()));
        let picture = fit(&rows, VIEW, 20_000);
        assert!(picture.shapes.len() + picture.strips.len() <= 20_000);
        assert_eq!(counted(&picture), 50 * 20_000 + 100);
        let of_sparse = picture.shapes.iter().filter(|it| it.row == 50).count();
        assert_eq!(of_sparse, 100, "a row that is no trouble keeps its shapes");
        assert!(picture.strips.len() >= 31, "{}", picture.strips.len());
        for strip in &picture.strips {
            assert_eq!((strip.first, strip.columns.len()), (0, 1000), "a strip has a column for each pixel");
            assert!(strip.columns.iter().all(|it| it.longest().is_some()), "a busy row has no gaps");
        }
    }

    #[test]
    fn a_span_with_room_for_a_label_stays_a_shape_between_strips() {
        let mut items: Vec<Item> = (0..5000).map(|at| item(at * 8, 7)).collect();
        items.push(item(40_000, 10_000));
        items.extend((0..5000).map(|at| item(50_000 + at * 10, 9)));
        let picture = fit(&[row(0, items)], VIEW, 3);
        assert_eq!(picture.shapes.iter().map(|it| it.item.duration).collect::<Vec<_>>(), [10_000]);
        let strips: Vec<(u64, usize)> = picture.strips.iter().map(|it| (it.first, it.columns.len())).collect();
        assert_eq!(strips, [(0, 400), (500, 500)]);
    }

    #[test]
    fn odd_spans_survive_the_tightest_fit() {
        let rows: Vec<(u32, Row)> = (0..30)
            .map(|number| {
                let mut items: Vec<Item> = (0..10_000).map(|at| item(at * 10, 9)).collect();
                items[7777].outcome = odd_outcome();
                row(number, items)
            })
            .collect();
        let picture = fit(&rows, VIEW, 30);
        assert_eq!((picture.shapes.len(), picture.strips.len()), (0, 30));
        for strip in &picture.strips {
            let odd: Vec<usize> = (0..1000).filter(|&at| strip.columns[at].odd().is_some()).collect();
            assert_eq!(odd, [777]);
        }
    }

    /// Spans of a row that do not overlap: gaps and durations, some of them long, some odd, some of no length.
    fn any_row() -> impl Strategy<Value = Vec<Item>> {
        let length = prop_oneof![8 => 0_u64..40, 4 => 40_u64..400, 1 => 400_u64..30_000];
        let gap = prop_oneof![8 => 0_u64..10, 2 => 10_u64..300, 1 => 300_u64..20_000];
        let span = (gap, length, prop::bool::weighted(0.05));
        prop::collection::vec(span, 0..400).prop_map(|spans| {
            let mut time = 0;
            let mut seq = 0;
            let mut next = |(gap, duration, is_odd): (u64, u64, bool)| {
                let outcome = if is_odd { odd_outcome() } else { 0 };
                let item = Item { outcome, seq, ..item(time + gap, duration) };
                seq += 1;
                time += gap + duration;
                item
            };
            spans.into_iter().map(&mut next).collect()
        })
    }

    /// Whether a row shows a span itself, or one that is as long in the same pixel.
    fn shows(picture: &Picture, row: u32, item: &Item, pixel: u64, wants_odd: bool) -> bool {
        let is_shape = |it: &&Shape| it.row == row && it.item.seq == item.seq;
        let in_strip = |strip: &&Strip| {
            let column = pixel.checked_sub(strip.first).and_then(|at| strip.columns.get(at as usize));
            strip.row == row
                && column.is_some_and(|column| match wants_odd {
                    false => column.longest().is_some_and(|it| it.duration >= item.duration),
                    true => column.odd().is_some_and(|(_, duration)| duration >= item.duration),
                })
        };
        picture.shapes.iter().any(|it| is_shape(&it)) || picture.strips.iter().any(|it| in_strip(&it))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        #[test]
        fn of_each_pixel_the_longest_and_the_longest_odd_one_are_drawn(
            rows in prop::collection::vec(any_row(), 1..5),
            start in 0_u64..2000,
            length in 1_u64..40_000,
            width in 1_u64..300,
            most in 5_usize..400,
        ) {
            let start = TraceNanos(start);
            let range = Range { start, end: start.saturating_add(length), width };
            let grid = range.grid();
            let seen = |it: &Item| it.start < range.end && (it.end() > start || it.start >= start);
            let rows: Vec<(u32, Row)> = (0..).zip(rows).map(|(number, items)| {
                row(number, items.into_iter().filter(seen).collect())
            }).collect();
            let picture = fit(&rows, range, most);
            prop_assert!(picture.shapes.len() + picture.strips.len() <= most);
            prop_assert_eq!(counted(&picture), rows.iter().map(|(_, row)| row.items.len() as u64).sum::<u64>());
            for (_, row) in &rows {
                for pixel in 0..width {
                    let here = || row.items.iter().filter(|it| grid.column(it.start) == pixel);
                    if let Some(longest) = here().max_by_key(|it| (it.duration, Reverse(it.start))) {
                        prop_assert!(shows(&picture, row.row, longest, pixel, false), "{:?} in {}", longest, pixel);
                    }
                    let odd = here().filter(|it| is_odd(it.outcome));
                    if let Some(odd) = odd.max_by_key(|it| (it.duration, Reverse(it.start))) {
                        prop_assert!(shows(&picture, row.row, odd, pixel, true), "{:?} in {}", odd, pixel);
                    }
                }
            }
            for strip in &picture.strips {
                prop_assert!(strip.first + strip.columns.len() as u64 <= width);
            }
        }
    }
}
