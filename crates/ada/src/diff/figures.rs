//! What one run did, by names: numbers of functions differ from build to build.

use std::collections::BTreeMap;
use std::path::Path;

use ada_query::findings::{takes_lock, waits_for_others};
use ada_query::lens::{Outside, self_states, shown_calls};
use ada_query::waits::CallPlaces;
use ada_query::{Cancel, written_name};
use ada_span::Histogram;
use ada_span::state::ThreadState;
use ada_span::table::FunctionIndex;
use ada_span::wait::{WaitKind, WaitSpan};
use serde_json::Value;

use crate::analysis::{LensArgs, OpenedSession, SessionArgs, TraceProcess};
use crate::exit::Outcome;
use crate::tree;

/// A call that takes longer than this many times its function's median is not what the function usually does: the machine
/// may have run something else meanwhile.
const UNUSUAL: u64 = 32;
/// Unless so many calls do: one in this many is no accident.
const ONE_IN: u64 = 50;
/// So few are one at any number of calls.
const FEW: u64 = 3;

/// What a function did in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) calls: u64,
    /// Time in itself, and in what it called that is not shown.
    pub(super) ns: u64,
    /// The part of it in which it waited for others to end or to say something, or for a processor.
    pub(super) waited_ns: u64,
    /// The rest, without what a few calls took beyond the usual.
    pub(super) usual_ns: u64,
    /// What it called that is not shown.
    pub(super) outside: BTreeMap<String, Called>,
}

/// Calls of what is not shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Called {
    pub(super) calls: u64,
    /// Without what a few calls took beyond the usual.
    pub(super) usual_ns: u64,
}

/// A path of calls from the outermost on, in the form of folded stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PathFigures {
    pub(super) calls: u64,
    pub(super) total_ns: u64,
    pub(super) ns: u64,
}

/// One run.
pub(super) struct Run {
    pub(super) opened: OpenedSession,
    /// Whether something is wrong with its files.
    pub(super) outcome: Outcome,
    /// By process and index: which functions are shown.
    pub(super) shown: Vec<Vec<bool>>,
    pub(super) functions: BTreeMap<String, Figures>,
    /// Calls by caller, empty where none is shown, and callee.
    pub(super) callers: BTreeMap<(String, String), Outside>,
    pub(super) paths: BTreeMap<String, PathFigures>,
    /// How long was waited for locks: by the function that had taken one, and the function that waited for it.
    pub(super) held: BTreeMap<(String, String), u64>,
    /// The time of all threads.
    pub(super) all_ns: u64,
}

impl Run {
    pub(super) fn read(path: &Path, timeout: u64, lens_args: &LensArgs) -> anyhow::Result<Self> {
        let opened = OpenedSession::open(path, &SessionArgs { session: None, timeout, debug_dir: None })?;
        let outcome = opened.show_findings();
        let lens = lens_args.lens(true);
        let shown = lens_args.shown(&opened, &lens)?;
        let mut functions: BTreeMap<String, Figures> = BTreeMap::new();
        let mut callers: BTreeMap<(String, String), Outside> = BTreeMap::new();
        let mut held: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut all_ns = 0_u64;
        for (process, shown) in opened.processes().iter().zip(&shown) {
            let name =
                |index| process.label_at(index).map_or_else(String::new, |label| written_name(&label.name).to_owned());
            let meta = process.tables.meta();
            let calls = shown_calls(process, shown, &Cancel::default())?;
            let usual = |ns: u64, times: Option<&Histogram>| (ns as f64 * times.map_or(1.0, usual_share)) as u64;
            // Of each function, what it waited for locks that others are known to have had.
            let mut waited: BTreeMap<FunctionIndex, u64> = BTreeMap::new();
            for (holder, waiter, ns) in lock_waits(&opened, process)? {
                let sum = held.entry((name(holder), name(waiter))).or_default();
                *sum = sum.saturating_add(ns);
                let sum = waited.entry(waiter).or_default();
                *sum = sum.saturating_add(ns);
            }
            for (index, (stats, label)) in meta.functions.iter().zip(process.labels()).enumerate() {
                if !shown.get(index).copied().unwrap_or(false) {
                    continue;
                }
                let sum = functions.entry(written_name(&label.name).to_owned()).or_default();
                sum.calls += stats.spans;
                sum.ns = sum.ns.saturating_add(stats.self_ns);
                sum.usual_ns =
                    sum.usual_ns.saturating_add(usual(stats.self_ns, calls.own.get(&FunctionIndex(index as u32))));
            }
            all_ns = meta.functions.iter().fold(all_ns, |sum, it| sum.saturating_add(it.self_ns));
            for ((from, to), sum) in calls.outside {
                let Some(from) = from else { continue };
                let figures = functions.entry(name(from)).or_default();
                figures.ns = figures.ns.saturating_add(sum.ns);
                let raw = process.names.raw(process.function(to)).unwrap_or_default();
                let for_others = match waited.get_mut(&from) {
                    _ if waits_for_others(raw) => sum.ns,
                    Some(left) if takes_lock(raw) => {
                        let part = sum.ns.min(*left);
                        *left -= part;
                        part
                    }
                    _ => 0,
                };
                figures.waited_ns = figures.waited_ns.saturating_add(for_others);
                let times = meta.functions.get(to.as_usize()).and_then(|it| it.durations.as_ref());
                let usual_ns = usual(sum.ns - for_others, times);
                figures.usual_ns = figures.usual_ns.saturating_add(usual_ns);
                let called = figures.outside.entry(name(to)).or_default();
                called.calls += sum.calls;
                called.usual_ns = called.usual_ns.saturating_add(usual_ns);
            }
            // While it could have run and did not, a function has done nothing: the machine ran something else.
            let states = self_states(process, shown, &Cancel::default())?;
            for (index, states) in states.iter().enumerate().filter(|(index, _)| shown.get(*index) == Some(&true)) {
                let figures = functions.entry(name(FunctionIndex(index as u32))).or_default();
                figures.waited_ns = figures.waited_ns.saturating_add(states.of(ThreadState::Ready));
            }
            let mut callers_here = calls.callers;
            if !meta.task_runs.is_empty() {
                share_unknown(&mut callers_here);
            }
            for ((from, to), sum) in callers_here {
                callers.entry((from.map(name).unwrap_or_default(), name(to))).or_default().add(sum);
            }
        }
        for it in functions.values_mut() {
            it.usual_ns = it.usual_ns.min(it.ns.saturating_sub(it.waited_ns));
        }
        let paths = paths(&opened, lens_args)?;
        Ok(Self { opened, outcome, shown, functions, callers, paths, held, all_ns })
    }
}

/// The part of a function's time that it takes usually.
fn usual_share(times: &Histogram) -> f64 {
    let limit = times.quantile(0.5).max(1).saturating_mul(UNUSUAL);
    let (mut all, mut beyond) = (0_u64, 0_u64);
    for (from, _, count) in times.buckets() {
        all += u64::from(count);
        beyond += if from > limit { u64::from(count) } else { 0 };
    }
    if beyond > FEW.max(all / ONE_IN) { 1.0 } else { times.share_within(UNUSUAL) }
}

/// Waits for locks: the function that had taken one, the one that waited, and for how long.
fn lock_waits(
    opened: &OpenedSession,
    process: &TraceProcess,
) -> anyhow::Result<Vec<(FunctionIndex, FunctionIndex, u64)>> {
    let is_of_lock = |wait: &&WaitSpan| {
        matches!(wait.kind(), WaitKind::Mutex | WaitKind::ReadWriteLock)
            && wait.holder.is_some()
            && wait.hold_seq.is_some()
    };
    let waits: Vec<&WaitSpan> = process.tables.meta().waits.iter().filter(is_of_lock).collect();
    let places = CallPlaces::of_waits(opened.trace(), process, waits.iter().copied())?;
    let named = |wait: &&WaitSpan| {
        let (thread, seq) = wait.holder.zip(wait.hold_seq)?;
        Some((places.get(thread, seq)?, places.of_waiter(wait)?, wait.duration()))
    };
    Ok(waits.iter().filter_map(named).collect())
}

/// Tasks go from thread to thread, and what they call on the next one has no caller there. These calls are shared out among
/// those that are known to make them.
fn share_unknown(callers: &mut BTreeMap<(Option<FunctionIndex>, FunctionIndex), Outside>) {
    let mut known: BTreeMap<FunctionIndex, u64> = BTreeMap::new();
    callers.iter().filter(|((from, _), _)| from.is_some()).for_each(|((_, to), sum)| {
        *known.entry(*to).or_default() += sum.calls;
    });
    let unknown: Vec<(FunctionIndex, u64)> =
        callers.iter().filter(|((from, _), _)| from.is_none()).map(|((_, to), sum)| (*to, sum.calls)).collect();
    for (to, calls) in unknown {
        let Some(&all) = known.get(&to).filter(|it| **it > 0) else { continue };
        callers.remove(&(None, to));
        for (_, sum) in callers.iter_mut().filter(|((_, it), _)| *it == to) {
            sum.calls += (calls as f64 * sum.calls as f64 / all as f64).round() as u64;
        }
    }
}

/// The tree's lines as folded stacks.
fn paths(opened: &OpenedSession, lens: &LensArgs) -> anyhow::Result<BTreeMap<String, PathFigures>> {
    /// Deeper calls count as part of what is shown above them.
    const DEPTH: &str = "64";
    let mut options: Vec<String> = ["--limit", "0", "--depth", DEPTH].map(str::to_owned).to_vec();
    options.push(if lens.all { "--all" } else { "--own" }.to_owned());
    for (name, values) in [("--module", &lens.module), ("--hide", &lens.hide)] {
        options.extend(values.iter().flat_map(|it| [name.to_owned(), it.clone()]));
    }
    let mut stack: Vec<String> = Vec::new();
    let mut paths: BTreeMap<String, PathFigures> = BTreeMap::new();
    for line in tree::lines(opened, &options)? {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        stack.truncate(number(&line["level"]) as usize);
        // A stack's parts are separated by semicolons.
        stack.push(written_name(line["name"].as_str().unwrap_or_default()).replace(';', ":"));
        let outside = line["outside"].as_array().into_iter().flatten().map(|it| number(&it["ns"]));
        let sum = paths.entry(stack.join(";")).or_default();
        sum.calls += number(&line["count"]);
        sum.total_ns = sum.total_ns.saturating_add(number(&line["total_ns"]));
        sum.ns = outside.fold(sum.ns.saturating_add(number(&line["self_ns"])), u64::saturating_add);
    }
    Ok(paths)
}
