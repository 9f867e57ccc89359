//! `ada tasks [SESSION]`.

mod hierarchy;
mod summary;

use ada_query::FunctionPattern;
use ada_span::Status;
use ada_span::task::{TaskKind, TaskResult, TaskRuntime, TaskSpan};
use serde_json::{Value, json};

use crate::analysis::{
    ListFormat, Listing, OpenedSession, Out, SessionArgs, Span, SpanKind, TraceProcess, csv, list_page, nanoseconds,
    with_tables,
};
use crate::exit::{Outcome, say};

use hierarchy::{Line, hierarchy};

const EXAMPLES: &str = "\
Examples:
  ada tasks                       Swift tasks and goroutines below their creators
  ada tasks --runtime go          goroutines only
  ada tasks --summary             a thousand children of one name in one line
  ada tasks --status canceled --format json
  ada show task:7                 each run and each wait of one task

Running and suspended time add up to a task's duration. A task is \
named after the function that it was created to run.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Only tasks whose name matches (wildcards `*`, `?`)
    #[arg(long, value_name = "PATTERN")]
    name: Option<String>,
    /// Only Swift tasks, or only goroutines
    #[arg(long, value_enum)]
    runtime: Option<Runtime>,
    /// Only tasks with this status: completed, canceled, unmatched, open or pending
    #[arg(long)]
    status: Vec<Status>,
    /// Also list tasks that the runtime creates for itself, such as to end a sleep
    #[arg(long)]
    all: bool,
    /// Print one line for each name: how many tasks, how they ended, and how long they took
    #[arg(long)]
    summary: bool,
    /// Print at most N; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Skip the first N, as the previous page said
    #[arg(long, value_name = "N", default_value_t = 0)]
    cursor: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

/// Whose tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Runtime {
    /// Tasks of Swift's concurrency
    Swift,
    /// Goroutines
    Go,
}

impl Runtime {
    fn has(self, task: &TaskSpan) -> bool {
        match self {
            Self::Swift => task.runtime() == TaskRuntime::Swift,
            Self::Go => task.runtime() == TaskRuntime::Go,
        }
    }
}

const FIELDS: [&str; 25] = [
    "reference",
    "pid",
    "runtime",
    "task_id",
    "kind",
    "name",
    "file",
    "line",
    "level",
    "parent_span_id",
    "create_ns",
    "start_latency_ns",
    "start_ns",
    "end_ns",
    "duration_ns",
    "running_ns",
    "suspended_ns",
    "run_count",
    "suspension_count",
    "thread_ids",
    "status",
    "reason",
    "outcome",
    "error",
    "error_case",
];

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::new();
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let mut lines = hierarchy(opened);
        lines.retain(|line| is_wanted(args, opened, line));
        opened.runtime_limits().for_each(|limit| say(format_args!("ada: {limit}\n")));
        if args.summary {
            return summary::print(args, opened, &lines, out);
        }
        let (page, next) = list_page(&lines, args.cursor, args.limit);
        match args.format {
            ListFormat::Table if lines.is_empty() => out.line("no task is like that"),
            ListFormat::Table => {
                table(opened, page).print(out)?;
                next.map_or(Ok(()), |next| out.line(&format!("more with --cursor {next}")))
            }
            ListFormat::Json => {
                let tasks: Vec<Value> = page.iter().map(|line| to_json(opened, line)).collect();
                out.json(&json!({ "tasks": tasks, "count": lines.len(), "next_cursor": next }))
            }
            ListFormat::Csv => csv(out, &FIELDS, &page.iter().map(|line| to_json(opened, line)).collect::<Vec<_>>()),
        }
    })?;
    out.finish()?;
    Ok(outcome)
}

impl Line {
    fn span(&self) -> Span {
        Span { process: self.process, kind: SpanKind::Task(self.index) }
    }

    fn task<'a>(&self, opened: &'a OpenedSession) -> &'a TaskSpan {
        &opened.processes()[self.process].tables.meta().tasks[self.index]
    }
}

fn is_wanted(args: &Args, opened: &OpenedSession, line: &Line) -> bool {
    let task = line.task(opened);
    (args.all || task.kind() != TaskKind::Helper)
        && args.runtime.is_none_or(|runtime| runtime.has(task))
        && (args.status.is_empty() || args.status.contains(&task.outcome().status))
        && args.name.as_ref().is_none_or(|pattern| FunctionPattern::new(pattern).matches(&line.span().name(opened)))
}

fn table(opened: &OpenedSession, lines: &[Line]) -> Listing {
    let mut listing = Listing::new(&[
        "task",
        "kind",
        ">start",
        ">duration",
        ">running",
        ">suspended",
        "waited for",
        "threads",
        "status",
        "outcome",
        "name",
    ]);
    for line in lines {
        let (span, task) = (line.span(), line.task(opened));
        let process = &opened.processes()[line.process];
        let outcome = task.outcome();
        let threads: Vec<String> = process.threads_of(task).iter().map(ToString::to_string).collect();
        listing.row(vec![
            format!("{:1$}{2}", "", 2 * line.level.min(20), span.reference(opened)),
            task.kind().word().to_owned(),
            nanoseconds(task.start.since(opened.start())),
            nanoseconds(span.duration(opened)),
            nanoseconds(task.running_ns),
            nanoseconds(task.suspended_ns),
            waits(line, opened),
            shortened(&threads),
            format!("{}{}", outcome.status, if outcome.is_uncertain { "?" } else { "" }),
            result(task, process),
            span.name(opened),
        ]);
    }
    listing
}

/// Whether a task returned, or what it threw: `threw Failure.second`.
fn result(task: &TaskSpan, process: &TraceProcess) -> String {
    match task.result() {
        TaskResult::Unknown => String::new(),
        TaskResult::Returned => "returned".to_owned(),
        TaskResult::Threw => format!("threw {}", process.thrown(task).as_deref().unwrap_or("an error")),
    }
}

/// What a task waited for, and how often: `task 2, sleep, executor Bank#1`.
fn waits(line: &Line, opened: &OpenedSession) -> String {
    let process = &opened.processes()[line.process];
    let mut counts: Vec<(String, u64)> = Vec::new();
    for wait in process.suspensions_of(line.task(opened)) {
        let word = match process.executor(wait.executor) {
            Some(executor) => format!("{} {}", wait.kind().word(), process.executor_name(executor)),
            None => wait.kind().word().to_owned(),
        };
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let words = counts.iter().map(|(word, count)| match count {
        1 => word.clone(),
        _ => format!("{word} {count}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The first few of a list.
fn shortened(threads: &[String]) -> String {
    const SHOWN: usize = 4;
    let mut text = threads[..threads.len().min(SHOWN)].join(" ");
    if threads.len() > SHOWN {
        text.push_str(&format!(" … {} more", threads.len() - SHOWN));
    }
    text
}

fn to_json(opened: &OpenedSession, line: &Line) -> Value {
    let record = opened.record(&line.span());
    let mut json = json!({ "reference": record["span_id"], "level": line.level });
    for name in [
        "pid",
        "runtime",
        "name",
        "file",
        "line",
        "parent_span_id",
        "start_ns",
        "end_ns",
        "duration_ns",
        "thread_id",
        "end_thread_id",
        "thread_ids",
        "status",
        "reason",
        "evidence",
    ] {
        json[name] = record[name].clone();
    }
    if let Some(attributes) = record["attributes"].as_object() {
        attributes.iter().for_each(|(name, value)| json[name.as_str()] = value.clone());
    }
    json
}
