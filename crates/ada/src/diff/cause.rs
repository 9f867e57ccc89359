//! The one change that explains most.

use std::collections::BTreeMap;

use ada_query::lens::Outside;

use super::change::{Change, Kind, mean};
use super::figures::Run;
use crate::analysis::{brief_name, nanoseconds, thousands};

/// What made the difference.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    pub(super) function: String,
    /// Who calls it, where that is part of the answer.
    pub(super) caller: Option<String>,
    /// In one line.
    pub(super) words: String,
}

/// A caller, and how often it called a function on both sides.
type Edge<'a> = (&'a str, (f64, f64));

/// Both sides, for questions about callers.
pub(super) struct Sides<'a> {
    pub(super) a: &'a [Run],
    pub(super) b: &'a [Run],
    pub(super) changes: &'a [Change],
}

impl Sides<'_> {
    /// The cause, if anything changed.
    pub(super) fn cause(&self) -> Option<Cause> {
        let whole = mean_all(self.b) - mean_all(self.a);
        // What goes with the whole explains it; what goes against it only makes it smaller.
        let is_along = |it: &&Change| it.delta_ns().signum() == whole.signum();
        let changed = || self.changes.iter().filter(|it| it.kind != Kind::Same);
        let heaviest = |them: &mut dyn Iterator<Item = &Change>| -> Option<String> {
            them.max_by(|left, right| left.weight().total_cmp(&right.weight())).map(|it| it.name.clone())
        };
        let name = heaviest(&mut changed().filter(is_along)).or_else(|| heaviest(&mut changed()))?;
        let effect = self.find(&name)?;
        let (edge, cause) = self.climb(effect);
        Some(self.describe(edge, cause, effect))
    }

    fn find(&self, name: &str) -> Option<&Change> {
        self.changes.iter().find(|it| it.name == name)
    }

    /// Goes up from what takes the time to who is at the bottom of it: a function that is new, or is called more often,
    /// is so because its caller is, or calls it more.
    fn climb<'s>(&'s self, from: &'s Change) -> (Option<Edge<'s>>, &'s Change) {
        let mut at = from;
        let mut seen = vec![from.name.as_str()];
        loop {
            if !matches!(at.kind, Kind::New | Kind::Gone | Kind::MoreCalls | Kind::FewerCalls) {
                return (None, at);
            }
            let Some((caller, calls)) = self.main_caller(at) else { return (None, at) };
            let Some(above) = self.find(caller).filter(|it| !seen.contains(&it.name.as_str())) else {
                return (Some((caller, calls)), at);
            };
            let ratio = |(a, b): (f64, f64)| b / a.max(f64::MIN_POSITIVE);
            let is_why = match at.kind {
                Kind::New | Kind::Gone => above.kind == at.kind,
                Kind::MoreCalls => {
                    above.kind == Kind::New || ratio(above.calls) >= 0.8 * ratio(calls) && above.calls.0 > 0.0
                }
                _ => above.kind == Kind::Gone || ratio(above.calls) <= 1.25 * ratio(calls) && above.calls.0 > 0.0,
            };
            if !is_why {
                return (Some((caller, calls)), at);
            }
            seen.push(&above.name);
            at = above;
        }
    }

    /// Who calls a function so many times more, or less, and how often it did on both sides.
    fn main_caller<'s>(&'s self, of: &Change) -> Option<Edge<'s>> {
        let mut callers: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (runs, is_b) in [(self.a, false), (self.b, true)] {
            for run in runs {
                for ((from, _), Outside { calls, .. }) in run.callers.iter().filter(|((_, to), _)| *to == of.name) {
                    let sum = callers.entry(from).or_default();
                    *(if is_b { &mut sum.1 } else { &mut sum.0 }) += *calls as f64 / runs.len() as f64;
                }
            }
        }
        let most = callers.into_iter().max_by(|left, right| {
            let change = |(a, b): (f64, f64)| (b - a).abs();
            change(left.1).total_cmp(&change(right.1))
        })?;
        (!most.0.is_empty()).then_some(most)
    }

    fn describe(&self, edge: Option<Edge<'_>>, cause: &Change, effect: &Change) -> Cause {
        let name = &cause.name;
        let whole = mean_all(self.b) - mean_all(self.a);
        let delta = effect.delta_ns();
        let caller = edge.map(|(caller, _)| caller);
        let calls =
            |(a, b): (f64, f64)| format!("{} → {} calls", thousands(a.round() as u64), thousands(b.round() as u64));
        let mut words = match cause.kind {
            Kind::New => match caller {
                Some(caller) => format!("{name} is new, called by {caller} {}", times(cause.calls.1)),
                None => format!("{name} is new, called {}", times(cause.calls.1)),
            },
            Kind::Gone => match caller {
                Some(caller) => format!("{caller} no longer calls {name} (it did {})", times(cause.calls.0)),
                None => format!("{name} is no longer called (it was {})", times(cause.calls.0)),
            },
            Kind::MoreCalls | Kind::FewerCalls => {
                let how = if cause.kind == Kind::MoreCalls { "more" } else { "less" };
                match edge {
                    Some((caller, edge)) => format!("{caller} calls {name} {how} often ({})", calls(edge)),
                    None => format!("{name} is called {how} often ({})", calls(cause.calls)),
                }
            }
            _ => {
                let how = if delta > 0.0 { "slower" } else { "faster" };
                let (few, ns) =
                    if cause.is_in_few_calls() { (" in a few calls", cause.ns) } else { ("", cause.usual_ns) };
                let per_call = |ns: f64, calls: f64| nanoseconds((ns / calls.max(1.0)).round() as u64);
                let (a, b) = (per_call(ns.0, cause.calls.0), per_call(ns.1, cause.calls.1));
                format!("{name} is {how}{few}: {a} → {b} per call")
            }
        };
        if let Some(outside) = self.outside(effect) {
            words.push_str(&format!(", in {outside}"));
        }
        if effect.name != *name {
            words.push_str(&format!("; the time is in {}", effect.name));
        }
        let gone = caller.map(|caller| self.gone_below(caller, name)).unwrap_or_default();
        if !gone.is_empty() {
            words.push_str(&format!("; it no longer calls {}", gone.join(", ")));
        }
        words.push_str(&format!(": {} of {} in all", signed(delta), signed(whole)));
        if let Some(p) = effect.p {
            words.push_str(&format!(" (p = {})", p_text(p)));
        }
        Cause { function: name.clone(), caller: caller.map(str::to_owned), words }
    }

    /// What a function called outside, if most of its difference is there.
    fn outside(&self, of: &Change) -> Option<String> {
        let mean_of = |runs: &[Run]| -> BTreeMap<String, (f64, f64)> {
            let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
            for run in runs {
                for (name, it) in run.functions.get(&of.name).into_iter().flat_map(|it| &it.outside) {
                    let sum = sums.entry(name.clone()).or_default();
                    sum.0 += it.calls as f64 / runs.len() as f64;
                    sum.1 += it.ns as f64 / runs.len() as f64;
                }
            }
            sums
        };
        let (a, mut b) = (mean_of(self.a), mean_of(self.b));
        for name in a.keys() {
            b.entry(name.clone()).or_default();
        }
        let delta = |name: &str, b: &(f64, f64)| b.1 - a.get(name).map_or(0.0, |it| it.1);
        let whole = of.delta_ns();
        let (name, b) = b.iter().max_by(|x, y| (delta(x.0, x.1) * whole).total_cmp(&(delta(y.0, y.1) * whole)))?;
        let is_most = delta(name, b) / whole >= 0.5;
        is_most.then(|| {
            let before = a.get(name).map_or(0.0, |it| it.0).round() as u64;
            format!("{} ({} → {} calls)", brief_name(name), thousands(before), thousands(b.0.round() as u64))
        })
    }

    /// Functions that a caller called on the first side only.
    fn gone_below(&self, caller: &str, but: &str) -> Vec<String> {
        let callees = self.a.iter().flat_map(|run| run.callers.keys()).filter(|(from, _)| from == caller);
        let mut gone: Vec<String> = callees.map(|(_, to)| to.clone()).filter(|to| to != but).collect();
        gone.sort();
        gone.dedup();
        gone.retain(|name| self.find(name).is_some_and(|it| it.kind == Kind::Gone));
        gone.truncate(3);
        gone
    }
}

pub(super) fn mean_all(runs: &[Run]) -> f64 {
    mean(&runs.iter().map(|run| run.all_ns as f64).collect::<Vec<_>>())
}

/// `+1.20 ms`
pub(super) fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "−" } else { "+" }, nanoseconds(ns.abs().round() as u64))
}

pub(super) fn p_text(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

fn times(count: f64) -> String {
    match count.round() as u64 {
        1 => "once".to_owned(),
        count => format!("{} times", thousands(count)),
    }
}
