//! The command with all hooks: whether it differs at all, and how often.

use super::hook_set::{AllHooks, HookReader};
use super::trials::{Stop, Trials};
use crate::hook_list::HookList;

/// What differs now and then is run so often, to see how often that is.
const RUNS_OF_UNSTEADY: u32 = 10;
/// How likely it may be that a set of hooks makes a difference, and none is seen.
const MISSED: f64 = 0.05;

/// Traced runs with all hooks.
pub(crate) struct FullTraces {
    pub(crate) hooks: AllHooks,
    pub(crate) runs: u32,
    /// How many of them differ, and how the last of these does.
    pub(crate) differing: u32,
    pub(crate) difference: Option<String>,
}

impl FullTraces {
    pub(crate) fn run(trials: &mut Trials<'_>, runs: u32) -> Result<Self, Stop> {
        let mut reader = HookReader::default();
        let mut problem = None;
        let mut full = Self { hooks: AllHooks::default(), runs: 0, differing: 0, difference: None };
        let is_unsteady = |full: &Self| full.differing > 0 && full.differing < full.runs;
        while full.runs < runs || is_unsteady(&full) && full.runs < runs.max(RUNS_OF_UNSTEADY) {
            let traced = trials.run(None)?;
            full.runs += 1;
            problem = reader.add(&traced.session, false).err().or(problem);
            let difference = traced.observed.difference(trials.expected, trials.aspects);
            trials.report("all hooks", &traced.observed);
            full.differing += u32::from(difference.is_some());
            full.difference = difference.or(full.difference);
        }
        full.hooks = reader.finish();
        if full.hooks.files.is_empty() && problem.is_some() && full.difference.is_some() {
            // ada itself had to be ended, before it had written what it had hooked.
            let mut reader = HookReader::default();
            let traced = trials.run(Some(&HookList::default()))?;
            reader.add(&traced.session, true).map_err(Stop::Failed)?;
            full.hooks = reader.finish();
        }
        Ok(full)
    }

    /// How often to try a set of hooks before it is called harmless.
    pub(crate) fn tries(&self) -> u32 {
        if self.differing == self.runs {
            return 1;
        }
        let share = f64::from(self.differing) / f64::from(self.runs);
        (MISSED.ln() / (1.0 - share).ln()).ceil() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rarer_is_tried_more_often() {
        let tries =
            |differing, runs| FullTraces { hooks: AllHooks::default(), runs, differing, difference: None }.tries();
        assert_eq!([tries(3, 3), tries(9, 10), tries(5, 10), tries(1, 10)], [1, 2, 5, 29]);
    }
}
