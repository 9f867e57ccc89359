//! What one run did, by names: numbers of functions differ from build to build.

use std::collections::BTreeMap;
use std::path::Path;

use ada_query::Cancel;
use ada_query::findings::waits_for_others;
use ada_query::lens::{Outside, shown_calls};
use ada_span::Histogram;
use ada_span::table::FunctionIndex;
use serde_json::Value;

use crate::analysis::{LensArgs, OpenedSession, SessionArgs};
use crate::tree;

/// A call that takes longer than this many times its function's median is not what the function usually does: the machine
/// may have run something else meanwhile.
const UNUSUAL: u64 = 32;

/// What a function did in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) calls: u64,
    /// Time in itself, and in what it called that is not shown.
    pub(super) ns: u64,
    /// The part of it in which it waited for others to end or to say something.
    pub(super) waited_ns: u64,
    /// The rest, without what a few calls took beyond the usual.
    pub(super) usual_ns: u64,
    /// What it called that is not shown.
    pub(super) outside: BTreeMap<String, Outside>,
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
    /// By process and index: which functions are shown.
    pub(super) shown: Vec<Vec<bool>>,
    pub(super) functions: BTreeMap<String, Figures>,
    /// Calls by caller, empty where none is shown, and callee.
    pub(super) callers: BTreeMap<(String, String), Outside>,
    pub(super) paths: BTreeMap<String, PathFigures>,
    /// The time of all threads.
    pub(super) all_ns: u64,
}

impl Run {
    pub(super) fn read(path: &Path, timeout: u64, lens_args: &LensArgs) -> anyhow::Result<Self> {
        let opened = OpenedSession::open(path, &SessionArgs { session: None, timeout, debug_dir: None })?;
        let lens = lens_args.lens(true);
        let shown = lens_args.shown(&opened, &lens)?;
        let mut functions: BTreeMap<String, Figures> = BTreeMap::new();
        let mut callers: BTreeMap<(String, String), Outside> = BTreeMap::new();
        let mut all_ns = 0_u64;
        for (process, shown) in opened.processes().iter().zip(&shown) {
            let name = |index| process.label_at(index).map_or_else(String::new, |label| label.name.clone());
            let meta = process.tables.meta();
            let calls = shown_calls(process, shown, &Cancel::default())?;
            let usual = |ns: u64, times: Option<&Histogram>| {
                (ns as f64 * times.map_or(1.0, |it| it.share_within(UNUSUAL))) as u64
            };
            for (index, (stats, label)) in meta.functions.iter().zip(process.labels()).enumerate() {
                if !shown.get(index).copied().unwrap_or(false) {
                    continue;
                }
                let sum = functions.entry(label.name.clone()).or_default();
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
                if waits_for_others(process.names.raw(process.function(to)).unwrap_or_default()) {
                    figures.waited_ns = figures.waited_ns.saturating_add(sum.ns);
                } else {
                    let times = meta.functions.get(to.as_usize()).and_then(|it| it.durations.as_ref());
                    figures.usual_ns = figures.usual_ns.saturating_add(usual(sum.ns, times));
                }
                add(figures.outside.entry(name(to)).or_default(), sum);
            }
            for ((from, to), sum) in calls.callers {
                add(callers.entry((from.map(name).unwrap_or_default(), name(to))).or_default(), sum);
            }
        }
        let paths = paths(&opened, lens_args)?;
        Ok(Self { opened, shown, functions, callers, paths, all_ns })
    }
}

fn add(sum: &mut Outside, more: Outside) {
    *sum = Outside { calls: sum.calls + more.calls, ns: sum.ns.saturating_add(more.ns) };
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
        stack.push(line["name"].as_str().unwrap_or_default().replace(';', ":"));
        let outside = line["outside"].as_array().into_iter().flatten().map(|it| number(&it["ns"]));
        let sum = paths.entry(stack.join(";")).or_default();
        sum.calls += number(&line["count"]);
        sum.total_ns = sum.total_ns.saturating_add(number(&line["total_ns"]));
        sum.ns = outside.fold(sum.ns.saturating_add(number(&line["self_ns"])), u64::saturating_add);
    }
    Ok(paths)
}
