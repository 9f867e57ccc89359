//! `ada top [SESSION]`.

use ada_event::FunctionId;
use ada_image::glob;
use ada_span::{Corrected, FunctionStats, Status};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::analysis::{
    ListFormat, Listing, OpenedSession, Out, SessionArgs, Target, TraceProcess, check_correctable, corrected_text, csv,
    list_page, nanoseconds, put_corrected, put_source, source_text, thousands, with_tables,
};
use crate::exit::Outcome;

const EXAMPLES: &str = "\
Examples:
  ada top                              functions by the time spent in themselves
  ada top --sort calls --module 'libc*'
  ada top --lines                      with file and line of each function
  ada top --sort p99 --limit 10 --format json
  ada top --corrected                  without what recording took, and sorted so

total counts a function that calls itself once; p50, p95 and p99 are to within 6 %.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// In which order
    #[arg(long, value_enum, default_value_t = Sort::SelfTime)]
    sort: Sort,
    /// Functions whose name matches (wildcards `*`, `?`)
    #[arg(long, value_name = "PATTERN")]
    function: Option<String>,
    /// Functions of modules whose file name matches
    #[arg(long, value_name = "PATTERN")]
    module: Option<String>,
    /// Print at most N; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Skip the first N: the number that the page before printed
    #[arg(long, value_name = "N", default_value_t = 0)]
    cursor: usize,
    /// Print file and line of functions in tables too
    #[arg(long)]
    lines: bool,
    /// Sort by self and total times without what recording took; print them, and how far they may be off
    #[arg(long)]
    corrected: bool,
    /// How to print
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
}

/// A function of a process.
pub(crate) struct Use<'a> {
    pub(crate) process: usize,
    pub(crate) stats: &'a FunctionStats,
    /// Times without what recording took, if they were asked for and are known.
    corrected: Option<CorrectedTimes>,
}

impl<'a> Use<'a> {
    pub(crate) fn new(process: usize, stats: &'a FunctionStats) -> Self {
        Self { process, stats, corrected: None }
    }
}

/// The times of a function without what recording took.
#[derive(Clone, Copy)]
struct CorrectedTimes {
    own: Corrected,
    total: Corrected,
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
    let mut out = Out::new();
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let mut uses = sorted(opened, args.sort, args.corrected)?;
        uses.retain(|it| args.wants(&opened.processes()[it.process], it.stats.function));
        let (page, next) = list_page(&uses, args.cursor, args.limit);
        match args.format {
            ListFormat::Table => {
                table(opened, page, args.lines).print(out)?;
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

    fn wants(&self, process: &TraceProcess, function: FunctionId) -> bool {
        let name = process.names.name(function);
        let plain = name.split('(').next().unwrap_or_default();
        self.function.as_ref().is_none_or(|it| glob(it, &name) || glob(it, plain))
            && self.module.as_ref().is_none_or(|it| glob(it, &process.names.module(function)))
    }
}

/// All functions, the ones that lead by `sort` first. With times without what recording took if asked for, which takes one
/// pass over all spans.
pub(crate) fn sorted(opened: &OpenedSession, sort: Sort, corrected: bool) -> anyhow::Result<Vec<Use<'_>>> {
    let mut uses = all(opened);
    if corrected {
        correct(opened, &mut uses)?;
    }
    sort_uses(&mut uses, sort);
    Ok(uses)
}

/// All functions, in no order.
pub(crate) fn all(opened: &OpenedSession) -> Vec<Use<'_>> {
    let processes = opened.processes().iter().enumerate();
    processes
        .flat_map(|(process, it)| it.tables.meta().functions.iter().map(move |stats| Use::new(process, stats)))
        .collect()
}

/// Adds the times without what recording took.
pub(crate) fn correct(opened: &OpenedSession, uses: &mut [Use<'_>]) -> anyhow::Result<()> {
    check_correctable(opened)?;
    for (number, process) in opened.processes().iter().enumerate() {
        let Some(correction) = &process.correction else { continue };
        let costs = correction.functions(&process.tables)?;
        for it in uses.iter_mut().filter(|it| it.process == number) {
            let Some(index) = process.tables.meta().function_index(it.stats.function) else { continue };
            let (total, own) = &costs[index.as_usize()];
            it.corrected = Some(CorrectedTimes {
                own: correction.of_self(it.stats.self_ns, own),
                total: correction.total(it.stats.total_ns, total),
            });
        }
    }
    Ok(())
}

/// The ones that lead by `sort` first.
pub(crate) fn sort_uses(uses: &mut [Use<'_>], sort: Sort) {
    let measure = |it: &Use<'_>| match sort {
        Sort::SelfTime => it.corrected.map_or(it.stats.self_ns, |corrected| corrected.own.ns),
        Sort::Total => it.corrected.map_or(it.stats.total_ns, |corrected| corrected.total.ns),
        Sort::Calls => it.stats.spans,
        Sort::P99 => it.stats.quantile(0.99).unwrap_or(0),
        Sort::Max => it.stats.max_ns,
    };
    uses.sort_by_cached_key(|it| (std::cmp::Reverse(measure(it)), it.process, it.stats.function));
}

/// A table of functions.
pub(crate) fn table(opened: &OpenedSession, uses: &[Use<'_>], with_lines: bool) -> Listing {
    let mut titles = vec!["function", ">calls", ">self", ">total", ">p50", ">p95", ">p99", ">max", "module", "name"];
    let is_corrected = uses.iter().any(|it| it.corrected.is_some());
    if is_corrected {
        titles.splice(4..4, [">corrected self", ">corrected total"]);
    }
    if with_lines {
        titles.push("source");
    }
    let mut listing = Listing::new(&titles);
    for it in uses {
        let stats = it.stats;
        let names = &opened.processes()[it.process].names;
        let quantile = |share: f64| stats.quantile(share).map_or_else(|| "-".to_owned(), nanoseconds);
        let mut cells = vec![
            opened.processes()[it.process].refer(Target::Function(stats.function)),
            thousands(stats.spans),
            nanoseconds(stats.self_ns),
            nanoseconds(stats.total_ns),
            quantile(0.5),
            quantile(0.95),
            quantile(0.99),
            if stats.timed > 0 { nanoseconds(stats.max_ns) } else { "-".into() },
            names.module(stats.function),
            names.name(stats.function),
        ];
        if is_corrected {
            let texts = [it.corrected.map(|it| it.own), it.corrected.map(|it| it.total)].map(corrected_text);
            cells.splice(4..4, texts);
        }
        if with_lines {
            cells.push(source_text(opened.source(it.process, stats.function)));
        }
        listing.row(cells);
    }
    listing
}

/// A function as JSON has it.
pub(crate) fn to_json(opened: &OpenedSession, it: &Use<'_>) -> Value {
    let stats = it.stats;
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
        "calls": stats.spans,
        "total_ns": stats.total_ns,
        "self_ns": stats.self_ns,
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
    if let Some(corrected) = it.corrected {
        put_corrected(&mut record, "corrected_self", Some(corrected.own));
        put_corrected(&mut record, "corrected_total", Some(corrected.total));
    }
    record
}

/// The reference of a function's longest call.
pub(crate) fn longest(opened: &OpenedSession, it: &Use<'_>) -> Option<String> {
    let (thread, seq) = it.stats.longest;
    let thread = opened.processes()[it.process].tables.meta().threads.get(thread.as_usize())?;
    (it.stats.timed > 0).then(|| opened.processes()[it.process].refer(Target::Frame(thread.id, seq)))
}
