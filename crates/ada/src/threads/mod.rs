//! `ada threads [SESSION]`.

mod active;
mod states;

pub(crate) use active::most_alive;
pub(crate) use states::{check_states, percentages, why_unknown};

use std::collections::{BTreeMap, HashMap};

use ada_event::EventSeq;
use ada_query::FunctionPattern;
use ada_span::pthread::PthreadSpan;
use ada_span::state::ThreadState;
use ada_span::table::Meta;
use ada_span::{NONE, ThreadIndex};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::analysis::{
    ListFormat, Listing, OpenedSession, Out, SessionArgs, Span, SpanKind, Target, counted, csv, list_page, nanoseconds,
    thousands, thread_title, with_tables,
};
use crate::exit::Outcome;

const EXAMPLES: &str = "\
Examples:
  ada threads                     each thread below the one that created it
  ada threads --name 'worker*' --format json
  ada threads --sort ready        those first that were ready to run longest, but did not
  ada show thread:4712            everything about one

A question mark behind a creator means that it may have been another call at the same time.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Only threads that ran a function whose name matches (wildcards `*`, `?`)
    #[arg(long, value_name = "PATTERN")]
    name: Option<String>,
    /// Sort order
    #[arg(long, value_enum, default_value_t = Order::Creator)]
    sort: Order,
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

/// How threads are sorted.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Each thread below the one that created it
    Creator,
    /// Most time on a processor first
    OnCpu,
    /// Most time ready to run, while others had the processors, first
    Ready,
    /// Most time waiting first
    Blocked,
}

impl Order {
    const fn state(self) -> Option<ThreadState> {
        match self {
            Self::Creator => None,
            Self::OnCpu => Some(ThreadState::Running),
            Self::Ready => Some(ThreadState::Ready),
            Self::Blocked => Some(ThreadState::Blocked),
        }
    }
}

/// A thread, with its level of the hierarchy.
struct Line {
    process: usize,
    /// The thread.
    thread: ThreadIndex,
    /// Its span; the first thread of a process has none.
    span: Option<PthreadSpan>,
    level: usize,
    /// How many events it has: where an id was used again, until the next one begins.
    events: u64,
}

const FIELDS: [&str; 28] = [
    "reference",
    "pid",
    "thread_id",
    "name",
    "file",
    "line",
    "level",
    "creator_thread_id",
    "create_ns",
    "spawn_latency_ns",
    "start_ns",
    "end_ns",
    "lifetime_ns",
    "status",
    "reason",
    "end_by",
    "exit_value",
    "mode",
    "joiner_thread_id",
    "join_ns",
    "join_wait_ns",
    "canceler_thread_id",
    "cancel_ns",
    "events",
    "spans",
    "on_cpu_ns",
    "ready_ns",
    "blocked_ns",
];

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::for_people(args.format, false);
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let mut lines = hierarchy(opened);
        lines.retain(|line| {
            args.name.as_ref().is_none_or(|pattern| FunctionPattern::new(pattern).matches(&name(opened, line)))
        });
        if let Some(state) = args.sort.state() {
            check_states(opened)?;
            let time = |line: &Line| states::times(&opened.processes()[line.process], line).map(|it| it.of(state));
            lines.sort_by_cached_key(|line| std::cmp::Reverse(time(line)));
            lines.iter_mut().for_each(|line| line.level = 0);
        }
        let (page, next) = list_page(&lines, args.cursor, args.limit);
        match args.format {
            ListFormat::Table => {
                table(opened, page).fit(out.terminal().width).print(out)?;
                if let Some(next) = next {
                    out.line(&format!("more with --cursor {next}"))?;
                }
                active::print(opened, out)?;
                if let Some(reason) = why_unknown(opened) {
                    out.line(&format!("when threads ran is not known: {reason}"))?;
                }
                for (error, count) in failed_creations(opened) {
                    out.line(&format!("{} failed: {error}", counted(count, "call") + " of pthread_create"))?;
                }
                Ok(())
            }
            ListFormat::Json => {
                let threads: Vec<Value> = page.iter().map(|line| to_json(opened, line)).collect();
                out.json(&json!({
                    "threads": threads,
                    "count": lines.len(),
                    "active": active::to_json(opened),
                    "failed": failed_to_json(opened),
                    "next_cursor": next,
                }))
            }
            ListFormat::Csv => csv(out, &FIELDS, &page.iter().map(|line| to_json(opened, line)).collect::<Vec<_>>()),
        }
    })?;
    out.finish()?;
    Ok(outcome)
}

/// How often `pthread_create` made no thread, by what it returned.
pub(crate) fn failed_creations(opened: &OpenedSession) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for failed in opened.processes().iter().flat_map(|process| &process.tables.meta().failed_creations) {
        *counts.entry(error_text(failed.error)).or_default() += 1;
    }
    counts
}

fn error_text(error: u64) -> String {
    let error = i32::try_from(error).unwrap_or_default();
    std::io::Error::from_raw_os_error(error).to_string().replace("os error", "errno")
}

fn failed_to_json(opened: &OpenedSession) -> Vec<Value> {
    let all = opened.processes().iter().flat_map(|process| {
        process.tables.meta().failed_creations.iter().map(|failed| {
            let creator = process.thread_id(failed.thread);
            json!({
                "pid": process.pid.0,
                "creator_thread_id": creator.0,
                "create_span_id": process.refer(Target::Frame(creator, failed.seq)),
                "create_ns": failed.time.0,
                "errno": failed.error,
                "error": error_text(failed.error),
                "start_routine_address": failed.routine_address.map(|it| format!("{:#x}", it.0)),
            })
        })
    });
    all.collect()
}

/// All threads, each behind the one that made it.
fn hierarchy(opened: &OpenedSession) -> Vec<Line> {
    let mut lines = Vec::new();
    for (process, it) in opened.processes().iter().enumerate() {
        let meta = it.tables.meta();
        let mut all: Vec<Line> = meta
            .pthreads
            .iter()
            .map(|&span| Line { process, thread: span.thread, span: Some(span), level: 0, events: 0 })
            .collect();
        let without =
            ThreadIndex::all(meta.threads.len()).filter(|&thread| it.pthread(thread, EventSeq(u64::MAX)).is_none());
        all.extend(without.map(|thread| Line { process, thread, span: None, level: 0, events: 0 }));
        count_events(meta, &mut all);
        all.sort_by_key(|line| {
            line.span.map_or(meta.threads[line.thread.as_usize()].facts.first_time, |span| span.start)
        });
        // Those that a thread made, by the thread and the event that its life begins with.
        let mut made: HashMap<Option<(ThreadIndex, EventSeq)>, Vec<usize>> = HashMap::new();
        for (number, line) in all.iter().enumerate() {
            let creation = line.span.and_then(|span| span.creator.zip(span.create_seq));
            let creator = creation
                .map(|(thread, seq)| (thread, it.pthread(thread, seq).map(|life| life.begin_seq).unwrap_or_default()));
            made.entry(creator).or_default().push(number);
        }
        let mut order: Vec<(usize, usize)> = Vec::new();
        let mut seen = vec![false; all.len()];
        let mut stack: Vec<(usize, usize)> =
            made.remove(&None).unwrap_or_default().into_iter().rev().map(|number| (number, 0)).collect();
        loop {
            while let Some((number, level)) = stack.pop() {
                seen[number] = true;
                order.push((number, level));
                let own = (all[number].thread, all[number].span.map(|span| span.begin_seq).unwrap_or_default());
                let below = made.remove(&Some(own)).unwrap_or_default();
                stack.extend(below.into_iter().rev().filter(|child| !seen[*child]).map(|child| (child, level + 1)));
            }
            // Doubtful creators can make a circle, which hangs on nobody.
            match seen.iter().position(|seen| !seen) {
                Some(number) => stack.push((number, 0)),
                None => break,
            }
        }
        let mut all: Vec<Option<Line>> = all.into_iter().map(Some).collect();
        lines.extend(order.into_iter().filter_map(|(number, level)| Some(Line { level, ..all[number].take()? })));
    }
    lines
}

fn count_events(meta: &Meta, lines: &mut [Line]) {
    let begin = |line: &Line| (line.thread, line.span.map(|span| span.begin_seq).unwrap_or_default());
    let mut begins: Vec<(ThreadIndex, EventSeq)> = lines.iter().map(begin).collect();
    begins.sort_unstable();
    for line in lines {
        let own = begin(line);
        let next = begins.get(begins.partition_point(|other| *other <= own)).filter(|next| next.0 == line.thread);
        let end = next.map_or(meta.threads[line.thread.as_usize()].facts.events, |next| next.1.0);
        line.events = end.saturating_sub(own.1.0);
    }
}

fn name(opened: &OpenedSession, line: &Line) -> String {
    let process = &opened.processes()[line.process];
    match &line.span {
        Some(span) => match span.given_name() {
            Some(given) if span.function.is_none() => given,
            Some(given) => format!("{} ({given})", process.thread_name(span)),
            None => process.thread_name(span),
        },
        None if process.runtime == "heph" => thread_title(opened, line.process, line.thread),
        // The bits above a thread id number the parts of a thread that was recorded in several.
        None if process.tables.meta().threads[line.thread.as_usize()].id.0 >> 22 > 0 => "continued".to_owned(),
        None => "main".to_owned(),
    }
}

fn reference(opened: &OpenedSession, line: &Line) -> String {
    let process = &opened.processes()[line.process];
    let begin_seq = line.span.map(|span| span.begin_seq).unwrap_or_default();
    process.refer(Target::Thread(process.thread_id(line.thread), begin_seq))
}

fn table(opened: &OpenedSession, lines: &[Line]) -> Listing {
    let mut listing = Listing::new(&[
        "thread",
        ">start",
        ">latency",
        ">lifetime",
        ">events",
        "ended by",
        ">exit value",
        "creator",
        ">join wait",
        ">running",
        ">ready",
        ">blocked",
        "name",
    ]);
    for line in lines {
        let process = &opened.processes()[line.process];
        let entry = &process.tables.meta().threads[line.thread.as_usize()];
        let span = line.span.as_ref();
        let blank = String::new;
        let start = span.map_or(entry.facts.first_time, |span| span.start).since(opened.start());
        let creator = span.and_then(|span| {
            let doubt = if span.confidence < 90 { "?" } else { "" };
            process.known_thread_id(span.creator).map(|creator| format!("thread:{creator}{doubt}"))
        });
        let lifetime =
            span.map_or(entry.facts.end_time.since(entry.facts.first_time), |span| span.end.since(span.start));
        let [running, ready, blocked] = states::shares(states::times(process, line));
        listing.row(vec![
            format!("{:1$}{2}", "", 2 * line.level.min(20), reference(opened, line)),
            nanoseconds(start),
            span.and_then(|span| span.spawn_latency()).map_or_else(blank, nanoseconds),
            nanoseconds(lifetime),
            thousands(line.events),
            span.map_or_else(blank, |span| span.end_how().word().to_owned()),
            span.filter(|span| span.exit_value != NONE).map_or_else(blank, |span| format!("{:#x}", span.exit_value)),
            creator.unwrap_or_default(),
            span.and_then(|span| span.join_end.zip(span.join_time))
                .map_or_else(blank, |(end, begin)| nanoseconds(end.since(begin))),
            running,
            ready,
            blocked,
            name(opened, line),
        ]);
    }
    listing
}

fn to_json(opened: &OpenedSession, line: &Line) -> Value {
    let process = &opened.processes()[line.process];
    let entry = &process.tables.meta().threads[line.thread.as_usize()];
    let mut json = json!({
        "reference": reference(opened, line),
        "pid": process.pid.0,
        "thread_id": entry.id.0,
        "name": name(opened, line),
        "level": line.level,
        "start_ns": entry.facts.first_time.0,
        "end_ns": entry.facts.end_time.0,
        "lifetime_ns": entry.facts.end_time.since(entry.facts.first_time),
        "events": line.events,
        "spans": entry.spans,
        "deepest": entry.facts.deepest,
    });
    let times = states::times(process, line);
    for (name, state) in states::NAMES {
        json[name] = times.map(|times| times.of(state)).into();
    }
    if let Some(index) = line.span.and_then(|span| process.pthread_index(span.thread, span.begin_seq)) {
        let record = opened.record(&Span { process: line.process, kind: SpanKind::Pthread(index) });
        for name in ["status", "reason", "start_ns", "end_ns", "evidence", "file", "line"] {
            json[name] = record[name].clone();
        }
        if let Some(attributes) = record["attributes"].as_object() {
            for (name, value) in attributes.iter().filter(|(name, _)| *name != "level") {
                json[name.as_str()] = value.clone();
            }
        }
    }
    json
}
