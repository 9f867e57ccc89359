//! What begins in the same pixel of a row and is narrower than it.

use ada_event::TraceNanos;

use crate::item::{Item, is_odd};
use crate::range::Grid;
use crate::shape::Shape;

/// The longest of a pixel, the longest odd one, and how much time they take together.
pub(crate) struct PixelGroup {
    pixel: u64,
    longest: Item,
    odd: Option<Item>,
    count: u32,
    from: TraceNanos,
    until: TraceNanos,
}

impl PixelGroup {
    fn new(pixel: u64, item: Item) -> Self {
        Self {
            pixel,
            longest: item,
            odd: is_odd(item.outcome).then_some(item),
            count: item.count,
            from: item.start,
            until: item.end(),
        }
    }

    fn add(&mut self, item: Item) {
        self.count = self.count.saturating_add(item.count);
        if is_odd(item.outcome) && self.odd.is_none_or(|odd| item.is_before(&odd)) {
            self.odd = Some(item);
        }
        if item.is_before(&self.longest) {
            self.longest = item;
        }
        self.from = self.from.min(item.start);
        self.until = self.until.max(item.end());
    }

    /// The odd one, if it is not the longest one anyway.
    fn other(&self) -> Option<Item> {
        self.odd.filter(|odd| odd.seq != self.longest.seq)
    }

    /// How many shapes it is drawn as.
    pub(crate) fn shapes(&self) -> usize {
        1 + usize::from(self.other().is_some())
    }

    /// One or two shapes. The odd one stands for itself alone.
    pub(crate) fn draw(&self, track: u32, row: u32) -> impl Iterator<Item = Shape> {
        let odd = self.other();
        let others = self.count.saturating_sub(odd.is_some().into()).max(1);
        let item = Item { count: others, ..self.longest };
        let longest = Shape { track, row, item, from: self.from, until: self.until };
        std::iter::once(longest).chain(odd.map(|odd| Shape::alone(track, row, Item { count: 1, ..odd })))
    }
}

/// Items of a row by the pixels that they begin in. One that is as wide as a pixel is a group of its own.
pub(crate) fn each_pixel_group(items: &[Item], grid: Grid, mut each: impl FnMut(&PixelGroup)) {
    let mut open: Option<PixelGroup> = None;
    for &item in items {
        let pixel = grid.column(item.start);
        let is_wide = item.count == 1 && grid.pixels(item.start, item.end()) >= 1.0;
        match &mut open {
            Some(group) if !is_wide && group.pixel == pixel => group.add(item),
            _ => {
                open.take().iter().for_each(&mut each);
                let group = PixelGroup::new(pixel, item);
                if is_wide { each(&group) } else { open = Some(group) }
            }
        }
    }
    open.iter().for_each(each);
}
