//! The time that is looked at, and the pixels that it is drawn in.

/// From `start` to before `end`, in so many pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// From here on.
    pub start: u64,
    /// Before this.
    pub end: u64,
    /// Pixels, one at least.
    pub width: u64,
}

impl Range {
    /// Nanoseconds of a pixel, one at least.
    pub fn pixel(&self) -> u64 {
        (self.length() / self.width.max(1)).max(1)
    }

    fn length(&self) -> u64 {
        self.end.saturating_sub(self.start).max(1)
    }

    /// What tells in which pixel a moment lies.
    pub fn grid(&self) -> Grid {
        let width = self.width.max(1);
        Grid { start: self.start, end: self.end, scale: width as f64 / self.length() as f64, last: width - 1 }
    }
}

/// The pixels of a [`Range`].
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    start: u64,
    end: u64,
    /// Pixels of a nanosecond.
    scale: f64,
    last: u64,
}

impl Grid {
    /// The pixel of a moment. What lies before the range or behind it counts to the first or the last.
    pub fn column(&self, time: u64) -> u64 {
        let column = time.saturating_sub(self.start) as f64 * self.scale;
        (column as u64).min(self.last)
    }

    /// The pixels that a span touches.
    pub(crate) fn columns(&self, start: u64, end: u64) -> (u64, u64) {
        let from = self.column(start);
        (from, self.column(end.saturating_sub(1)).max(from))
    }

    /// How many pixels the part of a span takes that lies in the range.
    pub(crate) fn pixels(&self, start: u64, end: u64) -> f64 {
        end.min(self.end).saturating_sub(start.max(self.start)) as f64 * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_has_a_pixel() {
        let grid = Range { start: 100, end: 200, width: 10 }.grid();
        assert_eq!([0, 100, 109, 110, 199, 200, u64::MAX].map(|it| grid.column(it)), [0, 0, 0, 1, 9, 9, 9]);
        assert_eq!(grid.columns(105, 120), (0, 1), "what ends where the next pixel begins does not touch it");
        assert_eq!((grid.pixels(50, 150), grid.pixels(190, u64::MAX)), (5.0, 1.0));
    }

    #[test]
    fn pixels_can_be_shorter_than_a_nanosecond() {
        let range = Range { start: 0, end: 10, width: 100 };
        assert_eq!(range.pixel(), 1);
        assert_eq!((range.grid().column(3), range.grid().columns(3, 4)), (30, (30, 30)));
        assert_eq!(Range { start: 5, end: 5, width: 0 }.grid().column(7), 0);
    }
}
