//! `ada waits [SESSION]`.

mod graph;

use std::collections::BTreeMap;

use ada_query::waits::{By, CallPlaces, WaitSum, all_waits, object_name, sums, suspended, waiter, waiting_thread};
use ada_span::ThreadIndex;
use ada_span::table::FunctionIndex;
use ada_span::task::{TaskRuntime, TaskSpan};
use ada_span::wait::{WaitKind, WaitSpan};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::analysis::{
    ListFormat, Listing, Moment, OpenedSession, Out, SessionArgs, TraceProcess, counted, csv, list_page, nanoseconds,
    thousands, thread_title, with_tables,
};
use crate::exit::Outcome;

const EXAMPLES: &str = "\
Examples:
  ada waits                            what threads waited for, the longest time first
  ada waits --by holder                who made others wait, and where they took the lock
  ada waits --by waiter --kind mutex   who waited for mutexes, and where
  ada waits --at 1.5s                  who waited for whom then (by default, at the end)
  ada waits --format json
  ada query \"SELECT * FROM waits WHERE kind = 'mutex' ORDER BY duration_ns DESC LIMIT 20\"

A question mark marks what is not certain; the column `uncertain` of the table `waits` says why.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Group waits by this
    #[arg(long, value_enum, default_value_t = Grouping::Object)]
    by: Grouping,
    /// Only waits of this kind
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<WaitKind>,
    /// Show who waits for whom at this time: since the beginning (1.5s), or a start_ns (@12050214209794) [default: the
    /// end]
    #[arg(long, value_name = "TIME")]
    at: Option<Moment>,
    /// Print at most N; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Skip the first N, as the previous page said
    #[arg(long, value_name = "N", default_value_t = 0)]
    cursor: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Grouping {
    /// What was waited for
    Object,
    /// Who held it
    Holder,
    /// Who waited
    Waiter,
}

fn parse_kind(text: &str) -> Result<WaitKind, String> {
    let words: Vec<&str> = WaitKind::ALL.iter().map(|kind| kind.word()).collect();
    let found = WaitKind::ALL.iter().copied().find(|kind| kind.word() == text);
    found.ok_or_else(|| format!("it is one of {}", words.join(", ")))
}

/// A sum, and the index of its process.
struct Line {
    process: usize,
    sum: WaitSum,
}

const FIELDS: [&str; 16] = [
    "pid",
    "kind",
    "object",
    "thread_id",
    "thread",
    "waits",
    "open",
    "total_ns",
    "longest_ns",
    "longest_span_id",
    "waiters",
    "holders",
    "waited_in",
    "held_in",
    "uncertain",
    "holder_pid",
];

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::for_people(args.format, false);
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let mut lines = Vec::new();
        for (number, process) in opened.processes().iter().enumerate() {
            let is_wanted = |wait: &&WaitSpan| args.kind.is_none_or(|kind| wait.kind() == kind);
            let all = all_waits(process);
            let waits: Vec<&WaitSpan> = all.iter().filter(is_wanted).collect();
            let places = CallPlaces::of_waits(opened.trace(), process, waits.iter().copied())?;
            let by = match args.by {
                Grouping::Object => By::Object,
                Grouping::Holder => By::Holder,
                Grouping::Waiter => By::Waiter,
            };
            lines.extend(sums(process, waits, &places, by).into_iter().map(|sum| Line { process: number, sum }));
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.sum.total_ns));
        let (page, next) = list_page(&lines, args.cursor, args.limit);
        let json = || page.iter().map(|line| to_json(opened, line, args.by)).collect::<Vec<Value>>();
        match args.format {
            ListFormat::Table if lines.is_empty() && args.by == Grouping::Holder => {
                out.line("nobody is known to have held what others waited for")
            }
            ListFormat::Table if lines.is_empty() => out.line("nobody waited"),
            ListFormat::Table => {
                table(opened, page, args.by).fit(out.terminal().width).print(out)?;
                if let Some(next) = next {
                    out.line(&format!("more with --cursor {next}"))?;
                }
                for (count, process) in left_out(opened) {
                    out.line(&format!("{} of process {process} are not kept", counted(count, "further wait")))?;
                }
                graph::print(opened, args.at, out)
            }
            ListFormat::Json => out.json(&json!({
                "waits": json(),
                "count": lines.len(),
                "next_cursor": next,
                "graph": graph::to_json(opened, args.at)?,
            })),
            ListFormat::Csv => csv(out, &FIELDS, &json()),
        }
    })?;
    out.finish()?;
    Ok(outcome)
}

/// Processes with more waits than are kept.
fn left_out(opened: &OpenedSession) -> impl Iterator<Item = (u64, u32)> + '_ {
    let counts = opened.processes().iter().map(|process| (process.tables.meta().waits_left_out, process.pid.0));
    counts.filter(|(count, _)| *count > 0)
}

fn function_name(process: &TraceProcess, by_function: &BTreeMap<FunctionIndex, u64>) -> Option<String> {
    process.label_at(WaitSum::most(by_function)?).map(|label| label.name.clone())
}

fn table(opened: &OpenedSession, page: &[Line], by: Grouping) -> Listing {
    let first = match by {
        Grouping::Object => "object",
        Grouping::Holder => "held by",
        Grouping::Waiter => "waited in",
    };
    let second = if by == Grouping::Waiter { "held in" } else { "waited in" };
    let third = if by == Grouping::Object { "held in" } else { "" };
    let mut listing =
        Listing::new(&[">waits", ">open", ">total", ">longest", ">waiters", "kind", first, second, third]);
    for Line { process: number, sum } in page {
        let process = &opened.processes()[*number];
        let place = |by_function| function_name(process, by_function).unwrap_or_default();
        let title = |thread| format!("{} {}", process.thread_id(thread), thread_title(opened, *number, thread));
        let waiting = || match (waiting_thread(&sum.longest), suspended(process, &sum.longest)) {
            (Some(thread), _) => title(thread),
            (None, Some((task, _))) => of_tasks(sum.tasks, task),
            (None, None) => String::new(),
        };
        let held_in = sum.mostly_held_in(process).unwrap_or_default();
        let (first, second, third) = match by {
            Grouping::Object => {
                (object_name(process, &sum.longest).unwrap_or_default(), place(&sum.waited_in), held_in)
            }
            Grouping::Holder => {
                let own = sum.longest.holder.map(title);
                let remote = || {
                    let (other, thread) = remote_holder(opened, &sum.longest)?;
                    let process = &opened.processes()[other];
                    let title = thread_title(opened, other, thread);
                    Some(format!("{} {title} of process {}", process.thread_id(thread), process.pid))
                };
                let holder = own.or_else(remote).unwrap_or_default();
                let place = sum.mostly_held_in(process).map(|name| format!(" in {name}"));
                (format!("{holder}{}", place.unwrap_or_default()), place_of(process, sum), String::new())
            }
            Grouping::Waiter => (format!("{} in {}", waiting(), place(&sum.waited_in)), held_in, String::new()),
        };
        listing.row(vec![
            thousands(sum.count),
            if sum.open > 0 { thousands(sum.open) } else { String::new() },
            nanoseconds(sum.total_ns),
            nanoseconds(sum.longest.duration()),
            (sum.waiters.len() + sum.tasks).to_string(),
            sum.kind.word().to_owned(),
            first,
            second,
            third,
        ]);
    }
    if third.is_empty() { listing.without("") } else { listing }
}

/// The process's index and the thread of who held what was waited for, where that is another process's.
fn remote_holder(opened: &OpenedSession, wait: &WaitSpan) -> Option<(usize, ThreadIndex)> {
    let number = usize::try_from(wait.holder_process?).ok().filter(|number| *number < opened.processes().len())?;
    Some((number, wait.remote_holder?))
}

/// `12 goroutines`.
fn of_tasks(count: usize, task: &TaskSpan) -> String {
    let word = match task.runtime() {
        TaskRuntime::Swift => "task",
        TaskRuntime::Go => "goroutine",
    };
    counted(count as u64, word)
}

fn place_of(process: &TraceProcess, sum: &WaitSum) -> String {
    function_name(process, &sum.waited_in).unwrap_or_default()
}

fn to_json(opened: &OpenedSession, line: &Line, by: Grouping) -> Value {
    let process = &opened.processes()[line.process];
    let (sum, longest) = (&line.sum, &line.sum.longest);
    let own = |thread| (line.process, thread);
    let thread = match by {
        Grouping::Object => None,
        Grouping::Holder => longest.holder.map(own).or_else(|| remote_holder(opened, longest)),
        Grouping::Waiter => waiting_thread(longest).map(own),
    };
    let of_thread = |(number, thread): (usize, _)| (&opened.processes()[number], thread);
    let holder_pid = thread.filter(|_| by == Grouping::Holder).map(|(number, _)| opened.processes()[number].pid.0);
    json!({
        "pid": process.pid.0,
        "kind": sum.kind.word(),
        "object": (by == Grouping::Object).then(|| object_name(process, longest)),
        "thread_id": thread.map(of_thread).map(|(process, thread)| process.thread_id(thread).0),
        "thread": thread.map(|(number, thread)| thread_title(opened, number, thread)),
        "waits": sum.count,
        "open": sum.open,
        "total_ns": sum.total_ns,
        "longest_ns": longest.duration(),
        "longest_span_id": process.refer(waiter(process, longest)),
        "waiters": sum.waiters.len() + sum.tasks,
        "holders": sum.holders.len() + sum.remote_holders.len(),
        "waited_in": function_name(process, &sum.waited_in),
        "held_in": sum.mostly_held_in(process),
        "uncertain": sum.uncertain,
        "holder_pid": holder_pid,
    })
}
