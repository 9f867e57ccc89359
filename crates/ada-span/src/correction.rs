//! Durations without what recording them took: the hooks inside them, and waits for room to record into.
//!
//! Hooks were calibrated when the trace began; `docs/overhead.md` has the formula. The result is an estimate, and comes
//! with how far it may be off.

use std::collections::HashMap;

use ada_event::{EventSeq, ThreadId, TraceNanos};
use ada_format::atf::Manifest;

use crate::callers::Callers;
use crate::costs::{Costs, SelfCosts, SpanEnds};
use crate::error::SpanError;
use crate::table::{Column, Columns, FunctionIndex, Tables};
use crate::thread_index::ThreadIndex;

/// What recording took in a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correction {
    /// Nanoseconds of a recorded call and its return.
    pair: f64,
    pair_error: f64,
    /// How many of them lie between the two time stamps.
    inside: f64,
    inside_error: f64,
    /// How many times as long as calibrated hooks take in a program, at least and at most.
    at_least: f64,
    at_most: f64,
    /// Waits of each thread: when they ended, and the sum up to then.
    waits: HashMap<ThreadId, Vec<(TraceNanos, u64)>>,
}

/// A duration without what recording took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corrected {
    /// Nanoseconds.
    pub ns: u64,
    /// How far they may be off.
    pub error_ns: u64,
}

impl Correction {
    /// What a manifest knows of it; nothing where hooks were not calibrated.
    pub fn of(manifest: &Manifest) -> Option<Self> {
        let cost = manifest.hook_cost_ns.as_ref()?;
        let mut waits: HashMap<ThreadId, Vec<(TraceNanos, u64)>> = HashMap::new();
        for gap in manifest.gaps.iter().filter(|gap| gap.waited_ns > 0) {
            waits.entry(gap.thread).or_default().push((gap.time_ns, gap.waited_ns));
        }
        for waits in waits.values_mut() {
            waits.sort_unstable();
            let mut sum = 0_u64;
            for (_, waited) in waits {
                sum = sum.saturating_add(*waited);
                *waited = sum;
            }
        }
        let usable = |value: f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
        let (pair, inside) = (usable(cost.pair), usable(cost.inside));
        let at_least = usable(cost.at_least);
        Some(Self {
            at_least,
            at_most: usable(cost.at_most).max(at_least),
            pair,
            pair_error: usable(cost.pair_error),
            inside: inside.min(pair),
            inside_error: usable(cost.inside_error),
            waits,
        })
    }

    /// How long a thread waited for room after one time, up to another.
    #[inline]
    pub fn waited(&self, thread: ThreadId, after: TraceNanos, until: TraceNanos) -> u64 {
        let Some(waits) = self.waits.get(&thread) else { return 0 };
        let sum_at = |time: TraceNanos| match waits.partition_point(|&(end, _)| end <= time) {
            0 => 0,
            count => waits[count - 1].1,
        };
        sum_at(until).saturating_sub(sum_at(after))
    }

    /// The same of one thread, for spans in about the order in which they begin.
    pub fn of_thread(&self, thread: ThreadId) -> ThreadWaits<'_> {
        ThreadWaits { waits: self.waits.get(&thread).map_or(&[], Vec::as_slice), next: 0 }
    }

    /// How long each function of the tables waited for room itself, by its index.
    pub fn waited_in_functions(&self, tables: &Tables) -> Result<Vec<u64>, SpanError> {
        let mut sums = vec![0_u64; tables.meta().functions.len()];
        for (thread, entry) in ThreadIndex::all(tables.meta().threads.len()).zip(&tables.meta().threads) {
            let Some(waits) = self.waits.get(&entry.id) else { continue };
            let mut callers = Callers::new(tables, thread, &[]);
            let mut before = 0;
            for (end, sum) in waits {
                let function = callers.open_at(*end)?;
                if let Some(own) = function.and_then(|function| sums.get_mut(function.as_usize())) {
                    *own = own.saturating_add(sum - before);
                }
                before = *sum;
            }
        }
        Ok(sums)
    }

    /// A sum of durations without what recording took in them.
    pub fn total(&self, ns: u64, costs: &Costs) -> Corrected {
        let (ends, events) = (costs.ends as f64 / 2.0, costs.events as f64 / 2.0);
        let hooks = ends * self.inside + events * self.pair;
        let error = ends * self.inside_error + events * self.pair_error;
        self.without(ns, hooks, error, costs.waited_ns as f64)
    }

    /// The same for a sum of self times.
    pub fn of_self(&self, ns: u64, costs: &SelfCosts) -> Corrected {
        let [ends, below, entries] = [costs.ends, costs.ends_below, costs.entries].map(|count| count as f64 / 2.0);
        let hooks = ends * self.inside + below * (self.pair - self.inside) + entries * self.pair;
        // The two errors of what lies outside a span are of one measurement, and not independent.
        let error = ends * self.inside_error + (below + entries) * self.pair_error;
        self.without(ns, hooks, error, costs.waited_ns as f64)
    }

    /// The middle of all that a time may be without hooks and waits. Waits are known; a time is never less than nothing.
    fn without(&self, ns: u64, hooks: f64, error: f64, waited: f64) -> Corrected {
        let left = |hooks: f64| (ns as f64 - waited - hooks).max(0.0);
        let most = left((hooks - error).max(0.0) * self.at_least);
        let least = left((hooks + error) * self.at_most);
        Corrected { ns: ((least + most) / 2.0).round() as u64, error_ns: ((most - least) / 2.0).ceil() as u64 }
    }

    /// What recording took in each function of the tables, by its index: in all, where a function that calls itself counts
    /// once, and in itself.
    pub fn functions(&self, tables: &Tables) -> Result<Vec<(Costs, SelfCosts)>, SpanError> {
        let mut functions = vec![(Costs::default(), SelfCosts::default()); tables.meta().functions.len()];
        let mut columns = Columns::new();
        let mut open_counts = vec![0_u32; functions.len()];
        for (thread, entry) in ThreadIndex::all(tables.meta().threads.len()).zip(&tables.meta().threads) {
            let mut open: Vec<OpenSpan> = Vec::new();
            let mut waits = self.of_thread(entry.id);
            for block in tables.blocks_of(thread) {
                tables.read(block, |column| !matches!(column, Column::SelfTime | Column::Context), &mut columns)?;
                for row in 0..columns.rows() {
                    let span = SpanEnds::read(&columns, row);
                    while let Some(last) = open.pop_if(|last| span.parent != Some(last.seq)) {
                        last.end(span.seq, &mut open_counts, &mut functions);
                    }
                    let waited = waits.between(span.start, span.end);
                    Self::add(&span, waited, &mut open, &mut open_counts, &mut functions);
                }
            }
            while let Some(last) = open.pop() {
                last.end(EventSeq(entry.facts.events), &mut open_counts, &mut functions);
            }
        }
        Ok(functions)
    }

    fn add(
        span: &SpanEnds,
        waited: u64,
        open: &mut Vec<OpenSpan>,
        open_counts: &mut [u32],
        functions: &mut [(Costs, SelfCosts)],
    ) {
        if let Some(parent) = open.last() {
            functions[parent.function.as_usize()].1.add_below(span, waited);
        }
        let (total, own) = &mut functions[span.function.as_usize()];
        own.add(span, waited);
        if span.has_length() {
            let open_calls = &mut open_counts[span.function.as_usize()];
            let is_outermost = *open_calls == 0;
            *open_calls += 1;
            if is_outermost {
                total.ends += span.ends();
                total.waited_ns = total.waited_ns.saturating_add(waited);
            }
            open.push(OpenSpan { seq: span.seq, close: span.close, function: span.function, is_outermost });
        }
    }
}

/// The waits of a thread. Spans that are asked for come one after the other, and few of them have any.
#[derive(Clone, Debug)]
pub struct ThreadWaits<'a> {
    waits: &'a [(TraceNanos, u64)],
    /// The first that ended after the last span's beginning.
    next: usize,
}

impl ThreadWaits<'_> {
    /// How long the thread waited for room after one time, up to another.
    #[inline]
    pub fn between(&mut self, after: TraceNanos, until: TraceNanos) -> u64 {
        while self.waits.get(self.next).is_some_and(|(end, _)| *end <= after) {
            self.next += 1;
        }
        while self.next > 0 && self.waits[self.next - 1].0 > after {
            self.next -= 1;
        }
        let later = &self.waits[self.next..];
        if later.first().is_none_or(|(end, _)| *end > until) {
            return 0;
        }
        let sum_before = self.next.checked_sub(1).map_or(0, |before| self.waits[before].1);
        later[later.partition_point(|(end, _)| *end <= until) - 1].1 - sum_before
    }
}

impl Corrected {
    /// Of two durations together.
    pub fn plus(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_add(other.ns), error_ns: self.error_ns.saturating_add(other.error_ns) }
    }
}

struct OpenSpan {
    seq: EventSeq,
    close: Option<EventSeq>,
    function: FunctionIndex,
    is_outermost: bool,
}

impl OpenSpan {
    /// The span is over; where nothing says when, before this event.
    fn end(self, before: EventSeq, open_counts: &mut [u32], functions: &mut [(Costs, SelfCosts)]) {
        open_counts[self.function.as_usize()] -= 1;
        if self.is_outermost {
            let total = &mut functions[self.function.as_usize()].0;
            total.events = total.events.saturating_add(self.close.unwrap_or(before).since(self.seq.next()));
        }
    }
}

#[cfg(test)]
mod tests {
    use ada_format::atf::{Gap, HookCost};

    use super::*;

    fn correction() -> Correction {
        let cost = HookCost {
            pair: 40.0,
            pair_error: 2.0,
            inside: 10.0,
            inside_error: 1.0,
            at_least: 1.0,
            at_most: 2.0,
            ..HookCost::default()
        };
        let gap = |time: u64, waited_ns: u64| {
            let (thread, time_ns) = (ThreadId(7), TraceNanos(time));
            Gap { thread, time_ns, waited_ns, ..Gap::default() }
        };
        let gaps = vec![gap(500, 100), gap(200, 50)];
        Correction::of(&Manifest { hook_cost_ns: Some(cost), gaps, ..Manifest::default() }).unwrap()
    }

    #[test]
    fn a_span_loses_its_own_hook_those_below_and_the_waits() {
        let costs = Costs { ends: 2, events: 6, waited_ns: 100 };
        // One pair partly, and three: 130 ± 7, once to twice.
        let [most, least] = [1000 - 100 - 123, 1000 - 100 - 2 * 137_u64];
        assert_eq!(
            correction().total(1000, &costs),
            Corrected { ns: (most + least).div_ceil(2), error_ns: (most - least).div_ceil(2) }
        );
        assert_eq!(correction().total(20, &costs), Corrected::default(), "never less than nothing");
        assert_eq!(correction().total(300, &costs), Corrected { ns: 39, error_ns: 39 }, "77 at most");
    }

    #[test]
    fn self_times_of_a_tree_lose_what_its_root_loses() {
        // A root with two children, one of which has a child and makes an entry-only call.
        let root = SelfCosts { ends: 2, ends_below: 4, entries: 0, waited_ns: 0 };
        let first = SelfCosts { ends: 2, ends_below: 2, entries: 1, waited_ns: 0 };
        let leaf = SelfCosts { ends: 2, ..SelfCosts::default() };
        let cost = |costs: &SelfCosts| 1000 - correction().of_self(1000, costs).ns;
        let whole = 1000 - correction().total(1000, &Costs { ends: 2, events: 7, waited_ns: 0 }).ns;
        assert_eq!(cost(&root) + cost(&first) + 2 * cost(&leaf), whole);
    }

    #[test]
    fn a_wait_belongs_to_what_was_open_when_it_ended() {
        let correction = correction();
        let waited = [(100, 600), (200, 500), (100, 200), (0, 199), (500, 900)]
            .map(|(a, b)| correction.waited(ThreadId(7), TraceNanos(a), TraceNanos(b)));
        assert_eq!(waited, [150, 100, 50, 0, 0]);
        let mut of_thread = correction.of_thread(ThreadId(7));
        let again = [(100, 600), (0, 199), (200, 500), (500, 900), (100, 200)]
            .map(|(a, b)| of_thread.between(TraceNanos(a), TraceNanos(b)));
        assert_eq!(again, [150, 0, 100, 0, 50]);
        assert_eq!(correction.waited(ThreadId(8), TraceNanos(0), TraceNanos(1000)), 0);
    }

    #[test]
    fn without_a_calibration_there_is_nothing_to_take_out() {
        assert_eq!(Correction::of(&Manifest::default()), None);
    }
}
