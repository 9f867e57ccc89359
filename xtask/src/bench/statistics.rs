//! A noisy figure: its median, and between what it usually lies.

use std::fmt;

use serde_json::{Value, json};

/// The middle of many measurements, and the middle half of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
    pub(super) count: usize,
}

impl Spread {
    /// None of no measurements.
    pub(super) fn of(measurements: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = measurements.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = share * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
            below + (above - below) * rank.fract()
        };
        (!sorted.is_empty()).then(|| Self { low: at(0.25), median: at(0.5), high: at(0.75), count: sorted.len() })
    }

    /// How far the median is likely to be from that of many more measurements: its standard error, by the middle half.
    pub(super) fn doubt(&self) -> f64 {
        /// Of a normal distribution: the median's error per mean's error, by quartile distances per standard deviation.
        const PER_QUARTILE_DISTANCE: f64 = 1.2533 / 1.3490;
        PER_QUARTILE_DISTANCE * (self.high - self.low) / (self.count as f64).sqrt()
    }

    pub(super) fn to_json(self) -> Value {
        json!({"median": self.median, "quartile_1": self.low, "quartile_3": self.high, "count": self.count})
    }
}

/// `median [quartile–quartile]`, with the formatter's precision.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(1);
        write!(f, "{:.digits$} [{:.digits$}–{:.digits$}]", self.median, self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_measurements() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.low, spread.median, spread.high, spread.count), (1.75, 2.5, 3.25, 4));
        assert_eq!(format!("{spread:.2}"), "2.50 [1.75–3.25]");
    }

    #[test]
    fn more_measurements_leave_less_doubt() {
        let doubt = |count| Spread { low: 0.0, median: 1.0, high: 2.0, count }.doubt();
        assert!((doubt(16) - 0.4645).abs() < 1e-3);
        assert!((doubt(64) - doubt(16) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn one_measurement_is_its_own_spread() {
        assert_eq!(Spread::of([7.0]), Some(Spread { low: 7.0, median: 7.0, high: 7.0, count: 1 }));
    }

    #[test]
    fn what_is_no_number_does_not_count() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([f64::NAN, f64::INFINITY, 2.0]).unwrap().count, 1);
    }
}
