//! What ada has promised, and whether this run shows it.

use serde_json::{Value, json};

/// One promise.
pub(super) struct Goal {
    what: String,
    wanted: String,
    /// What was measured, and whether that is enough; None if nothing was.
    measured: Option<(String, bool)>,
}

impl Goal {
    /// A figure that must not be above a bound.
    pub(super) fn at_most(what: impl Into<String>, bound: f64, unit: &str, measured: Option<f64>) -> Self {
        let measured = measured.map(|figure| (format!("{figure:.3}{unit}"), figure <= bound));
        Self { what: what.into(), wanted: format!("<= {bound}{unit}"), measured }
    }

    /// A figure that must not be below a bound.
    pub(super) fn at_least(what: impl Into<String>, bound: f64, unit: &str, measured: Option<f64>) -> Self {
        let measured = measured.map(|figure| (format!("{figure:.3}{unit}"), figure >= bound));
        Self { what: what.into(), wanted: format!(">= {bound}{unit}"), measured }
    }

    /// Whether a figure was measured and is not good enough.
    pub(super) fn is_missed(&self) -> bool {
        matches!(self.measured, Some((_, false)))
    }

    /// The row of a table: what, wanted, measured, verdict.
    pub(super) fn row(&self) -> Vec<String> {
        let (measured, verdict) = match &self.measured {
            Some((measured, true)) => (measured.as_str(), "met"),
            Some((measured, false)) => (measured.as_str(), "MISSED"),
            None => ("-", "NOT MEASURED"),
        };
        vec![self.what.clone(), self.wanted.clone(), measured.into(), verdict.into()]
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "what": self.what,
            "wanted": self.wanted,
            "measured": self.measured.as_ref().map(|(figure, _)| figure),
            "met": self.measured.as_ref().map(|(_, met)| met),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_itself_is_good_enough() {
        let verdict = |goal: Goal| goal.row()[3].clone();
        assert_eq!(verdict(Goal::at_most("x", 1.5, " x", Some(1.5))), "met");
        assert_eq!(verdict(Goal::at_most("x", 1.5, " x", Some(1.51))), "MISSED");
        assert_eq!(verdict(Goal::at_least("x", 98.0, " %", Some(98.0))), "met");
        assert_eq!(verdict(Goal::at_least("x", 98.0, " %", Some(97.9))), "MISSED");
        assert_eq!(verdict(Goal::at_least("x", 98.0, " %", None)), "NOT MEASURED");
    }
}
