//! `ada show REF [SESSION]`.

mod event;
mod neighbours;
mod page;

use ada_event::{EventSeq, FunctionId, ProcessId, ThreadId};
use ada_span::ThreadIndex;
use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use self::page::Page;
use crate::analysis::{
    FrameSpan, ListFormat, OpenedSession, Out, Reference, SessionArgs, Span, SpanKind, Target, Wanted, csv, parse_most,
    put_corrected, with_tables,
};
use crate::exit::Outcome;
use crate::top;

const EXAMPLES: &str = "\
Examples:
  ada show frame:4712:90           a call: when, how it ended, who called it and what it called
  ada show event:4712:91           an event with its registers and stack, and the events around it
  ada show thread:4712             a thread: who created it, what it ran, how it ended
  ada show callback:4712:90        a callback and the call that was given its address
  ada show task:7                  a Swift task: who created it, when it ran, what it waited for
  ada show block:4712:90           a dispatched block: who submitted it, and to which queue
  ada show function:1:42 SESSION   a function's calls and times

Other commands print such references. Registers and stack are shown if they were recorded (`ada trace --detail all`); \
source lines, if a file with the module's build-id has debug information.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to show: a reference that another command printed, such as frame:4712:90
    #[arg(value_name = "REF")]
    reference: Reference,
    #[command(flatten)]
    session: SessionArgs,
    /// Show at most N neighbours and callees; 0 shows all that are near
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_most)]
    limit: usize,
    /// Print everything known: events with their registers, ids, evidence
    #[arg(long)]
    wide: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = Out::new();
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let shown = find(opened, args.reference, args.limit)?;
        match args.format {
            ListFormat::Json => out.json(&shown),
            ListFormat::Csv => {
                let rows: Vec<Value> =
                    flat("", &shown).into_iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
                csv(out, &["name", "value"], &rows)
            }
            ListFormat::Table => {
                let start = opened.sessions().first().map(|it| it.start).unwrap_or_default();
                Page { start, is_wide: args.wide }.print(&with_sources(shown), out)
            }
        }
    })?;
    out.finish()?;
    Ok(outcome)
}

/// A thread of the session.
struct ThreadRef<'a> {
    opened: &'a OpenedSession,
    process: usize,
    thread: ThreadIndex,
}

/// All that is known of what a reference means, with `limit` neighbours of each kind.
pub(crate) fn find(opened: &OpenedSession, reference: Reference, limit: usize) -> anyhow::Result<Value> {
    let nowhere = || format!("{reference} is not in the session");
    match reference.target {
        Target::Function(function) => show_function(opened, reference.pid, function).with_context(nowhere),
        Target::Event(id, seq) => {
            let thread = find_thread(opened, reference.pid, id)?;
            event::show(&thread, seq, limit)?.with_context(nowhere)
        }
        Target::Frame(id, seq) => {
            let thread = find_thread(opened, reference.pid, id)?;
            show_frame(&thread, seq, limit)?.with_context(|| {
                format!("no call begins at event:{id}:{seq}; `ada show event:{id}:{seq}` says what is there")
            })
        }
        Target::Callback(id, _) => {
            let thread = find_thread(opened, reference.pid, id)?;
            let span = Span::find(opened, thread.process, reference.target)?.with_context(nowhere)?;
            Ok(with_corrected(&span, opened))
        }
        Target::Task(id) => Ok(opened.record(&find_task(opened, reference.pid, id)?.with_context(nowhere)?)),
        Target::Block(id, _) => {
            let thread = find_thread(opened, reference.pid, id)?;
            let span = Span::find(opened, thread.process, reference.target)?.with_context(nowhere)?;
            Ok(opened.record(&span))
        }
        Target::Thread(id, seq) => show_thread(&find_thread(opened, reference.pid, id)?, seq),
    }
}

fn find_task(opened: &OpenedSession, pid: Option<ProcessId>, id: u64) -> anyhow::Result<Option<Span>> {
    let mut found = opened.processes().iter().enumerate().filter_map(|(process, it)| {
        let is_meant = pid.is_none_or(|pid| pid == it.pid);
        let index = it.tables.meta().tasks.iter().position(|task| task.id == id).filter(|_| is_meant);
        index.map(|index| Span { process, kind: SpanKind::Task(index) })
    });
    let span = found.next();
    if found.next().is_some() {
        bail!("several processes have a task {id}; write PID/ before the reference");
    }
    Ok(span)
}

fn find_thread(opened: &OpenedSession, pid: Option<ProcessId>, id: ThreadId) -> anyhow::Result<ThreadRef<'_>> {
    let mut found = opened.processes().iter().enumerate().filter_map(|(process, it)| {
        let is_meant = pid.is_none_or(|pid| pid == it.pid);
        it.tables.meta().thread_index(id).filter(|_| is_meant).map(|thread| ThreadRef { opened, process, thread })
    });
    let Some(thread_ref) = found.next() else { bail!("thread {id} is not in the session; `ada threads` lists them") };
    if found.next().is_some() {
        bail!("several processes have a thread {id}; write PID/ before the reference");
    }
    Ok(thread_ref)
}

/// The record of a span, with its duration without what recording took.
fn with_corrected(span: &Span, opened: &OpenedSession) -> Value {
    let mut record = opened.record(span);
    put_corrected(&mut record, "corrected", span.corrected(opened));
    record
}

/// A call with its values where these were captured, or else its name.
fn line(span: &Span, opened: &OpenedSession) -> String {
    span.call_values(opened, Wanted::Captured).map_or_else(|| span.name(opened), |call| call.line())
}

fn show_frame(thread_ref: &ThreadRef<'_>, seq: EventSeq, limit: usize) -> anyhow::Result<Option<Value>> {
    let &ThreadRef { opened, process, thread } = thread_ref;
    let tables = &opened.processes()[process].tables;
    let Some(frame) = FrameSpan::read(tables, thread, seq)? else { return Ok(None) };
    let mut shown = with_corrected(&Span::frame(process, frame), opened);
    if let Some(call) = Span::frame(process, frame).call_values(opened, Wanted::Recorded) {
        shown["call"] = call.line().into();
        shown["values"] = call.to_json();
    }
    if let Some(parent) = frame.parent_seq()
        && let Some(parent) = FrameSpan::read(tables, thread, parent)?
    {
        shown["parent"] = line(&Span::frame(process, parent), opened).into();
    }
    shown["opened_by"] = event::show(thread_ref, seq, 0)?.unwrap_or_default();
    if let Some(close) = frame.close_seq() {
        shown["closed_by"] = event::show(thread_ref, close, 0)?.unwrap_or_default();
    }
    let around = neighbours::find(thread_ref, &frame, limit)?;
    let list = |them: &[Span]| -> Value {
        them.iter().map(|span| Value::from(format!("{} {}", span.reference(opened), line(span, opened)))).collect()
    };
    shown["callees"] = list(&around.callees);
    shown["before"] = list(&around.before);
    shown["after"] = list(&around.after);
    Ok(Some(shown))
}

fn show_thread(thread_ref: &ThreadRef<'_>, seq: EventSeq) -> anyhow::Result<Value> {
    let process = &thread_ref.opened.processes()[thread_ref.process];
    let entry = &process.tables.meta().threads[thread_ref.thread.as_usize()];
    let mut shown = match process.pthread_index(thread_ref.thread, seq) {
        Some(at) => {
            with_corrected(&Span { process: thread_ref.process, kind: SpanKind::Pthread(at) }, thread_ref.opened)
        }
        None => json!({ "thread_id": entry.id.0, "name": "main", "pid": process.pid.0 }),
    };
    let facts = &entry.facts;
    shown["events"] = facts.events.into();
    shown["spans"] = entry.spans.into();
    shown["deepest"] = facts.deepest.into();
    shown["first_event_ns"] = facts.first_time.0.into();
    shown["last_event_ns"] = facts.last_time.0.into();
    let outcomes: Map<String, Value> = entry
        .outcomes
        .iter()
        .filter_map(|&(byte, count)| {
            let outcome = ada_span::Outcome::from_byte(byte)?;
            Some((format!("{} ({})", outcome.status, outcome.reason), count.into()))
        })
        .collect();
    shown["outcomes"] = outcomes.into();
    Ok(shown)
}

fn show_function(opened: &OpenedSession, pid: Option<ProcessId>, function: FunctionId) -> Option<Value> {
    opened.processes().iter().enumerate().filter(|(_, it)| pid.is_none_or(|pid| pid == it.pid)).find_map(
        |(process, it)| {
            let meta = it.tables.meta();
            let stats = &meta.functions[meta.function_index(function)?.as_usize()];
            let mut shown = top::to_json(opened, &top::Use::new(opened, process, stats));
            shown["symbol"] = it.names.raw(function).filter(|raw| !raw.is_empty()).into();
            shown["reference"] = opened.processes()[process].refer(Target::Function(function)).into();
            Some(shown)
        },
    )
}

/// Files and lines as `file:line`, which terminals and editors know.
fn with_sources(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        let source = fields.remove("file").zip(fields.remove("line"));
        if let Some((Value::String(file), line @ Value::Number(_))) = source {
            fields.insert("source".into(), format!("{file}:{line}").into());
        }
        fields.values_mut().for_each(|field| *field = with_sources(field.take()));
    }
    value
}

/// All fields with their whole names.
fn flat(prefix: &str, value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flat(&name, value)
            })
            .collect(),
        other => vec![(prefix.to_owned(), other.clone())],
    }
}
