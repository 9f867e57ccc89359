//! What hooks cost in the program itself: the calibration's figures, corrected by samples.

use std::time::Duration;

use ada_format::atf::HookCost;

use crate::overhead::budget::Costs;
use crate::overhead::hook_samples::SampledTime;

/// How much of what hooks take is spent in them: 0.73 to 0.88 in eleven runs of ten programs of Debian (2026-11-19). The rest is the program's own
/// code that waits for its caches, and the jumps.
const SPENT_IN_HOOKS: f64 = 0.8;
/// The same in programs where it is least, and most; samples do not always fall on the right side.
const SPENT_AT_LEAST: f64 = 0.6;
const SPENT_AT_MOST: f64 = 1.05;

/// How many times the calibrated cost a hook takes in real programs, before it has been measured in this one: recording took 65 to
/// 140 ns a call in twenty programs of Debian where the calibration said 45 to 70.
const USUALLY: f64 = 1.5;
/// How much time in hooks this counts for.
const USUALLY_NS: f64 = 5e6;
/// The program's time in which a measurement loses half of its weight: a program goes from one phase to another.
const HALF_LIFE: f64 = 0.5e9;
/// Whatever samples say.
const LEAST: f64 = 0.7;
const MOST: f64 = 6.0;

/// So many samples in hooks say something about a run.
const ENOUGH: u64 = 50;

/// The costs that a budget is kept with.
pub(super) struct MeasuredCosts {
    calibrated: Costs,
    /// Recent time in hooks, as the calibration has it, and as samples do.
    estimated_ns: f64,
    sampled_ns: f64,
}

impl MeasuredCosts {
    pub(super) fn new(calibrated: Costs) -> Self {
        Self { calibrated, estimated_ns: 0.0, sampled_ns: 0.0 }
    }

    /// By the calibration alone.
    pub(super) fn calibrated(&self) -> Costs {
        self.calibrated
    }

    /// Takes a stretch in: what its hooks have taken by the calibration, and what was sampled meanwhile.
    pub(super) fn add(&mut self, estimated_ns: f64, sampled: SampledTime, used: Duration) {
        let Some(in_hooks) = sampled.in_hooks_of(used) else { return };
        let kept = 0.5_f64.powf(used.as_nanos() as f64 / HALF_LIFE);
        self.estimated_ns = self.estimated_ns * kept + estimated_ns;
        self.sampled_ns = self.sampled_ns * kept + in_hooks / SPENT_IN_HOOKS;
    }

    /// What hooks cost, as far as it is known.
    pub(super) fn costs(&self) -> Costs {
        let times = (self.sampled_ns + USUALLY * USUALLY_NS) / (self.estimated_ns + USUALLY_NS);
        let times = times.clamp(LEAST, MOST);
        Costs { event: self.calibrated.event * times, count: self.calibrated.count * times }
    }
}

/// Says how many times its calibrated cost a hook has taken, at least and at most, by the samples of a whole run that has used so
/// much time. False where there are too few: what was said without them stays. `estimated_ns` is what hooks take by the calibration,
/// and `agent_ns` what the agent has counted beside that.
pub(super) fn set_range(
    cost: &mut HookCost,
    (estimated_ns, agent_ns): (f64, f64),
    sampled: SampledTime,
    used: Duration,
) -> bool {
    let Some(in_hooks) = sampled.in_hooks_of(used).filter(|_| sampled.samples_in_hooks >= ENOUGH) else { return false };
    // Of samples, twice the standard error.
    let error = 2.0 / (sampled.samples_in_hooks as f64).sqrt();
    let times = (in_hooks - agent_ns).max(0.0) / estimated_ns.max(1.0);
    cost.at_least = times * (1.0 - error) / SPENT_AT_MOST;
    cost.at_most = times * (1.0 + error) / SPENT_AT_LEAST;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn sampled(samples_in_hooks: u64, samples: u64) -> SampledTime {
        SampledTime { samples_in_hooks, samples }
    }

    #[test]
    fn costs_are_usual_ones_until_they_are_measured() {
        let mut costs = MeasuredCosts::new(Costs { event: 20.0, count: 2.0 });
        assert_eq!(costs.costs(), Costs { event: 30.0, count: 3.0 });
        // Without rights there are no samples.
        costs.add(1e8, SampledTime::default(), SECOND);
        assert_eq!(costs.costs(), Costs { event: 30.0, count: 3.0 });
        // 400 ms in hooks are 500 ms of hooks, five times what was thought.
        costs.add(1e8, sampled(400, 1000), SECOND);
        let Costs { event, count } = costs.costs();
        assert!((95.0..100.0).contains(&event) && (event / count - 10.0).abs() < 1e-9, "{event} {count}");
        // What was long ago does not matter.
        (0..10).for_each(|_| costs.add(1e8, sampled(80, 1000), SECOND));
        assert!((19.0..22.0).contains(&costs.costs().event), "{:?}", costs.costs());
    }

    #[test]
    fn a_run_says_how_far_its_calibration_was_off() {
        let mut cost = HookCost { at_least: 0.8, at_most: 2.5, ..HookCost::default() };
        assert!(!set_range(&mut cost, (1e8, 0.0), sampled(49, 1000), SECOND));
        assert_eq!([cost.at_least, cost.at_most], [0.8, 2.5], "too few samples");
        assert!(set_range(&mut cost, (0.9e8, 0.4e8), sampled(400, 1000), SECOND));
        assert!((cost.at_least - 4.0 * 0.9 / 1.05).abs() < 1e-9 && (cost.at_most - 4.0 * 1.1 / 0.6).abs() < 1e-9);
    }
}
