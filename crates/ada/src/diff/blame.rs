//! Whose doing a difference is: for each function, what changed by how long its calls take, and by how often it calls others.
//!
//! A function's time is the number of its calls times what each takes. Its calls are those of its callers times how often each of these calls it, and so
//! on up to the start of the program. The difference of a product is shared out among its factors by their logarithms, so
//! that the parts add up to the whole and no order of changes is preferred (the logarithmic mean Divisia index). A function
//! that is called four times as often, and takes four times as long each time, is to blame for half of the difference, and
//! whoever calls it so often for the other half.

use std::collections::BTreeMap;

/// A figure on both sides.
pub(super) type Pair = (f64, f64);

/// What has no caller is called by the start of the program, which is called once.
pub(super) const START: usize = 0;

/// Times that are no time at all have no logarithm.
const LEAST_NS: f64 = 1e-3;
/// Rounds after which prices of functions that call each other are near enough.
const MOST_ROUNDS: usize = 200;

/// Who calls whom, by number.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    /// Of each function; the first is the start of the program.
    pub(super) calls: Vec<Pair>,
    /// Without what it called.
    pub(super) ns: Vec<Pair>,
    /// By caller and callee.
    pub(super) edges: BTreeMap<(usize, usize), Pair>,
}

/// What a function has done to the difference.
#[derive(Clone, Debug, Default)]
pub(super) struct Blame {
    /// By the time of each call.
    pub(super) time: f64,
    /// By how often each of its calls calls others.
    pub(super) calls: BTreeMap<usize, f64>,
}

impl Calls {
    /// How often each call of a caller calls a function; what one side lacks is as on the other.
    fn rate(&self, (from, to): (usize, usize)) -> Pair {
        let (calls, edge) = (self.calls[from], self.edges[&(from, to)]);
        match calls {
            (a, b) if a > 0.0 && b > 0.0 => (edge.0 / a, edge.1 / b),
            (_, b) if b > 0.0 => (edge.1 / b, edge.1 / b),
            (a, _) if a > 0.0 => (edge.0 / a, edge.0 / a),
            _ => (0.0, 0.0),
        }
    }

    /// The rate by which calls of the caller lead to calls of the other, whichever side they are of.
    fn middle_rate(&self, edge: (usize, usize)) -> f64 {
        let calls = self.calls[edge.0];
        if calls.0 > 0.0 && calls.1 > 0.0 { middle(self.edges[&edge]) / middle(calls) } else { self.rate(edge).0 }
    }

    /// What a call costs by itself, whichever side it is of.
    fn middle_time(&self, function: usize) -> f64 {
        let (calls, ns) = (self.calls[function], self.ns[function]);
        match calls {
            (a, b) if a > 0.0 && b > 0.0 => middle((ns.0.max(LEAST_NS), ns.1.max(LEAST_NS))) / middle(calls),
            (_, b) if b > 0.0 => ns.1 / b,
            (a, _) if a > 0.0 => ns.0 / a,
            _ => 0.0,
        }
    }

    /// What a call of each function costs with all that it leads to.
    fn prices(&self) -> Vec<f64> {
        let mut below: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.calls.len()];
        for &edge in self.edges.keys() {
            below[edge.0].push((edge.1, self.middle_rate(edge)));
        }
        let most = self.ns.iter().map(|it| it.0.max(it.1)).sum::<f64>();
        let order = inner_first(&below);
        let mut prices = vec![0.0_f64; self.calls.len()];
        for _ in 0..MOST_ROUNDS {
            let mut has_moved = false;
            for &function in &order {
                let others = below[function].iter().filter(|(to, _)| *to != function);
                let price = others.fold(self.middle_time(function), |sum, (to, rate)| sum + rate * prices[*to]);
                // Of what calls itself, each call from elsewhere leads to some more.
                let again = below[function].iter().find(|(to, _)| *to == function).map_or(0.0, |it| it.1);
                let price = (price / (1.0 - again).max(1e-9)).min(most);
                has_moved |= (price - prices[function]).abs() > 1e-6 * price;
                prices[function] = price;
            }
            if !has_moved {
                break;
            }
        }
        prices
    }

    /// What each function has done.
    pub(super) fn blames(&self) -> Vec<Blame> {
        let prices = self.prices();
        let mut blames = vec![Blame::default(); self.calls.len()];
        for (function, blame) in blames.iter_mut().enumerate() {
            let (calls, ns) = (self.calls[function], self.ns[function]);
            if calls.0 > 0.0 && calls.1 > 0.0 {
                let ns = (ns.0.max(LEAST_NS), ns.1.max(LEAST_NS));
                blame.time = middle(ns) * growth((ns.0 / calls.0, ns.1 / calls.1));
            }
        }
        for (&(from, to), &edge) in &self.edges {
            let rate = self.rate((from, to));
            let more = match rate {
                (a, b) if a > 0.0 && b > 0.0 => middle(edge) * growth(rate),
                // The caller is of one side only: this one is there because of it.
                _ if self.calls[from].0 == 0.0 || self.calls[from].1 == 0.0 => 0.0,
                _ => edge.1 - edge.0,
            };
            blames[from].calls.insert(to, more * prices[to]);
        }
        blames
    }

    /// Which functions calls of this one lead to.
    pub(super) fn reached_from(&self, function: usize) -> Vec<bool> {
        let mut reached = vec![false; self.calls.len()];
        let mut next = vec![function];
        while let Some(from) = next.pop() {
            for (&(_, to), _) in self.edges.range((from, 0)..=(from, usize::MAX)) {
                if !std::mem::replace(&mut reached[to], true) {
                    next.push(to);
                }
            }
        }
        reached
    }
}

/// The logarithmic mean.
pub(super) fn middle((a, b): Pair) -> f64 {
    if a <= 0.0 || b <= 0.0 {
        0.0
    } else if (a - b).abs() <= 1e-9 * a {
        a
    } else {
        (b - a) / (b / a).ln()
    }
}

/// By which factor something grew, as a logarithm.
pub(super) fn growth((a, b): Pair) -> f64 {
    (b / a).ln()
}

/// All functions, each behind those that it calls where these do not call it.
fn inner_first(below: &[Vec<(usize, f64)>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(below.len());
    let mut seen = vec![false; below.len()];
    for start in 0..below.len() {
        let mut open = Vec::new();
        if !std::mem::replace(&mut seen[start], true) {
            open.push((start, 0));
        }
        while let Some((function, at)) = open.pop() {
            match below[function].get(at) {
                Some(&(to, _)) => {
                    open.push((function, at + 1));
                    if !std::mem::replace(&mut seen[to], true) {
                        open.push((to, 0));
                    }
                }
                None => order.push(function),
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions by their calls and time, edges by caller and callee.
    fn graph(functions: &[(Pair, Pair)], edges: &[((usize, usize), Pair)]) -> Calls {
        let start = ((1.0, 1.0), (0.0, 0.0));
        let all = || std::iter::once(&start).chain(functions);
        Calls {
            calls: all().map(|it| it.0).collect(),
            ns: all().map(|it| it.1).collect(),
            edges: edges.iter().copied().collect(),
        }
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-3 * b.abs().max(1.0)
    }

    fn sum(blames: &[Blame]) -> f64 {
        blames.iter().map(|it| it.time + it.calls.values().sum::<f64>()).sum()
    }

    #[test]
    fn who_calls_more_often_than_before_is_to_blame_and_not_those_on_the_way() {
        // main calls total, that calls at a thousand times, and that calls next once, or 500 times.
        let calls = graph(
            &[((1.0, 1.0), (10.0, 10.0)), ((1.0, 1.0), (1e3, 1e3)), ((1e3, 1e3), (1e4, 1e4)), ((1e3, 5e5), (1e4, 5e6))],
            &[((0, 1), (1.0, 1.0)), ((1, 2), (1.0, 1.0)), ((2, 3), (1e3, 1e3)), ((3, 4), (1e3, 5e5))],
        );
        let blames = calls.blames();
        assert!(is_near(blames[3].calls[&4], 4.99e6), "{blames:?}");
        assert!(is_near(sum(&blames), 4.99e6), "{blames:?}");
        assert!(
            [0, 1, 2, 4]
                .iter()
                .all(|&it| blames[it].time.abs() < 1.0 && blames[it].calls.values().all(|it| it.abs() < 1.0))
        );
        assert_eq!(calls.reached_from(2), [false, false, false, true, true]);
    }

    #[test]
    fn more_input_and_what_grows_faster_than_it_share_the_difference() {
        // Four times the input, and each insertion takes four times as long.
        let calls = graph(
            &[((1.0, 1.0), (0.0, 0.0)), ((1e3, 4e3), (1e6, 16e6))],
            &[((0, 1), (1.0, 1.0)), ((1, 2), (1e3, 4e3))],
        );
        let blames = calls.blames();
        assert!(is_near(blames[1].calls[&2], 7.5e6) && is_near(blames[2].time, 7.5e6), "{blames:?}");
    }

    #[test]
    fn a_new_function_is_its_callers_doing_with_all_below_it() {
        let calls = graph(
            &[
                ((1.0, 1.0), (0.0, 0.0)),
                ((0.0, 10.0), (0.0, 50.0)),
                ((0.0, 100.0), (0.0, 200.0)),
                ((5.0, 0.0), (70.0, 0.0)),
            ],
            &[((0, 1), (1.0, 1.0)), ((1, 2), (0.0, 10.0)), ((2, 3), (0.0, 100.0)), ((1, 4), (5.0, 0.0))],
        );
        let blames = calls.blames();
        assert!(is_near(blames[1].calls[&2], 250.0) && is_near(blames[1].calls[&4], -70.0), "{blames:?}");
        assert!(is_near(blames[2].calls[&3], 0.0), "{blames:?}");
    }

    #[test]
    fn functions_that_call_each_other_have_a_price() {
        // A walk that goes twice as deep, through two functions.
        let calls = graph(
            &[((10.0, 20.0), (100.0, 200.0)), ((9.0, 19.0), (90.0, 190.0))],
            &[((0, 1), (1.0, 1.0)), ((1, 2), (9.0, 19.0)), ((2, 1), (9.0, 19.0))],
        );
        assert!(is_near(sum(&calls.blames()), 200.0), "{:?}", calls.blames());
        // And one that calls itself.
        let calls = graph(&[((10.0, 20.0), (100.0, 200.0))], &[((0, 1), (1.0, 1.0)), ((1, 1), (9.0, 19.0))]);
        assert!(is_near(calls.blames()[1].calls[&1], 100.0), "{:?}", calls.blames());
    }
}
