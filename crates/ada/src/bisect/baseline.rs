//! What the command does by itself, and what of that is the same each time.

use std::time::Duration;

use super::command::RepeatedCommand;
use super::observed::{Aspect, Observed, RunEnd};
use crate::exit::say;

/// The untraced runs.
pub(crate) struct Baseline {
    /// The first of them.
    pub(crate) expected: Observed,
    /// What was the same in all.
    pub(crate) aspects: Vec<Aspect>,
    pub(crate) slowest: Duration,
    /// What was not, in words.
    pub(crate) unsteady: Option<String>,
}

impl Baseline {
    /// Runs the command so often. Each run may take so long.
    pub(crate) fn run(
        command: &RepeatedCommand,
        runs: u32,
        limit: Duration,
        asked: &[Aspect],
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let expected = command.alone(limit)?;
        let mut baseline =
            Self { slowest: expected.took, aspects: asked.to_vec(), unsteady: None, expected: expected.clone() };
        baseline.report(1, &expected, quiet);
        for number in 2..=runs {
            if matches!(expected.end, RunEnd::TimedOut(_)) {
                break;
            }
            let run = command.alone(limit)?;
            baseline.report(number, &run, quiet);
            baseline.slowest = baseline.slowest.max(run.took);
            let differing = run.differing(&expected, &baseline.aspects);
            if let Some(words) = run.difference(&expected, &differing) {
                let before = baseline.unsteady.take().map_or_else(String::new, |before| format!("{before}; "));
                baseline.unsteady = Some(format!("{before}{words}"));
                baseline.aspects.retain(|aspect| !differing.contains(aspect));
            }
        }
        Ok(baseline)
    }

    fn report(&self, number: u32, run: &Observed, quiet: bool) {
        if !quiet {
            say(format_args!("ada: untraced run {number}: {}, {:.2} s\n", run.end, run.took.as_secs_f64()));
        }
    }

    /// What is compared, in words.
    pub(crate) fn compared(&self) -> String {
        let names: Vec<String> = self.aspects.iter().map(ToString::to_string).collect();
        names.join(", ")
    }
}
