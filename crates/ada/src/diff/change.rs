//! What became of each function from one side to the other.

use std::collections::BTreeSet;

use super::figures::{Figures, Run};
use super::significance::{holm, welch};

/// A change of less than this share is none, where one run of each side is all there is.
pub(super) const LEAST_SHARE: f64 = 0.1;
/// Nor is one of less than this part of all time.
pub(super) const LEAST_OF_ALL: f64 = 0.005;
/// A p below this is not chance.
const SIGNIFICANT: f64 = 0.05;

/// How a function changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    New,
    Gone,
    Slower,
    Faster,
    MoreCalls,
    FewerCalls,
    Same,
}

impl Kind {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::MoreCalls => "more calls",
            Self::FewerCalls => "fewer calls",
            Self::Same => "same",
        }
    }
}

/// A function on both sides, by the means of their runs.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) calls: (f64, f64),
    pub(super) ns: (f64, f64),
    /// Without waits for others.
    pub(super) busy_ns: (f64, f64),
    /// And without what a few calls took beyond the usual.
    pub(super) usual_ns: (f64, f64),
    /// Of the differences in time and in calls, corrected for how many functions were compared.
    pub(super) p: Option<f64>,
    pub(super) calls_p: Option<f64>,
}

impl Change {
    pub(super) fn delta_ns(&self) -> f64 {
        self.ns.1 - self.ns.0
    }

    /// What became of it. Where its time as a whole did not follow what it did itself, it waited.
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            Kind::Faster if self.delta_ns() > 0.0 => "waits longer",
            Kind::Slower if self.delta_ns() < 0.0 => "waits less",
            kind => kind.word(),
        }
    }

    /// The function usually takes what it did: the difference is in a few calls that took far longer.
    pub(super) fn is_in_few_calls(&self) -> bool {
        let usual = (self.usual_ns.0 / self.calls.0.max(1.0), self.usual_ns.1 / self.calls.1.max(1.0));
        (usual.1 - usual.0) * self.delta_ns().signum() < LEAST_SHARE * usual.0
    }

    /// What counts of its time. Waits for others follow from what these do, and the machine can make a few calls slower by far.
    pub(super) fn weighed_ns(&self) -> (f64, f64) {
        let weighed = |busy: f64, usual: f64| usual + 0.02 * (busy - usual).max(0.0);
        (weighed(self.busy_ns.0, self.usual_ns.0), weighed(self.busy_ns.1, self.usual_ns.1))
    }
}

/// Whether a difference is not chance, as far as that is known.
pub(super) fn is_sure(p: Option<f64>) -> bool {
    p.is_none_or(|p| p < SIGNIFICANT)
}

/// All functions of both sides, those with the largest difference in time first.
pub(super) fn changes(a: &[Run], b: &[Run]) -> Vec<Change> {
    let names: BTreeSet<&String> = a.iter().chain(b).flat_map(|run| run.functions.keys()).collect();
    let of = |runs: &[Run], name: &str, figure: fn(&Figures) -> u64| -> Vec<f64> {
        runs.iter().map(|run| run.functions.get(name).map_or(0.0, |it| figure(it) as f64)).collect()
    };
    let both = |name: &str, figure: fn(&Figures) -> u64| (of(a, name, figure), of(b, name, figure));
    let mut all: Vec<Change> = Vec::new();
    for name in names {
        let (ns, calls) = (both(name, |it| it.ns), both(name, |it| it.calls));
        let (busy, usual) = (both(name, |it| it.ns.saturating_sub(it.waited_ns)), both(name, |it| it.usual_ns));
        all.push(Change {
            name: name.clone(),
            kind: Kind::Same,
            calls: (mean(&calls.0), mean(&calls.1)),
            ns: (mean(&ns.0), mean(&ns.1)),
            busy_ns: (mean(&busy.0), mean(&busy.1)),
            usual_ns: (mean(&usual.0), mean(&usual.1)),
            p: welch(&busy.0, &busy.1),
            calls_p: welch(&calls.0, &calls.1),
        });
    }
    for of_time in [true, false] {
        let mut values: Vec<Option<f64>> = all.iter().map(|it| if of_time { it.p } else { it.calls_p }).collect();
        holm(&mut values);
        for (change, p) in all.iter_mut().zip(values) {
            *if of_time { &mut change.p } else { &mut change.calls_p } = p;
        }
    }
    let whole = mean(&a.iter().chain(b).map(|run| run.all_ns as f64).collect::<Vec<_>>());
    all.iter_mut().for_each(|it| it.kind = kind(it, whole));
    all.sort_by(|left, right| right.delta_ns().abs().total_cmp(&left.delta_ns().abs()));
    all
}

fn kind(it: &Change, whole: f64) -> Kind {
    let ((calls_a, calls_b), (ns_a, ns_b)) = (it.calls, it.busy_ns);
    if calls_a == 0.0 && calls_b > 0.0 {
        return Kind::New;
    }
    if calls_b == 0.0 && calls_a > 0.0 {
        return Kind::Gone;
    }
    let has_other_calls = (calls_b / calls_a - 1.0).abs() >= LEAST_SHARE && is_sure(it.calls_p);
    let delta = ns_b - ns_a;
    let has_other_time =
        delta.abs() >= LEAST_SHARE * ns_a.max(1.0) && delta.abs() >= LEAST_OF_ALL * whole && is_sure(it.p);
    // Time is calls times the time of each: what grew by the larger factor is what changed.
    let factor = |(a, b): (f64, f64)| (b.max(1.0) / a.max(1.0)).ln().abs();
    let per_call = (it.usual_ns.0 / calls_a, it.usual_ns.1 / calls_b);
    let is_by_calls = factor((calls_a, calls_b)) >= factor(per_call) || !has_other_time;
    match (has_other_calls && is_by_calls, has_other_time) {
        (true, _) if calls_b > calls_a => Kind::MoreCalls,
        (true, _) => Kind::FewerCalls,
        (_, true) if delta > 0.0 => Kind::Slower,
        (_, true) => Kind::Faster,
        _ => Kind::Same,
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(calls: (f64, f64), ns: (f64, f64), p: Option<f64>) -> Change {
        Change {
            name: String::new(),
            kind: Kind::Same,
            calls,
            ns,
            busy_ns: ns,
            usual_ns: ns,
            p,
            calls_p: p.map(|_| 0.0),
        }
    }

    #[test]
    fn kinds_follow_from_calls_and_time() {
        let of = |calls, ns, p| kind(&change(calls, ns, p), 1000.0);
        assert_eq!(of((0.0, 3.0), (0.0, 10.0), None), Kind::New);
        assert_eq!(of((3.0, 0.0), (10.0, 0.0), None), Kind::Gone);
        assert_eq!(of((10.0, 10.0), (100.0, 500.0), None), Kind::Slower);
        assert_eq!(of((10.0, 10.0), (500.0, 100.0), None), Kind::Faster);
        assert_eq!(of((10.0, 50.0), (100.0, 500.0), None), Kind::MoreCalls);
        assert_eq!(of((50.0, 10.0), (500.0, 100.0), None), Kind::FewerCalls);
        // Twice the calls do not make it fifty times as slow.
        assert_eq!(of((10.0, 20.0), (10.0, 500.0), None), Kind::Slower);
        assert_eq!(of((10.0, 10.0), (100.0, 105.0), None), Kind::Same);
        assert_eq!(of((10.0, 10.0), (100.0, 500.0), Some(0.4)), Kind::Same);
        assert_eq!(of((10.0, 10.0), (100.0, 500.0), Some(0.01)), Kind::Slower);
        // A few calls that were interrupted do not hide that there are more of them.
        let interrupted = Change { usual_ns: (100.0, 500.0), ..change((10.0, 50.0), (100.0, 9000.0), None) };
        assert_eq!(kind(&interrupted, 1000.0), Kind::MoreCalls);
        assert!(interrupted.is_in_few_calls());
        let honest = change((10.0, 50.0), (100.0, 680.0), None);
        assert!(interrupted.weighed_ns().1 < honest.weighed_ns().1);
    }
}
