//! A cause in words.

use std::collections::{BTreeMap, BTreeSet};

use super::blame::Pair;
use super::cause::{Doing, Sides};
use super::change::{Change, Kind};
use super::figures::Run;
use crate::analysis::{brief_name, nanoseconds, thousands};

/// What made the difference.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    pub(super) function: String,
    /// Who calls it, where that is part of the answer.
    pub(super) caller: Option<String>,
    /// All functions that the words name.
    pub(super) names: BTreeSet<String>,
    /// In one line.
    pub(super) words: String,
}

/// Says what a function has done.
pub(super) fn tell(sides: &Sides<'_>, doing: &Doing) -> Option<Cause> {
    let who = sides.change(doing.function);
    if let Some((number, name)) = doing.callee().and_then(|it| Some((it, sides.outside(it)?.1))) {
        return Some(tell_outside(sides, number, name, who?));
    }
    match doing.callee().and_then(|it| sides.change(it)) {
        Some(callee) => Some(tell_calls(sides, doing, callee, who)),
        None if doing.held.abs() > doing.blame.time.abs() => tell_held(sides, doing, who?),
        None => Some(tell_time(sides, who?)),
    }
}

fn tell_calls(sides: &Sides<'_>, doing: &Doing, callee: &Change, caller: Option<&Change>) -> Cause {
    let number = sides.number(&callee.name).unwrap_or_default();
    let edge = sides.calls.edges.get(&(doing.function, number)).copied().unwrap_or(callee.calls);
    let (name, caller) = (&callee.name, caller.map(|it| it.name.as_str()));
    let how = if edge.1 > edge.0 { "more" } else { "less" };
    let mut words = match (callee.kind, caller) {
        (Kind::New, Some(caller)) => format!("{name} is new, called by {caller} {}", times(edge.1)),
        (Kind::New, None) => format!("{name} is new, called {}", times(edge.1)),
        (Kind::Gone, Some(caller)) => format!("{caller} no longer calls {name} (it did {})", times(edge.0)),
        (Kind::Gone, None) => format!("{name} is no longer called (it was {})", times(edge.0)),
        (_, Some(caller)) if caller == name => format!("{name} calls itself {how} often ({})", count(edge)),
        (_, Some(caller)) => format!("{caller} calls {name} {how} often ({})", count(edge)),
        (_, None) => format!("{name} is called {how} often ({})", count(edge)),
    };
    let mut names = BTreeSet::from([name.clone()]);
    names.extend(caller.map(str::to_owned));
    let effect = effect_below(sides, number, doing.all().signum()).unwrap_or(callee);
    if effect.name != *name {
        words.push_str(&format!("; the time is in {}", effect.name));
        names.insert(effect.name.clone());
    }
    if let Some(outside) = outside(sides, effect) {
        words.push_str(&format!(", in {outside}"));
    }
    let gone = caller.map(|caller| gone_below(sides, caller, name)).unwrap_or_default();
    if !gone.is_empty() {
        words.push_str(&format!("; it no longer calls {}", gone.join(", ")));
        names.extend(gone);
    }
    words.push_str(&of_all(sides, effect.delta_ns(), effect.p));
    Cause { function: name.clone(), caller: caller.map(str::to_owned), names, words }
}

/// Calls of what is not shown.
fn tell_outside(sides: &Sides<'_>, number: usize, name: &str, caller: &Change) -> Cause {
    let (calls, ns) = (sides.calls.calls[number], sides.calls.ns[number]);
    let how = if calls.1 > calls.0 { "more" } else { "less" };
    let mut words = format!("{} calls {} {how} often ({})", caller.name, brief_name(name), count(calls));
    words.push_str(&of_all(sides, ns.1 - ns.0, caller.p));
    let names = BTreeSet::from([caller.name.clone()]);
    Cause { function: caller.name.clone(), caller: None, names, words }
}

fn count((a, b): Pair) -> String {
    format!("{} → {} calls", thousands(a.round() as u64), thousands(b.round() as u64))
}

fn tell_time(sides: &Sides<'_>, change: &Change) -> Cause {
    let delta = change.delta_ns();
    let how = if delta > 0.0 { "slower" } else { "faster" };
    let (few, ns) = if change.is_in_few_calls() { (" in a few calls", change.ns) } else { ("", change.usual_ns) };
    let per_call = |ns: f64, calls: f64| nanoseconds((ns / calls.max(1.0)).round() as u64);
    let (a, b) = (per_call(ns.0, change.calls.0), per_call(ns.1, change.calls.1));
    let mut words = format!("{} is {how}{few}: {a} → {b} per call", change.name);
    if let Some(outside) = outside(sides, change) {
        words.push_str(&format!(", in {outside}"));
    }
    words.push_str(&of_all(sides, delta, change.p));
    Cause { function: change.name.clone(), caller: None, names: BTreeSet::from([change.name.clone()]), words }
}

fn tell_held(sides: &Sides<'_>, doing: &Doing, holder: &Change) -> Option<Cause> {
    let held = sides.held.get(&doing.function)?;
    let how = if doing.held > 0.0 { "longer" } else { "less" };
    let time = |ns: f64| nanoseconds(ns.round() as u64);
    let (a, b) = (time(held.waiter_ns.0), time(held.waiter_ns.1));
    let name = &holder.name;
    let mut words = format!("{name} makes {} wait {how} for its lock ({a} → {b})", held.waiter);
    words.push_str(&of_all(sides, doing.held, held.p));
    let names = BTreeSet::from([name.clone(), held.waiter.to_owned()]);
    Some(Cause { function: name.clone(), caller: None, names, words })
}

/// How much of the whole it is. One that is clearly larger than the whole, or of the other sign, was made up for elsewhere.
fn of_all(sides: &Sides<'_>, delta: f64, p: Option<f64>) -> String {
    let p = p.map(|p| format!(" (p = {})", p_text(p))).unwrap_or_default();
    let whole = sides.whole();
    let of = if (0.0..=1.05).contains(&(delta / whole)) { " of" } else { "; together with all else" };
    format!(": {}{of} {} in all{p}", signed(delta), signed(whole))
}

/// Where the time is of a function that is called more or less often: in itself, or in what it calls.
fn effect_below<'a>(sides: &Sides<'a>, function: usize, along: f64) -> Option<&'a Change> {
    let delta = |it: &Change| {
        let ns = it.weighed_ns();
        (ns.1 - ns.0) * along
    };
    let reached = sides.calls.reached_from(function);
    let all = (0..reached.len()).filter(|it| *it == function || reached[*it]);
    all.filter_map(|it| sides.change(it)).max_by(|left, right| delta(left).total_cmp(&delta(right)))
}

/// What a function called outside, if most of its difference is there.
fn outside(sides: &Sides<'_>, of: &Change) -> Option<String> {
    let mean_of = |runs: &[Run]| -> BTreeMap<String, (f64, f64)> {
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for run in runs {
            for (name, it) in run.functions.get(&of.name).into_iter().flat_map(|it| &it.outside) {
                let sum = sums.entry(name.clone()).or_default();
                sum.0 += it.calls as f64 / runs.len() as f64;
                sum.1 += it.usual_ns as f64 / runs.len() as f64;
            }
        }
        sums
    };
    let (a, mut b) = (mean_of(sides.a), mean_of(sides.b));
    for name in a.keys() {
        b.entry(name.clone()).or_default();
    }
    let delta = |name: &str, b: &(f64, f64)| b.1 - a.get(name).map_or(0.0, |it| it.1);
    let whole = of.usual_ns.1 - of.usual_ns.0;
    let (name, b) = b.iter().max_by(|x, y| (delta(x.0, x.1) * whole).total_cmp(&(delta(y.0, y.1) * whole)))?;
    let is_most = delta(name, b) / whole >= 0.5;
    is_most.then(|| {
        let before = a.get(name).map_or(0.0, |it| it.0).round() as u64;
        format!("{} ({} → {} calls)", brief_name(name), thousands(before), thousands(b.0.round() as u64))
    })
}

/// Functions that a caller called on the first side only.
fn gone_below(sides: &Sides<'_>, caller: &str, but: &str) -> Vec<String> {
    let callees = sides.a.iter().flat_map(|run| run.callers.keys()).filter(|(from, _)| from == caller);
    let mut gone: Vec<String> = callees.map(|(_, to)| to.clone()).filter(|to| to != but).collect();
    gone.sort();
    gone.dedup();
    gone.retain(|name| {
        let change = sides.number(name).and_then(|it| sides.change(it));
        change.is_some_and(|it| it.kind == Kind::Gone)
    });
    gone.truncate(3);
    gone
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
