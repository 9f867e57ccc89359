//! Calls that took much longer than others of the same function, and functions that take most of the time.

use std::collections::BTreeMap;

use ada_event::{EventSeq, TraceNanos};
use ada_span::state::ThreadState;
use ada_span::table::{Column, Columns, FunctionIndex};
use ada_span::{FunctionStats, ThreadIndex};
use serde_json::json;

use super::slow_calls::{SlowCall, SlowCalls};
use super::{About, Finding, nanoseconds, pairs};
use crate::error::QueryError;
use crate::ownership::own_functions;
use crate::predicate::{Measure, Ready};
use crate::scan::Matching;
use crate::span::{Extent, FrameSpan};

/// A call this much longer than half of its function's is worth a look.
const OUTLIER: u64 = 10;
/// Functions with fewer calls have no usual duration to speak of.
const ENOUGH_CALLS: u64 = 10;
/// Of so many, one that is slow stands out.
const MANY_CALLS: u64 = 100;
/// Shorter calls are not worth a look, whatever their function's others are like.
const SHORTEST_OUTLIER: u64 = 100_000;
/// Nor are shorter ones that take less than this share of the time together, …
const SHORTEST_ALONE: u64 = 1_000_000;
const SHARE_OF_SHORT: f64 = 0.01;
/// … nor those that may be chance or meant, and are both shorter and take less.
const SHORTEST_DOUBTFUL: u64 = 10_000_000;
const SHARE_OF_DOUBTFUL: f64 = 0.05;
/// Functions with outliers that are looked into: most may turn out to have waited for a processor …
const MOST_LOOKED_INTO: usize = 32;
/// … and those that are told.
const MOST_TOLD: usize = 8;
/// A function that takes this share of all time in itself is hot.
const HOT_SHARE: f64 = 0.25;

/// `held_up`: by the recording, so that its waits are looked for.
pub(super) fn find(about: &About<'_>, held_up: bool) -> Result<Vec<Finding>, QueryError> {
    let meta = about.process.tables.meta();
    let is_own = own_functions(about.trace, about.process);
    let life = about.lifetime().max(1) as f64;
    let mut found = Vec::new();
    let is_outlier = |it: &FunctionStats| {
        it.timed >= ENOUGH_CALLS
            && it.max_ns >= SHORTEST_OUTLIER
            && it.quantile(0.5).is_some_and(|usual| it.max_ns / OUTLIER >= usual.max(1))
    };
    let functions = || (0..).map(FunctionIndex).zip(&meta.functions);
    let mut outliers: Vec<(FunctionIndex, &FunctionStats)> = functions().filter(|(_, it)| is_outlier(it)).collect();
    // The program's own first: a slow read or malloc shows in whoever called it.
    outliers.sort_by_key(|(index, it)| (!is_own[index.as_usize()], std::cmp::Reverse(it.max_ns), *index));
    outliers.truncate(MOST_LOOKED_INTO);
    let mut slow_ones = 0;
    for ((index, it), calls) in outliers.iter().zip(slow_calls(about, &outliers, &is_own)?) {
        if slow_ones == MOST_TOLD {
            break;
        }
        let index = *index;
        let slow = Slow::of(about, index, calls, &is_own)?;
        let Some(slow) = slow.filter(|slow| slow.is_worth_a_look(index, it, life)) else {
            continue;
        };
        slow_ones += 1;
        // A slow call is slow in all its callers; the outermost says most, and comes first.
        let is_known = found.iter().any(|known: &Finding| known.function.as_deref() == Some(&about.name(slow.culprit)));
        // A library's function is slow by what it was called for, which who called it shows.
        if !is_known && (slow.is_own || found.is_empty()) {
            found.push(slow.finding(about, index, it, life)?);
        }
    }
    found.extend(hot(about, &is_own, held_up)?);
    Ok(found)
}

/// For how long a call was neither slow nor fast: others had the processor, or it waited to be recorded. Nor is a library slow while it
/// waits, for its caller wants it to.
fn set_aside(about: &About<'_>, is_own: bool, thread: ThreadIndex, start: u64, elapsed: u64) -> u64 {
    let held_up = held_up(about, thread, start, elapsed);
    let waited =
        if is_own { held_up } else { held_up.max(in_state(about, ThreadState::Blocked, thread, start, elapsed)) };
    in_state(about, ThreadState::Ready, thread, start, elapsed).saturating_add(waited).min(elapsed)
}

/// For how long a thread was in a state during a call; 0 where that is not known.
fn in_state(about: &About<'_>, state: ThreadState, thread: ThreadIndex, start: u64, elapsed: u64) -> u64 {
    let end = TraceNanos(start.saturating_add(elapsed));
    about.process.known_state_times(thread, TraceNanos(start), end).map_or(0, |times| times.of(state))
}

/// For how long a call waited to be recorded, calls that it made among them.
fn held_up(about: &About<'_>, thread: ThreadIndex, start: u64, elapsed: u64) -> u64 {
    // What is short was hardly held up, and looking takes time.
    let correction = about.process.correction.as_ref().filter(|_| elapsed >= SHORTEST_OUTLIER);
    let end = TraceNanos(start.saturating_add(elapsed));
    correction.map_or(0, |it| it.waited(about.process.thread_id(thread), TraceNanos(start), end).min(elapsed))
}

/// A slow call: its duration, the time in the function that most of it went into, its thread and opening event.
type Example = (u64, u64, ThreadIndex, EventSeq);

/// The slow calls of a function, and what most of them spend their time in.
struct Slow {
    count: u64,
    total_ns: u64,
    culprit: FunctionIndex,
    /// The slowest call whose time went there.
    example: Example,
    is_own: bool,
}

/// From which duration on a call of a function is slow.
fn slow_from(it: &FunctionStats) -> u64 {
    it.quantile(0.5).unwrap_or(0).saturating_mul(OUTLIER).max(SHORTEST_OUTLIER)
}

/// The slow calls of each of these functions, in one pass.
fn slow_calls(
    about: &About<'_>,
    outliers: &[(FunctionIndex, &FunctionStats)],
    is_own: &[bool],
) -> Result<Vec<SlowCalls>, QueryError> {
    let tables = &about.process.tables;
    let mut flags = vec![false; is_own.len()];
    let mut places = vec![0; is_own.len()];
    for (place, (function, _)) in outliers.iter().enumerate() {
        flags[function.as_usize()] = true;
        places[function.as_usize()] = place;
    }
    let least: Vec<u64> = outliers.iter().map(|(_, it)| slow_from(it)).collect();
    let mut found: Vec<SlowCalls> = outliers.iter().map(|_| SlowCalls::default()).collect();
    let Some(&least_of_all) = least.iter().min() else { return Ok(found) };
    let ready = Ready::All(vec![Ready::Function(flags), Ready::Range(Measure::Duration, least_of_all, u64::MAX)]);
    let mut matching = Matching::new(tables, ready, 0..tables.meta().blocks.len());
    let mut columns = Columns::new();
    while let Some((block, rows)) = matching.next(tables, about.cancel)? {
        let wanted = |column| matches!(column, Column::Function | Column::Start | Column::Duration | Column::OpenSeq);
        tables.read(block, wanted, &mut columns)?;
        let thread = tables.block(block).thread;
        for row in rows.unwrap_or_else(|| (0..columns.rows() as u16).collect()) {
            let function = columns.function(row.into()).as_usize();
            let place = places[function];
            let elapsed = columns.at(Column::Duration, row.into());
            if elapsed < least[place] {
                continue;
            }
            let start = columns.start(row.into()).0;
            let duration = elapsed - set_aside(about, is_own[function], thread, start, elapsed);
            if duration >= least[place] {
                found[place].add(SlowCall { duration, thread, seq: columns.seq(row.into()), start, elapsed });
            }
        }
    }
    Ok(found)
}

impl Slow {
    fn of(
        about: &About<'_>,
        function: FunctionIndex,
        slow: SlowCalls,
        is_own: &[bool],
    ) -> Result<Option<Self>, QueryError> {
        let (count, total_ns, slowest) = slow.finish();
        // The machine can stop any call for a while; what most slow calls have in common is the program's doing.
        let mut votes: BTreeMap<FunctionIndex, (u64, Example)> = BTreeMap::new();
        for SlowCall { duration, thread, seq, .. } in slowest {
            if let Some((hottest, inside)) = hottest_inside(about, thread, seq, is_own)? {
                let vote = votes.entry(hottest).or_insert((0, (duration, inside.min(duration), thread, seq)));
                vote.0 += 1;
            }
        }
        let winner = votes.into_iter().max_by_key(|(_, (votes, example))| (*votes, example.0));
        let is_own = is_own[function.as_usize()];
        Ok(winner.map(|(culprit, (_, example))| Self { count, total_ns, culprit, example, is_own }))
    }

    fn share(&self, life: f64) -> f64 {
        (self.total_ns as f64 / life).min(1.0)
    }

    /// A slow call in a thousand, in the function's own code, is what a busy machine looks like.
    fn may_be_chance(&self, function: FunctionIndex, it: &FunctionStats) -> bool {
        (self.count == 1 || self.count.saturating_mul(1000) <= it.timed) && self.culprit == function
    }

    /// What a program does once, for long, by a function that it also uses for less: it may well be meant.
    fn may_be_meant(&self, it: &FunctionStats) -> bool {
        self.count == 1 && it.timed < MANY_CALLS
    }

    fn is_worth_a_look(&self, function: FunctionIndex, it: &FunctionStats, life: f64) -> bool {
        let (duration, share) = (self.example.0, self.share(life));
        if self.may_be_chance(function, it) || self.may_be_meant(it) {
            return duration >= SHORTEST_DOUBTFUL || duration >= SHORTEST_ALONE && share >= SHARE_OF_DOUBTFUL;
        }
        duration >= SHORTEST_ALONE || share >= SHARE_OF_SHORT
    }

    fn finding(
        &self,
        about: &About<'_>,
        function: FunctionIndex,
        it: &FunctionStats,
        life: f64,
    ) -> Result<Finding, QueryError> {
        let (duration, inside, thread, seq) = self.example;
        let (name, culprit) = (about.name(function), about.name(self.culprit));
        let usual = it.quantile(0.5).unwrap_or(0);
        let times = if self.count == 1 { "once".to_owned() } else { format!("{} times", self.count) };
        // Of the others nothing is known.
        let recorded = about.process.switched.of_function(it.function).map_or("", |_| " that were recorded");
        let mut title = format!(
            "{name} was slow {times} of {}{recorded}: {}, where half of its calls take {}",
            it.timed,
            nanoseconds(duration),
            nanoseconds(usual)
        );
        if self.culprit != function {
            title.push_str(&format!("; {} of it in {culprit}", nanoseconds(inside)));
        }
        let share = self.share(life);
        let may_be_chance = self.may_be_chance(function, it);
        let is_doubtful = may_be_chance || self.may_be_meant(it);
        let base = if self.is_own { 45.0 } else { 20.0 } - if is_doubtful { 20.0 } else { 0.0 };
        let mut rationale = String::new();
        // Of the others nobody knows how long they had no processor.
        if let Some(most) = it.quantile(0.99).filter(|most| *most < duration) {
            rationale.push_str(&format!("99 % took {} at most. ", nanoseconds(most)));
        }
        rationale.push_str(&format!("`ada ask why-slow {}` looks into this one.", about.frame(thread, seq)));
        if may_be_chance {
            rationale.push_str(" That is rare, and in its own code: the machine may have been busy elsewhere.");
        }
        let call = about.call(thread, seq)?;
        if let Some(call) = &call {
            rationale.push_str(&format!(" It was {call}."));
        }
        let mut finding = about.finding("slow_outlier", base + 25.0 * share.sqrt(), title, rationale);
        finding.function = Some(culprit);
        finding.evidence = vec![about.frame(thread, seq)];
        finding.facts = json!({
            "outlier": name, "slow_calls": self.count, "slow_total_ns": self.total_ns, "duration_ns": duration,
            "max_ns": it.max_ns, "p50_ns": usual, "p99_ns": it.quantile(0.99), "calls": it.spans, "call": call,
        });
        Ok(finding)
    }
}

/// The function with the most time in itself inside a call, and how much. None where the call has others of its own function in it,
/// and is longer for that, and where it waited for whatever came next for most of its time.
fn hottest_inside(
    about: &About<'_>,
    thread: ThreadIndex,
    seq: EventSeq,
    is_own: &[bool],
) -> Result<Option<(FunctionIndex, u64)>, QueryError> {
    let tables = &about.process.tables;
    let Some(call) = FrameSpan::read(tables, thread, seq)? else { return Ok(None) };
    let extent = Extent::below(about.trace, about.number, &call)?;
    let mut sums = vec![0_i64; is_own.len()];
    let mut columns = Columns::new();
    // Time that a library takes is put down to the program's function that called it.
    let root = call.function_index().as_usize();
    let own_time = |self_ns: u64, start, elapsed| match self_ns {
        // What is short was hardly preempted, and looking takes time.
        0..SHORTEST_OUTLIER => self_ns as i64,
        _ => self_ns.saturating_sub(in_state(about, ThreadState::Ready, thread, start, elapsed)) as i64,
    };
    let held_up = |start, elapsed| held_up(about, thread, start, elapsed) as i64;
    let (start, elapsed) = (call.start().0, call.duration());
    sums[root] = own_time(call.self_ns(), start, elapsed) - held_up(start, elapsed);
    let is_idle = |function: usize| {
        let function = about.process.function(FunctionIndex(function as u32));
        about.process.names.raw(function).is_some_and(pairs::is_idle)
    };
    let mut idle = if is_idle(root) { call.duration() } else { 0 };
    let mut open: Vec<(EventSeq, usize)> = vec![(seq, root)];
    for block in tables.blocks_of(thread) {
        let entry = tables.block(block);
        if entry.last_seq < *extent.seqs.start() || entry.first_seq > *extent.seqs.end() {
            continue;
        }
        about.cancel.check()?;
        tables.read(block, |_| true, &mut columns)?;
        for row in 0..columns.rows() {
            let row_seq = columns.seq(row);
            if !extent.seqs.contains(&row_seq) {
                continue;
            }
            let parent = columns.parent_seq(row).unwrap_or(row_seq);
            while open.last().is_some_and(|(top, _)| *top != parent) && open.len() > 1 {
                open.pop();
            }
            let function = columns.function(row).as_usize();
            if function == root {
                return Ok(None);
            }
            let caller = open.last().map_or(function, |(_, it)| *it);
            let blamed = if is_own[function] { function } else { caller };
            let (self_ns, elapsed) = (columns.at(Column::SelfTime, row), columns.at(Column::Duration, row));
            let start = columns.start(row).0;
            // What held this call up has been taken off its caller's time, whose own it was not.
            let held_up = held_up(start, elapsed);
            sums[blamed] = sums[blamed].saturating_add(own_time(self_ns, start, elapsed)).saturating_sub(held_up);
            sums[caller] = sums[caller].saturating_add(held_up);
            if elapsed >= SHORTEST_OUTLIER && is_idle(function) {
                idle = idle.saturating_add(elapsed);
            }
            open.push((row_seq, blamed));
        }
    }
    let hottest = (0..).map(FunctionIndex).zip(sums).max_by_key(|(_, sum)| *sum);
    Ok(hottest.filter(|_| idle <= call.duration() / 2).map(|(function, sum)| (function, sum.max(0) as u64)))
}

/// The program's own functions that take a large share of the time in themselves.
fn hot(about: &About<'_>, is_own: &[bool], held_up: bool) -> Result<Vec<Finding>, QueryError> {
    // What is not recorded is in the time of who called it.
    if about.process.switched.hides(|_| true) {
        return Ok(Vec::new());
    }
    let tables = &about.process.tables;
    let waited = match &about.process.correction {
        Some(correction) if held_up => correction.waited_in_functions(tables)?,
        _ => Vec::new(),
    };
    let own_time =
        |index: usize, it: &FunctionStats| it.self_ns.saturating_sub(waited.get(index).copied().unwrap_or(0));
    let times: Vec<u64> = tables.meta().functions.iter().enumerate().map(|(index, it)| own_time(index, it)).collect();
    let all = times.iter().copied().fold(0, u64::saturating_add);
    let mut found = Vec::new();
    for ((index, it), own) in (0..).map(FunctionIndex).zip(&tables.meta().functions).zip(times) {
        let share = own as f64 / all.max(1) as f64;
        if is_own[index.as_usize()] && share >= HOT_SHARE && own >= SHORTEST_OUTLIER {
            let name = about.name(index);
            let title = format!("{name} takes {:.0} % of all time in itself", share * 100.0);
            let rationale = format!("{} in {} calls.", nanoseconds(own), it.spans);
            let mut finding = about.finding("hot_function", 20.0 + 30.0 * share, title, rationale);
            finding.function = Some(name);
            finding.evidence = vec![about.frame(it.longest.0, it.longest.1)];
            finding.facts = json!({ "self_ns": own, "calls": it.spans, "share": share });
            found.push(finding);
        }
    }
    Ok(found)
}
