//! The one change that explains most: the function whose own doing it is, by itself or by what it calls.

use std::collections::BTreeMap;

use ada_query::lens::Outside;

use super::blame::{Blame, Calls, Pair, START, growth, middle};
use super::change::{Change, Kind, LEAST_OF_ALL, LEAST_SHARE, is_sure, mean};
use super::figures::Run;
use super::significance::welch;

/// Of a function that is called more often because of another, so large a part of the other's doing makes it the cause.
const WORTH_GOING_DOWN: f64 = 1.0 / 3.0;
/// And so large a part of its own growth has to be its own doing. Sorting has less: it grows a little faster than its input.
const OWN_GROWTH: f64 = 0.4;
/// The machine can make anything slower for a while. Calls are the program's own doing, and weigh more.
const CALLS_WEIGH: f64 = 3.0;

/// Both sides, for questions about who calls whom.
pub(super) struct Sides<'a> {
    pub(super) a: &'a [Run],
    pub(super) b: &'a [Run],
    /// By number; the start of the program has none.
    changes: Vec<Option<&'a Change>>,
    numbers: BTreeMap<&'a str, usize>,
    /// Behind the functions come what they call that is not shown: the caller's number, and the name.
    pub(super) outside: Vec<(usize, &'a str)>,
    pub(super) calls: Calls,
    /// By who had taken locks: how long others waited for these.
    pub(super) held: BTreeMap<usize, Held<'a>>,
}

/// How long others waited for a function's locks.
pub(super) struct Held<'a> {
    ns: Pair,
    pub(super) p: Option<f64>,
    /// The function whose waits changed most.
    pub(super) waiter: &'a str,
    pub(super) waiter_ns: Pair,
}

/// What a function has done, of what counts.
#[derive(Clone, Debug)]
pub(super) struct Doing {
    pub(super) function: usize,
    /// Its own time follows from how often it calls others: it goes round a loop more often.
    follows_calls: bool,
    pub(super) blame: Blame,
    /// By locks that it had.
    pub(super) held: f64,
}

impl Doing {
    fn of_calls(&self) -> f64 {
        self.blame.calls.values().sum()
    }

    pub(super) fn all(&self) -> f64 {
        self.blame.time + self.of_calls() + self.held
    }

    fn weight(&self) -> f64 {
        self.all().abs() * if self.callee().is_some() { CALLS_WEIGH } else { 1.0 }
    }

    /// What it calls more, or less, often, if that is most of it.
    pub(super) fn callee(&self) -> Option<usize> {
        let along = self.of_calls().signum();
        let most = self.blame.calls.iter().max_by(|left, right| (left.1 * along).total_cmp(&(right.1 * along)))?;
        let time = if self.follows_calls { 0.0 } else { self.blame.time.abs() };
        (self.of_calls().abs() > time.max(self.held.abs())).then_some(*most.0)
    }
}

impl<'a> Sides<'a> {
    pub(super) fn new(a: &'a [Run], b: &'a [Run], changes: &'a [Change]) -> Self {
        let mut sides = Self {
            a,
            b,
            changes: vec![None],
            numbers: BTreeMap::from([("", START)]),
            outside: Vec::new(),
            calls: Calls { calls: vec![(1.0, 1.0)], ns: vec![(0.0, 0.0)], edges: BTreeMap::new() },
            held: BTreeMap::new(),
        };
        for change in changes.iter().filter(|it| !it.name.is_empty()) {
            sides.numbers.insert(&change.name, sides.changes.len());
            sides.changes.push(Some(change));
            sides.calls.calls.push(change.calls);
            sides.calls.ns.push(change.weighed_ns());
        }
        let mut held: BTreeMap<(usize, &'a str), Pair> = BTreeMap::new();
        let mut outside: BTreeMap<(usize, &'a str), (Pair, Pair)> = BTreeMap::new();
        for (runs, is_b) in [(a, false), (b, true)] {
            let add = |sum: &mut Pair, value: u64| {
                *(if is_b { &mut sum.1 } else { &mut sum.0 }) += value as f64 / runs.len() as f64;
            };
            for run in runs {
                let called =
                    run.functions.iter().flat_map(|(from, it)| it.outside.iter().map(move |(to, it)| (from, to, it)));
                for (from, to, it) in called {
                    if let Some(from) = sides.number(from) {
                        let sum = outside.entry((from, to)).or_default();
                        add(&mut sum.0, it.calls);
                        add(&mut sum.1, it.usual_ns);
                    }
                }
                for ((from, to), Outside { calls, .. }) in &run.callers {
                    if let Some(edge) = sides.number(from).zip(sides.number(to)) {
                        add(sides.calls.edges.entry(edge).or_default(), *calls);
                    }
                }
                for ((holder, waiter), ns) in &run.held {
                    if let Some(holder) = sides.number(holder) {
                        add(held.entry((holder, waiter)).or_default(), *ns);
                    }
                }
            }
        }
        for ((from, to), (calls, ns)) in outside {
            let own = &mut sides.calls.ns[from];
            // Of both, what is waited for others is left out in its own way.
            *own = ((own.0 - ns.0).max(0.0), (own.1 - ns.1).max(0.0));
            sides.calls.edges.insert((from, sides.calls.calls.len()), calls);
            sides.calls.calls.push(calls);
            sides.calls.ns.push(ns);
            sides.outside.push((from, to));
        }
        for ((holder, waiter), ns) in held {
            let delta = |it: Pair| (it.1 - it.0).abs();
            let new = Held { ns: (0.0, 0.0), p: sides.held_p(holder), waiter, waiter_ns: ns };
            let sum = sides.held.entry(holder).or_insert(new);
            sum.ns = (sum.ns.0 + ns.0, sum.ns.1 + ns.1);
            if delta(ns) > delta(sum.waiter_ns) {
                (sum.waiter, sum.waiter_ns) = (waiter, ns);
            }
        }
        sides
    }

    /// Whether waits for a function's locks differ by more than chance.
    fn held_p(&self, holder: usize) -> Option<f64> {
        let name = &self.change(holder)?.name;
        let of = |runs: &[Run]| -> Vec<f64> {
            let sum = |run: &Run| run.held.iter().filter(|((it, _), _)| it == name).map(|(_, ns)| *ns as f64).sum();
            runs.iter().map(sum).collect()
        };
        welch(&of(self.a), &of(self.b))
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    pub(super) fn change(&self, function: usize) -> Option<&'a Change> {
        self.changes.get(function).copied().flatten()
    }

    /// What is called that is not shown, and by whom.
    pub(super) fn outside(&self, number: usize) -> Option<(usize, &'a str)> {
        self.outside.get(number.checked_sub(self.changes.len())?).copied()
    }

    /// Whether a function, shown or not, is called more or less often by more than chance.
    fn has_other_calls(&self, function: usize) -> bool {
        let Some((from, name)) = self.outside(function) else {
            return self.change(function).is_some_and(|it| is_sure(it.calls_p));
        };
        let Some(caller) = self.change(from) else { return false };
        let of = |runs: &[Run]| -> Vec<f64> {
            let calls = |run: &Run| run.functions.get(&caller.name)?.outside.get(name).map(|it| it.calls as f64);
            runs.iter().map(|run| calls(run).unwrap_or_default()).collect()
        };
        is_sure(welch(&of(self.a), &of(self.b)))
    }

    /// How much longer all took.
    pub(super) fn whole(&self) -> f64 {
        mean_all(self.b) - mean_all(self.a)
    }

    /// Whose doing it is, if anything changed.
    pub(super) fn cause(&self) -> Option<Doing> {
        let doings = self.doings();
        let heaviest = |them: &mut dyn Iterator<Item = &Doing>| -> Option<usize> {
            them.max_by(|left, right| left.weight().total_cmp(&right.weight())).map(|it| it.function)
        };
        let changed = || doings.iter().filter(|it| it.all() != 0.0);
        // What goes with the whole explains it; what goes against it only makes it smaller.
        let along = heaviest(&mut changed().filter(|it| it.all().signum() == self.whole().signum()));
        let Some(found) = along.or_else(|| heaviest(&mut changed())) else { return self.largest() };
        let cause = self.below(&doings, found).unwrap_or(&doings[found]);
        Some(cause.clone())
    }

    /// The function whose time changed most, where nothing is known of why.
    fn largest(&self) -> Option<Doing> {
        let delta = |it: &Change| it.busy_ns.1 - it.busy_ns.0;
        let changed = (0..self.changes.len()).filter_map(|it| Some((it, self.change(it)?)));
        let changed = changed.filter(|(_, it)| matches!(it.kind, Kind::Slower | Kind::Faster) && delta(it) != 0.0);
        let (function, change) = changed.max_by(|left, right| delta(left.1).abs().total_cmp(&delta(right.1).abs()))?;
        let blame = Blame { time: delta(change), calls: BTreeMap::new() };
        Some(Doing { function, follows_calls: false, blame, held: 0.0 })
    }

    /// What each function has done, but for what may be chance.
    fn doings(&self) -> Vec<Doing> {
        let all = (mean_all(self.a) + mean_all(self.b)) / 2.0;
        let is_other = |growth: f64| growth.abs() >= (1.0 + LEAST_SHARE).ln();
        let mut doings = Vec::new();
        let mut blames = self.calls.blames();
        let of_outside = blames.split_off(self.changes.len());
        // What others take for it is its own time, but not how often they do.
        self.outside.iter().zip(of_outside).for_each(|((from, _), blame)| blames[*from].time += blame.time);
        for (function, mut blame) in blames.into_iter().enumerate() {
            let is_by_time = self.change(function).is_some_and(|it| {
                is_other(self.growth_of_time(function, &blame))
                    && is_sure(it.p)
                    && blame.time.abs() >= LEAST_OF_ALL * all
            });
            if !is_by_time {
                blame.time = 0.0;
            }
            blame.calls.retain(|to, ns| {
                *ns != 0.0 && is_other(self.growth_of_calls(function, *to)) && self.has_other_calls(*to)
            });
            let held = self.held.get(&function).map_or(0.0, |it| {
                let delta = it.ns.1 - it.ns.0;
                let counts = delta.abs() >= LEAST_SHARE * it.ns.0 && delta.abs() >= LEAST_OF_ALL * all && is_sure(it.p);
                if counts { delta } else { 0.0 }
            });
            let follows_calls = self.follows_calls(function, &blame);
            doings.push(Doing { function, blame, held, follows_calls });
        }
        doings
    }

    /// By which factor the time of a function's calls grew, as a logarithm.
    fn growth_of_time(&self, function: usize, blame: &Blame) -> f64 {
        let ns = self.change(function).map_or((0.0, 0.0), Change::weighed_ns);
        blame.time / middle((ns.0.max(1.0), ns.1.max(1.0)))
    }

    /// The same of how often each of its calls makes another.
    fn growth_of_calls(&self, from: usize, to: usize) -> f64 {
        let (calls, edge) = (self.calls.calls[from], self.calls.edges.get(&(from, to)).copied().unwrap_or_default());
        growth((edge.0 / calls.0, edge.1 / calls.1))
    }

    /// Whether a function's own time grew because it calls another so much more often: by no larger a factor, and with a good part
    /// of the difference in the other.
    fn follows_calls(&self, function: usize, blame: &Blame) -> bool {
        blame.calls.iter().any(|(to, ns)| {
            let (calls, time) = (self.growth_of_calls(function, *to), self.growth_of_time(function, blame));
            calls * time > 0.0 && time.abs() <= 1.25 * calls.abs() && ns / blame.time >= 0.25
        })
    }

    /// Who has four times as much to do calls everything four times as often. If one of these then takes four times as long as
    /// well, each time, that one is the cause and not the other.
    fn below<'d>(&self, doings: &'d [Doing], function: usize) -> Option<&'d Doing> {
        let above = doings[function].all();
        let reached = self.calls.reached_from(function);
        let is_cause = |it: &&Doing| {
            let calls = growth(self.calls.calls[it.function]) * above.signum();
            let own = match it.callee() {
                Some(to) => self.growth_of_calls(it.function, to),
                None => self.growth_of_time(it.function, &it.blame),
            };
            let own = own * above.signum();
            let is_called_more = calls.is_finite() && calls >= (1.0 + LEAST_SHARE).ln();
            it.function != function
                && reached[it.function]
                && is_called_more
                && it.all() * above.signum() >= WORTH_GOING_DOWN * above.abs()
                && own >= OWN_GROWTH * (own + calls)
        };
        doings.iter().filter(is_cause).max_by(|left, right| left.all().abs().total_cmp(&right.all().abs()))
    }
}

pub(super) fn mean_all(runs: &[Run]) -> f64 {
    mean(&runs.iter().map(|run| run.all_ns as f64).collect::<Vec<_>>())
}
