//! `ada diff A B`: two runs side by side, the cause first.

mod blame;
mod cause;
mod change;
mod figures;
mod parting;
mod significance;
mod standing;
mod telling;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::analysis::{LensArgs, ListFormat, Out, SessionArgs, find_session, parse_most, parse_nanos, sessions_in};
use crate::exit::Outcome;
use crate::view::show_both;

use cause::{Sides, mean_all};
use change::{Change, Kind, changes, mean};
use figures::{PathFigures, Run};
use parting::{Parting, partings};
use standing::Standing;
use telling::{Cause, tell};

const EXAMPLES: &str = "\
Examples:
  ada diff good bad                      two sessions, or two folders with a session each
  ada diff runs/before runs/after        folders with several sessions are several runs: differences get a p
  ada diff good bad --all                functions of libraries too
  ada diff good bad --format json
  ada diff good bad --view               both timelines in a browser, with what differs above
  ada diff good bad --format folded | flamegraph.pl > difference.svg

The first line says what made the difference. Times are those of all threads, in a function and in what it called outside
the program's own code. p is of Welch's t-test, corrected for how many functions are compared (Holm); without several
runs of each side there is none, and differences of less than 10 % are left out.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A session, or a folder of them: the runs to compare with
    a: PathBuf,
    /// The other session or runs
    b: PathBuf,
    #[command(flatten)]
    lens: LensArgs,
    /// How long each list may be; 0 for all
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_most)]
    limit: usize,
    /// Spans that take longer than this have the reason `timeout`, or are `open` if they never end
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_nanos)]
    timeout: u64,
    /// Print names in full
    #[arg(long)]
    wide: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    format: DiffFormat,
    /// Show both timelines side by side in a browser, below what makes the difference; of several runs, the first of each
    #[arg(long, conflicts_with = "format")]
    view: bool,
    /// The port of that page on the loopback interface; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "view")]
    port: u16,
    /// Only print the page's address
    #[arg(long, requires = "view")]
    no_open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DiffFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// Folded stacks with the nanoseconds of both sides, as flamegraph.pl reads them
    Folded,
}

/// A path of calls on both sides.
struct PathChange {
    path: String,
    calls: (f64, f64),
    total_ns: (f64, f64),
    ns: (f64, f64),
}

/// All that is said.
struct Difference {
    changes: Vec<Change>,
    cause: Option<Cause>,
    paths: Vec<PathChange>,
    partings: Vec<Parting>,
    same_threads: usize,
    all_ns: (f64, f64),
    runs: (usize, usize),
    standings: (Standing, Standing),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let sessions = |path: &Path| -> anyhow::Result<Vec<PathBuf>> {
        let runs = sessions_in(path)?;
        Ok(if runs.is_empty() { vec![find_session(Some(path))?] } else { runs })
    };
    let read = |sessions: &[PathBuf]| -> anyhow::Result<Vec<Run>> {
        sessions.iter().map(|path| Run::read(path, args.timeout, &args.lens)).collect()
    };
    let (of_a, of_b) = (sessions(&args.a)?, sessions(&args.b)?);
    let (a, b) = (read(&of_a)?, read(&of_b)?);
    let (partings, same_threads) = match (a.first(), b.first()) {
        (Some(a), Some(b)) => partings(a, b)?,
        _ => (Vec::new(), 0),
    };
    let changes = changes(&a, &b);
    let sides = Sides::new(&a, &b, &changes);
    let cause = sides.cause().and_then(|it| tell(&sides, &it));
    let difference = Difference {
        cause,
        paths: path_changes(&a, &b),
        partings,
        same_threads,
        all_ns: (mean_all(&a), mean_all(&b)),
        runs: (a.len(), b.len()),
        standings: (Standing::of(&a), Standing::of(&b)),
        changes,
    };
    // What cannot be read of a run makes a difference too.
    let are_whole = a.iter().chain(&b).all(|run| run.outcome == Outcome::Clean);
    let outcome = if are_whole { Outcome::Clean } else { Outcome::Findings };
    if args.view
        && let (Some(first_a), Some(first_b)) = (of_a.first(), of_b.first())
    {
        drop((a, b));
        view_both(args, [first_a, first_b], &difference)?;
        return Ok(outcome);
    }
    let list = if args.format == DiffFormat::Text { ListFormat::Table } else { ListFormat::Json };
    let mut out = Out::for_people(list, args.wide);
    match args.format {
        DiffFormat::Text => text::print(args, &difference, &mut out)?,
        DiffFormat::Json => out.json(&to_json(&difference))?,
        DiffFormat::Folded => {
            for it in difference.paths.iter().filter(|it| it.ns.0 + it.ns.1 >= 1.0) {
                out.line(&format!("{} {} {}", it.path, it.ns.0.round() as u64, it.ns.1.round() as u64))?;
            }
        }
    }
    out.finish()?;
    Ok(outcome)
}

/// Both timelines beside each other.
fn view_both(args: &Args, sessions: [&PathBuf; 2], difference: &Difference) -> anyhow::Result<()> {
    let mut words = to_json(difference);
    words["names"] = json!({ "a": args.a.display().to_string(), "b": args.b.display().to_string() });
    let opened = sessions.map(|path| {
        let session = SessionArgs { session: Some(path.clone()), timeout: args.timeout, debug_dir: None };
        (session, args.lens.clone(), path.as_path())
    });
    show_both(opened, words, args.port, !args.no_open)
}

/// All paths, those with the largest difference first.
fn path_changes(a: &[Run], b: &[Run]) -> Vec<PathChange> {
    let names: BTreeSet<&String> = a.iter().chain(b).flat_map(|run| run.paths.keys()).collect();
    let of = |runs: &[Run], path: &str, figure: fn(&PathFigures) -> u64| -> f64 {
        mean(&runs.iter().map(|run| run.paths.get(path).map_or(0.0, |it| figure(it) as f64)).collect::<Vec<_>>())
    };
    let both = |path: &str, figure: fn(&PathFigures) -> u64| (of(a, path, figure), of(b, path, figure));
    let mut all: Vec<PathChange> = names
        .into_iter()
        .map(|path| PathChange {
            path: path.clone(),
            calls: both(path, |it| it.calls),
            total_ns: both(path, |it| it.total_ns),
            ns: both(path, |it| it.ns),
        })
        .collect();
    let delta = |it: &PathChange| (it.total_ns.1 - it.total_ns.0).abs();
    all.sort_by(|left, right| delta(right).total_cmp(&delta(left)));
    all
}

fn to_json(it: &Difference) -> Value {
    let side = |(a, b): (f64, f64)| json!({ "a": a, "b": b });
    let share = |ns: f64, all: f64| if all > 0.0 { ns / all } else { 0.0 };
    let function = |change: &Change| {
        json!({
            "name": change.name, "change": change.kind.word(), "calls": side(change.calls), "ns": side(change.ns),
            "share": side((share(change.ns.0, it.all_ns.0), share(change.ns.1, it.all_ns.1))),
            "delta_ns": change.delta_ns(), "p": change.p, "calls_p": change.calls_p,
        })
    };
    let path = |it: &PathChange| {
        json!({
            "path": it.path.split(';').collect::<Vec<_>>(), "calls": side(it.calls), "total_ns": side(it.total_ns),
            "ns": side(it.ns),
        })
    };
    let parting = |it: &Parting| {
        json!({
            "thread": it.thread, "common_calls": it.common, "around": it.around,
            "last": it.last.as_ref().map(parting::Call::to_json),
            "a": it.a.as_ref().map(parting::Call::to_json), "b": it.b.as_ref().map(parting::Call::to_json),
        })
    };
    let cause = it.cause.as_ref();
    json!({
        "runs": { "a": it.runs.0, "b": it.runs.1 },
        "all_ns": side(it.all_ns),
        "sides": { "a": it.standings.0.to_json(), "b": it.standings.1.to_json() },
        "cause": cause.map(|it| json!({ "function": it.function, "caller": it.caller, "words": it.words })),
        "functions": it.changes.iter().map(function).collect::<Vec<_>>(),
        "paths": it.paths.iter().filter(|it| it.calls.0 != it.calls.1).map(path).collect::<Vec<_>>(),
        "parting": it.partings.iter().map(parting).collect::<Vec<_>>(),
        "threads_with_the_same_calls": it.same_threads,
    })
}

/// How many functions changed in which way.
fn tally(changes: &[Change]) -> BTreeMap<Kind, usize> {
    let mut counts = BTreeMap::new();
    changes.iter().filter(|it| it.kind != Kind::Same).for_each(|it| *counts.entry(it.kind).or_default() += 1);
    counts
}
