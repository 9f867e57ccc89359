//! The time that is looked at, and the pixels that it is drawn in.

use ada_event::TraceNanos;

/// From `start` to before `end`, in so many pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// From here on.
    pub start: TraceNanos,
    /// Before this.
    pub end: TraceNanos,
    /// Pixels, one at least.
    pub width: u64,
}

impl Range {
    /// Nanoseconds of a pixel, one at least.
    pub fn pixel(&self) -> u64 {
        (self.length() / self.width.max(1)).max(1)
    }

    fn length(&self) -> u64 {
        self.end.since(self.start).max(1)
    }

    /// What says in which pixel a moment lies.
    pub fn grid(&self) -> Grid {
        let width = self.width.max(1);
        Grid { start: self.start, end: self.end, scale: width as f64 / self.length() as f64, last: width - 1 }
    }
}

/// The pixels of a [`Range`].
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    start: TraceNanos,
    end: TraceNanos,
    /// Pixels of a nanosecond.
    scale: f64,
    last: u64,
}

impl Grid {
    /// The pixel of a moment. What lies before the range or behind it counts to the first or the last.
    pub fn column(&self, time: TraceNanos) -> u64 {
        let column = time.since(self.start) as f64 * self.scale;
        (column as u64).min(self.last)
    }

    /// The pixels that a span touches.
    pub(crate) fn columns(&self, start: TraceNanos, end: TraceNanos) -> (u64, u64) {
        let from = self.column(start);
        (from, self.column(end.saturating_sub(1)).max(from))
    }

    /// How many pixels the part of a span takes that lies in the range.
    pub(crate) fn pixels(&self, start: TraceNanos, end: TraceNanos) -> f64 {
        end.min(self.end).since(start.max(self.start)) as f64 * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_has_a_pixel() {
        let grid = Range { start: TraceNanos(100), end: TraceNanos(200), width: 10 }.grid();
        let column = |time: u64| grid.column(TraceNanos(time));
        let pixels = |start: u64, end: u64| grid.pixels(TraceNanos(start), TraceNanos(end));
        assert_eq!([0, 100, 109, 110, 199, 200, u64::MAX].map(column), [0, 0, 0, 1, 9, 9, 9]);
        let touched = grid.columns(TraceNanos(105), TraceNanos(120));
        assert_eq!(touched, (0, 1), "what ends where the next pixel begins does not touch it");
        assert_eq!((pixels(50, 150), pixels(190, u64::MAX)), (5.0, 1.0));
    }

    #[test]
    fn pixels_can_be_shorter_than_a_nanosecond() {
        let range = Range { start: TraceNanos(0), end: TraceNanos(10), width: 100 };
        assert_eq!(range.pixel(), 1);
        let (three, four) = (TraceNanos(3), TraceNanos(4));
        assert_eq!((range.grid().column(three), range.grid().columns(three, four)), (30, (30, 30)));
        assert_eq!(Range { start: four, end: four, width: 0 }.grid().column(TraceNanos(7)), 0);
    }
}
