//! `ada top [SESSION]`.

mod table;
mod uses;

use ada_query::FunctionPattern;
use ada_query::lens::Lens;
use ada_span::Status;
use ada_span::state::{StateTimes, ThreadState};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::analysis::{
    LensArgs, ListFormat, OpenedSession, Out, SessionArgs, Target, check_some_known, csv, list_page, put_corrected,
    put_source, with_tables,
};
use crate::exit::Outcome;

pub(crate) use table::{outside_name, percent, print};
pub(crate) use uses::{OutsideModule, Use, Uses, all, outside_modules, program, program_of, seen, sort_uses};

const EXAMPLES: &str = "\
Examples:
  ada top                  the program's own functions by the time spent in themselves
  ada top --all            with those of libraries
  ada top --sort calls --module 'libc*'
  ada top --lines          with file and line of each function
  ada top --sort p99 --limit 10 --format json
  ada top --sort on-cpu    where the processors' time went; also ready and blocked
  ada top --corrected      without the time that recording took, and sorted by that

self includes the libraries that a function called, which the lines below it name; with --all, these have lines of \
their own. total counts the time of a recursive function once; p50, p95 and p99 are accurate to 6 %. Processes that \
run the same program are counted together, unless --pid names one.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Sort order
    #[arg(long, value_enum, default_value_t = Sort::SelfTime)]
    sort: Sort,
    /// Only functions with this name, such as flush_line or Stats::flush_line (wildcards `*`, `?`). May be given
    /// several times
    #[arg(long, value_name = "PATTERN")]
    function: Vec<String>,
    #[command(flatten)]
    lens: LensArgs,
    /// Print at most N; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Skip the first N, as the previous page said
    #[arg(long, value_name = "N", default_value_t = 0)]
    cursor: usize,
    /// Print file and line of functions in tables too
    #[arg(long)]
    lines: bool,
    /// Sort by self and total times without the time that recording took; print these, and their possible error
    #[arg(long)]
    corrected: bool,
    /// Print names in full, and all columns
    #[arg(long)]
    wide: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Time in the function alone
    #[value(name = "self")]
    SelfTime,
    /// Time in the function and what it called
    Total,
    /// Number of calls
    Calls,
    /// The 99th percentile of its durations
    P99,
    /// The longest call
    Max,
    /// Time on a processor, in the function and what it called that is not shown
    OnCpu,
    /// Time in which it could have run, but others had the processors
    Ready,
    /// Time in which it waited
    Blocked,
}

impl Sort {
    /// The state of threads by whose time is sorted.
    pub(crate) const fn state(self) -> Option<ThreadState> {
        match self {
            Self::OnCpu => Some(ThreadState::Running),
            Self::Ready => Some(ThreadState::Ready),
            Self::Blocked => Some(ThreadState::Blocked),
            _ => None,
        }
    }
}

const FIELDS: [&str; 22] = [
    "function_id",
    "reference",
    "name",
    "module",
    "file",
    "line",
    "pid",
    "calls",
    "total_ns",
    "self_ns",
    "min_ns",
    "max_ns",
    "p50_ns",
    "p95_ns",
    "p99_ns",
    "unmatched",
    "unrecorded_calls",
    "longest_span_id",
    "corrected_self_ns",
    "corrected_self_error_ns",
    "corrected_total_ns",
    "corrected_total_error_ns",
];

/// How many of them, the last, are only there where they are asked for.
const CORRECTED_FIELDS: usize = 4;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::for_people(args.format, args.wide);
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        check_some_known(opened, &args.function)?;
        let mut uses = seen(opened, &args.lens, &args.lens(), args.corrected, args.sort.state().is_some())?;
        let mut functions = std::mem::take(&mut uses.functions);
        let patterns: Vec<FunctionPattern> = args.function.iter().map(|it| FunctionPattern::new(it)).collect();
        functions.retain(|it| {
            let process = &opened.processes()[it.process];
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches_function(process, it.stats.function))
        });
        sort_uses(&mut functions, args.sort);
        let (page, next) = list_page(&functions, args.cursor, args.limit);
        match args.format {
            ListFormat::Table => {
                print(opened, out, &uses, page, args.sort, args.lines)?;
                next.map_or(Ok(()), |next| out.line(&format!("more with --cursor {next}")))
            }
            ListFormat::Json => {
                let functions: Vec<Value> = page.iter().map(|it| to_json(opened, it)).collect();
                out.json(&json!({ "functions": functions, "next_cursor": next }))
            }
            ListFormat::Csv => csv(out, args.fields(), &page.iter().map(|it| to_json(opened, it)).collect::<Vec<_>>()),
        }
    })?;
    out.finish()?;
    Ok(outcome)
}

impl Args {
    fn fields(&self) -> &'static [&'static str] {
        &FIELDS[..FIELDS.len() - if self.corrected { 0 } else { CORRECTED_FIELDS }]
    }

    /// Who names functions wants them, whoever's they are.
    fn lens(&self) -> Lens {
        self.lens.lens(self.format == ListFormat::Table && self.function.is_empty())
    }
}

/// A function as JSON has it.
pub(crate) fn to_json(opened: &OpenedSession, it: &Use<'_>) -> Value {
    let stats = &it.stats;
    let process = &opened.processes()[it.process];
    let is_timed = stats.timed > 0;
    let by_status: serde_json::Map<String, Value> = Status::ALL
        .iter()
        .zip(stats.by_status)
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| (status.word().to_owned(), count.into()))
        .collect();
    let mut record = json!({
        "function_id": stats.function.to_string(),
        "reference": opened.processes()[it.process].refer(Target::Function(stats.function)),
        "name": process.names.name(stats.function),
        "module": process.names.module(stats.function),
        "pid": process.pid.0,
        "pids": it.pids.iter().map(|pid| pid.0).collect::<Vec<_>>(),
        "program": program_of(opened, it),
        "calls": stats.spans,
        "total_ns": stats.total_ns,
        "self_ns": stats.self_ns,
        "outside_ns": it.outside_ns(),
        "outside": it.outside.iter().map(outside_json).collect::<Vec<_>>(),
        "min_ns": is_timed.then_some(stats.min_ns),
        "max_ns": is_timed.then_some(stats.max_ns),
        "p50_ns": stats.quantile(0.5),
        "p95_ns": stats.quantile(0.95),
        "p99_ns": stats.quantile(0.99),
        "unmatched": stats.by_status[Status::Unmatched as usize],
        "unrecorded_calls": process.switched.of_function(stats.function).map(|it| it.counted),
        "by_status": by_status,
        "longest_span_id": longest(opened, it),
    });
    put_source(&mut record, opened.source(it.process, stats.function));
    if let Some(states) = it.states {
        put_states(&mut record, states);
    }
    if let Some(corrected) = it.corrected {
        put_corrected(&mut record, "corrected_self", Some(corrected.own));
        put_corrected(&mut record, "corrected_total", Some(corrected.total));
    }
    record
}

/// Adds the times in each state, and the time of which nothing is known.
pub(crate) fn put_states(record: &mut Value, states: StateTimes) {
    for (name, state) in [
        ("on_cpu_ns", ThreadState::Running),
        ("ready_ns", ThreadState::Ready),
        ("blocked_ns", ThreadState::Blocked),
        ("unknown_ns", ThreadState::Unknown),
    ] {
        record[name] = states.of(state).into();
    }
}

/// Calls into a module that is not shown.
pub(crate) fn outside_json(it: &OutsideModule) -> Value {
    let functions = it.functions.iter();
    let functions =
        functions.map(|(name, sum)| json!({ "name": name, "calls": sum.calls, "ns": sum.ns })).collect::<Vec<_>>();
    let mut record = json!({ "module": it.module, "ns": it.ns(), "calls": it.calls(), "functions": functions });
    if let Some(corrected) = it.corrected() {
        put_corrected(&mut record, "corrected", Some(corrected));
    }
    record
}

/// The reference of a function's longest call.
pub(crate) fn longest(opened: &OpenedSession, it: &Use<'_>) -> Option<String> {
    let (thread, seq) = it.stats.longest;
    let thread = opened.processes()[it.process].tables.meta().threads.get(thread.as_usize())?;
    (it.stats.timed > 0).then(|| opened.processes()[it.process].refer(Target::Frame(thread.id, seq)))
}
