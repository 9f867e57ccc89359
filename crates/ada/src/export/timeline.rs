//! Timelines for other tools: goes through the spans once and hands them to a writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, IsTerminal, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ada_event::EventSeq;
use ada_export::{
    Argument, ArgumentValue, ArgumentsAt, Call, Ending, Format, FunctionIndex, FunctionInfo, Link, LinkEnd, Logical,
    Part, ProcessInfo, Run, RunEnd, ThreadInfo, TimelineWriter, TraceInfo, TraceThread, writer,
};
use ada_format::atf::{Payload, ThreadTrace};
use ada_format::private::open_regular;
use ada_span::concurrency::Context;
use ada_span::state::ThreadState;
use ada_span::table::{Column, Columns};
use ada_span::task::TaskSpan;
use ada_span::{Outcome as SpanOutcome, Reason, SpanError, ThreadIndex};
use anyhow::bail;

use super::Args;
use super::collector::Collector;
use crate::analysis::{
    CallValues, CausalEnd, CausalLink, FrameSpan, NamedValue, OpenedSession, RemoteLink, SessionArgs, Span, SpanKind,
    Target, TraceProcess, Wanted, causal_links, counted, find_session, remote_links, thousands, thread_title,
};
use crate::destination::Destination;
use crate::exit::{Blame, Outcome, say};
use crate::heph::HEPH_PACKET;
use crate::import::PACKETS_FILE;
use crate::spans::{Filter, logical_rows};

pub(super) fn run(
    format: Format,
    output: &Path,
    session: Option<&Path>,
    args: &Args,
    interrupted: &AtomicBool,
) -> anyhow::Result<Outcome> {
    let path = find_session(session)?;
    let session = SessionArgs { session: Some(path.clone()), timeout: args.ask.timeout, debug_dir: None };
    let opened = OpenedSession::open(&path, &session)?;
    let outcome = opened.show_findings();
    let filter = args.filter.prepare(&opened, false)?.with_frames_behind();
    let write = |out: Box<dyn io::Write>, spools: &dyn Fn() -> io::Result<File>| {
        let mut exporter = Exporter {
            opened: &opened,
            filter: &filter,
            is_filtered: args.filter.is_used(),
            writer: writer(format, out, spools),
            interrupted,
            threads: threads_of(&opened),
            contexts: contexts_of(&opened),
            progress: Progress::new(),
        };
        exporter.write(format)
    };
    if Collector::is_address(output) {
        if format != Format::Otlp {
            return Err(anyhow::anyhow!("--to otlp goes to an address; other formats go to files")).mistyped();
        }
        let collector = Collector::new(output).mistyped()?;
        let counts = write(Box::new(collector), &|| Err(io::ErrorKind::Unsupported.into()));
        let counts = counts.output_failed(|| format!("cannot send all to {}", output.display()))?;
        say_written(output, counts);
        return Ok(outcome);
    }
    let destination = Destination::begin(output)?;
    let failed = || format!("cannot write {}", output.display());
    if format == Format::Heph
        && !args.filter.is_used()
        && let Some(mut packets) = imported_packets(&opened)
    {
        // What came in goes out: conversions there and back could not keep it all.
        let mut file = destination.output().output_failed(failed)?;
        let bytes = io::copy(&mut packets, &mut file).output_failed(failed)?;
        file.flush().output_failed(failed)?;
        drop(file);
        destination.finish().output_failed(failed)?;
        if output.as_os_str() != "-" {
            say(format_args!("ada: {}: the packets as they were imported, {bytes} bytes\n", output.display()));
        }
        return Ok(outcome);
    }
    let file = destination.output().output_failed(failed)?;
    let written = write(Box::new(file), &|| destination.spool());
    let counts = written.map_err(|error| without_pipe(error, output))?;
    destination.finish().output_failed(failed)?;
    say_written(output, counts);
    Ok(outcome)
}

fn say_written(output: &Path, counts: Counts) {
    if output.as_os_str() != "-" {
        let (calls, logical) = (counted(counts.calls, "call"), counted(counts.logical, "logical span"));
        say(format_args!("ada: {}: {calls} and {logical}\n", output.display()));
    }
}

/// The packets that a session was imported from.
fn imported_packets(opened: &OpenedSession) -> Option<File> {
    let [process] = opened.processes() else { return None };
    let recorded = opened.recorded(process);
    let is_imported = recorded.manifest.as_ref()?.extra.get("imported_from")? == "heph";
    is_imported.then(|| open_regular(&recorded.path.join(PACKETS_FILE)).ok()).flatten()
}

/// A reader that went away is an error here: what it has is half a file.
fn without_pipe(error: anyhow::Error, output: &Path) -> anyhow::Error {
    let is_output = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    match is_output {
        Some(cause) => {
            let failed: Result<(), _> = Err(anyhow::anyhow!("{cause}"));
            let named = failed.output_failed(|| format!("cannot write {}; nothing is left of it", output.display()));
            named.err().unwrap_or(error)
        }
        None => error,
    }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    calls: u64,
    logical: u64,
}

/// Which threads there are: of which process, in the order of [`TraceInfo::threads`].
fn threads_of(opened: &OpenedSession) -> Vec<(usize, ThreadIndex)> {
    let of = |(number, process): (usize, &TraceProcess)| {
        ThreadIndex::all(process.tables.meta().threads.len()).map(move |thread| (number, thread)).collect::<Vec<_>>()
    };
    opened.processes().iter().enumerate().flat_map(of).collect()
}

struct Exporter<'a> {
    opened: &'a OpenedSession,
    filter: &'a Filter,
    /// Whether some calls may be left out.
    is_filtered: bool,
    writer: Box<dyn TimelineWriter + 'a>,
    interrupted: &'a AtomicBool,
    threads: Vec<(usize, ThreadIndex)>,
    contexts: BTreeMap<(usize, Target), u64>,
    progress: Progress,
}

/// A call that has not been closed.
struct OpenCall {
    call: Call,
    depth: u64,
    close_seq: Option<EventSeq>,
}

impl Exporter<'_> {
    fn write(&mut self, format: Format) -> anyhow::Result<Counts> {
        let mut rows: Vec<Span> = logical_rows(self.opened, self.filter).collect();
        rows.sort_by_key(|span| span.start(self.opened));
        let trace = self.trace_info(&rows)?;
        let mut counts = Counts::default();
        self.writer.begin(&trace)?;
        let all: u64 = self.opened.processes().iter().flat_map(|it| &it.tables.meta().threads).map(|it| it.spans).sum();
        self.progress.total = all;
        if self.filter.wants_frames() {
            for index in (0..self.threads.len()).map(TraceThread) {
                counts.calls += self.write_thread(&trace, index, format == Format::Heph)?;
            }
        }
        for row in rows {
            self.writer.logical(&trace, &self.logical(&row))?;
            counts.logical += 1;
        }
        self.writer.finish(&trace)?;
        Ok(counts)
    }

    fn write_thread(&mut self, trace: &TraceInfo, index: TraceThread, with_context: bool) -> anyhow::Result<u64> {
        let (number, thread) = self.threads[index.0];
        let process = &self.opened.processes()[number];
        let entry = &process.tables.meta().threads[thread.as_usize()];
        if !self.filter.wants_thread(entry.id) || entry.spans == 0 {
            return Ok(0);
        }
        let meta = process.tables.meta();
        let with_context = with_context && !(meta.task_runs.is_empty() && meta.dispatched.is_empty());
        let recorded = &self.opened.recorded(process).threads[thread.as_usize()];
        let has_detail = recorded.detail().is_some_and(|detail| !detail.is_empty());
        let when = if has_detail { self.writer.arguments() } else { ArgumentsAt::Never };
        let mut arguments = Vec::new();
        let mut open: Vec<OpenCall> = Vec::new();
        let mut columns = Columns::new();
        let mut count = 0;
        self.writer.begin_thread(trace, index)?;
        for block in process.tables.blocks_of(thread) {
            if self.interrupted.load(Ordering::Relaxed) {
                bail!("interrupted; nothing was written");
            }
            let entry = process.tables.block(block);
            self.progress.advance(entry.rows.into());
            if !self.filter.wants_block(entry) {
                continue;
            }
            process.tables.read(
                block,
                |column| column != Column::SelfTime && column != Column::Context,
                &mut columns,
            )?;
            for row in 0..columns.rows() {
                let at = |column: Column| columns.at(column, row);
                let (start, function) = (columns.start(row), columns.function(row));
                let (duration, outcome) = (at(Column::Duration), at(Column::Outcome));
                if !self.filter.wants_frame(number, function, start, duration, outcome)
                    || !self.filter.wants_values(self.opened, number, thread, &columns, row)
                {
                    continue;
                }
                let (depth, mut end) = (at(Column::Depth), start.saturating_add(duration));
                while let Some(top) = open.last()
                    && (top.depth >= depth || top.call.end <= start && top.call.end < end)
                {
                    let Some(closed) = open.pop() else { break };
                    self.close(trace, index, &closed, when, recorded, &mut arguments)?;
                }
                if let Some(parent) = open.last() {
                    end = end.min(parent.call.end);
                }
                let seq = columns.seq(row);
                let context = match with_context {
                    true => context_number(process.context_at(thread, seq)),
                    false => 0,
                };
                let ending = ending(columns.outcome(row));
                let close_seq = columns.own_close_seq(row);
                let call = Call { seq, start, end, function: FunctionIndex(function.0), ending, context };
                arguments.clear();
                if when == ArgumentsAt::Open {
                    self.read_arguments(index, &call, close_seq, recorded, &mut arguments);
                }
                self.writer.open(trace, index, &call, &arguments)?;
                open.push(OpenCall { call, depth, close_seq });
                count += 1;
            }
            if has_detail && block % 64 == 0 {
                recorded.release();
            }
        }
        while let Some(closed) = open.pop() {
            self.close(trace, index, &closed, when, recorded, &mut arguments)?;
        }
        self.writer.end_thread(trace, index)?;
        Ok(count)
    }

    fn close(
        &mut self,
        trace: &TraceInfo,
        index: TraceThread,
        closed: &OpenCall,
        when: ArgumentsAt,
        recorded: &ThreadTrace,
        arguments: &mut Vec<Argument>,
    ) -> io::Result<()> {
        arguments.clear();
        if when == ArgumentsAt::Close {
            self.read_arguments(index, &closed.call, closed.close_seq, recorded, arguments);
        }
        self.writer.close(trace, index, &closed.call, arguments)
    }

    /// The values of a call where these were captured, or its registers.
    fn read_arguments(
        &self,
        index: TraceThread,
        call: &Call,
        close: Option<EventSeq>,
        recorded: &ThreadTrace,
        out: &mut Vec<Argument>,
    ) {
        let (number, thread) = self.threads[index.0];
        let process = &self.opened.processes()[number];
        let function = process.function(ada_span::table::FunctionIndex(call.function.0));
        match CallValues::of(self.opened, process, function, thread, (call.seq, close), Wanted::Captured) {
            Some(values) => put_values(&values, out),
            None => read_registers(recorded, call.seq, close, out),
        }
    }

    /// What is known before the calls. Links have both ends among what is exported.
    fn trace_info(&self, rows: &[Span]) -> Result<TraceInfo, SpanError> {
        let opened = self.opened;
        let exported: BTreeSet<(usize, Target)> = rows.iter().map(|span| (span.process, span.target(opened))).collect();
        let path = opened.session().path();
        let session = path.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
        let manifests = opened.processes().iter().filter_map(|process| opened.recorded(process).manifest.as_ref());
        let epoch = manifests.filter_map(|it| it.extra.get("epoch_unix_ns")?.as_u64()).next();
        let (start, end) = (opened.start(), opened.end());
        let mut trace = TraceInfo { session, start, end, epoch, ..TraceInfo::default() };
        let mut first_threads = Vec::new();
        for (number, process) in opened.processes().iter().enumerate() {
            let meta = process.tables.meta();
            let functions = meta.functions.iter().map(|it| FunctionInfo {
                name: process.names.name(it.function),
                module: process.names.module(it.function),
            });
            let manifest = opened.recorded(process).manifest.as_ref();
            let name = manifest.map_or_else(String::new, |it| it.command_line.join(" "));
            trace.processes.push(ProcessInfo { pid: process.pid, name, functions: functions.collect() });
            let first = trace.threads.len();
            first_threads.push(first);
            for (thread, entry) in ThreadIndex::all(meta.threads.len()).zip(&meta.threads) {
                trace.threads.push(ThreadInfo {
                    process: number,
                    id: entry.id,
                    name: thread_title(opened, number, thread),
                    start: entry.facts.first_time,
                    end: entry.facts.last_time,
                });
            }
            trace.runs.extend(self.runs(number, first));
            let end = |it: CausalEnd| LinkEnd {
                thread: TraceThread(first + it.thread.as_usize()),
                time: it.time.unwrap_or_default(),
                call: match it.target {
                    Target::Frame(_, seq) => Some(seq),
                    _ => None,
                },
                logical: (!matches!(it.target, Target::Frame(..)))
                    .then(|| opened.processes()[number].reference(it.target).to_string()),
            };
            for it in causal_links(meta).into_iter().filter(CausalLink::is_drawn) {
                let mut has_both = true;
                for end in [&it.from, &it.to] {
                    has_both &= match end.target {
                        Target::Frame(_, seq) => self.exports_call(number, end.thread, seq)?,
                        target => exported.contains(&(number, target)),
                    };
                }
                if has_both {
                    trace.links.push(Link { kind: it.kind, from: end(it.from), to: end(it.to) });
                }
            }
        }
        for RemoteLink { link, from_process, to_process } in remote_links(opened.trace()) {
            let end = |process: usize, it: CausalEnd| {
                let Target::Frame(_, seq) = it.target else { return Ok(None) };
                let thread = TraceThread(first_threads[process] + it.thread.as_usize());
                let end = LinkEnd { thread, time: it.time.unwrap_or_default(), call: Some(seq), logical: None };
                Ok(self.exports_call(process, it.thread, seq)?.then_some(end))
            };
            if link.is_drawn()
                && let (Some(from), Some(to)) = (end(from_process, link.from)?, end(to_process, link.to)?)
            {
                trace.links.push(Link { kind: link.kind, from, to });
            }
        }
        Ok(trace)
    }

    /// When the threads of a process had a processor; nothing where only a part is exported.
    fn runs(&self, number: usize, first: usize) -> Vec<Run> {
        let process = &self.opened.processes()[number];
        let threads = &process.tables.meta().threads;
        let mut runs = Vec::new();
        for (thread, entry) in ThreadIndex::all(threads.len()).zip(threads).filter(|_| !self.is_filtered) {
            let Some(states) = process.thread_states(thread) else { continue };
            let mut spans = states.spans(entry.facts.first_time, entry.facts.end_time).peekable();
            while let Some(span) = spans.next() {
                let Some(cpu) = span.cpu else { continue };
                let then = match spans.peek().map(|next| next.state) {
                    Some(ThreadState::Running | ThreadState::Ready) => RunEnd::Preempted,
                    Some(ThreadState::Blocked) => RunEnd::Blocked,
                    Some(ThreadState::Unknown) | None => RunEnd::Ended,
                };
                let thread = TraceThread(first + thread.as_usize());
                runs.push(Run { thread, cpu, start: span.start, end: span.end, then });
            }
        }
        runs
    }

    fn exports_call(&self, process: usize, thread: ThreadIndex, seq: EventSeq) -> Result<bool, SpanError> {
        let meta = self.opened.processes()[process].tables.meta();
        if !self.filter.wants_frames() || !self.filter.wants_thread(meta.threads[thread.as_usize()].id) {
            return Ok(false);
        }
        if !self.is_filtered {
            return Ok(true);
        }
        let frame = FrameSpan::read(&self.opened.processes()[process].tables, thread, seq)?;
        Ok(frame.is_some_and(|it| {
            self.filter.wants_frame(process, it.function_index(), it.start(), it.duration(), it.outcome_byte())
        }))
    }

    fn logical(&self, span: &Span) -> Logical {
        let number = span.process;
        let process = &self.opened.processes()[number];
        let first = self.threads.iter().position(|&(it, _)| it == number).unwrap_or(0);
        let mut record = self.opened.record(span);
        let mut attributes = match record["attributes"].take() {
            serde_json::Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        };
        // These are the parts.
        attributes.remove("runs");
        attributes.remove("suspensions");
        attributes.insert("parent_span_id".into(), record["parent_span_id"].take());
        let parts = match span.kind {
            SpanKind::Task(index) => parts(&process.tables.meta().tasks[index], process, first),
            _ => Vec::new(),
        };
        Logical {
            reference: span.reference(self.opened).to_string(),
            process: number,
            thread: TraceThread(first + span.thread(self.opened).as_usize()),
            runtime: span.runtime(self.opened),
            name: span.name(self.opened),
            start: span.start(self.opened),
            end: span.start(self.opened).saturating_add(span.duration(self.opened)),
            ending: ending(span.outcome(self.opened)),
            context: self.contexts.get(&(number, span.target(self.opened))).copied().unwrap_or(0),
            parts,
            attributes,
        }
    }
}

/// The numbers of substreams, by process and what runs in them.
fn contexts_of(opened: &OpenedSession) -> BTreeMap<(usize, Target), u64> {
    let mut contexts = BTreeMap::new();
    for (number, process) in opened.processes().iter().enumerate() {
        let meta = process.tables.meta();
        let tasks = (0..meta.tasks.len()).map(|index| Context::Task(index as u32));
        let blocks = (0..meta.dispatched.len()).map(|index| Context::Block(index as u32));
        for context in tasks.chain(blocks) {
            contexts.extend(process.target_of(context).map(|target| ((number, target), context_number(context))));
        }
    }
    contexts
}

/// A number for a substream: 0 is the thread itself.
fn context_number(context: Context) -> u64 {
    match context {
        Context::Thread => 0,
        Context::Task(index) => 1 + 2 * u64::from(index),
        Context::Block(index) => 2 + 2 * u64::from(index),
    }
}

fn ending(outcome: SpanOutcome) -> Ending {
    Ending {
        status: outcome.status.word(),
        reason: (outcome.reason != Reason::None).then(|| outcome.reason.word()),
        is_uncertain: outcome.is_uncertain,
    }
}

/// A task's runs and waits, in the order of time.
fn parts(task: &TaskSpan, process: &TraceProcess, first: usize) -> Vec<Part> {
    let runs = process.runs_of(task).iter().map(|run| Part {
        label: "running".into(),
        is_running: true,
        thread: TraceThread(first + run.thread.as_usize()),
        start: run.start,
        end: run.end,
    });
    let end = task.end;
    let waits = process.suspensions_of(task).iter().map(|wait| Part {
        label: format!("waits for {}", wait.kind().word()),
        is_running: false,
        thread: TraceThread(first + wait.thread.as_usize()),
        start: wait.start,
        end: wait.end.unwrap_or(end.max(wait.start)),
    });
    let mut parts: Vec<Part> = runs.chain(waits).collect();
    parts.sort_by_key(|part| (part.start, part.end));
    parts
}

/// What the call was given, and what it gave back, where that was captured.
fn put_values(call: &CallValues, out: &mut Vec<Argument>) {
    let named = call.arguments().chain(call.result());
    let argument =
        |it: &NamedValue| Argument { name: it.name.clone().into(), value: ArgumentValue::Attribute(it.to_json()) };
    out.extend(named.map(argument));
    if let Some((_, name)) = call.error() {
        out.push(Argument { name: "errno".into(), value: ArgumentValue::Attribute(name.into()) });
    }
}

/// The registers of a call, where these were recorded.
fn read_registers(thread: &ThreadTrace, seq: EventSeq, close: Option<EventSeq>, out: &mut Vec<Argument>) {
    let record = |seq: EventSeq| {
        let event = thread.index().event(seq)?;
        thread.detail()?.record(event.detail)
    };
    let mut put = |name: &'static str, value: u64| {
        out.push(Argument { name: name.into(), value: ArgumentValue::Register(value) });
    };
    match record(seq).as_ref().map(|entry| entry.payload()) {
        Some(Ok(Payload::X86Call(call))) => {
            let values = [call.rdi, call.rsi, call.rdx, call.rcx, call.r8, call.r9];
            ["rdi", "rsi", "rdx", "rcx", "r8", "r9"].into_iter().zip(values).for_each(|(name, value)| put(name, value));
        }
        Some(Ok(Payload::Unknown { kind, bytes })) if kind.0 == HEPH_PACKET => {
            let attributes = crate::heph::attributes(bytes);
            let all = attributes.as_object().into_iter().flatten();
            out.extend(all.map(|(name, value)| Argument {
                name: name.clone().into(),
                value: ArgumentValue::Attribute(value.clone()),
            }));
            return;
        }
        _ => (),
    }
    if let Some(end) = close.and_then(record)
        && let Ok(Payload::X86Return(back)) = end.payload()
    {
        put("rax", back.rax);
    }
}

/// A line on a terminal for those who wait longer than a second.
struct Progress {
    total: u64,
    done: u64,
    begun: Instant,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    fn new() -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { total: 0, done: 0, begun: Instant::now(), shown: None, is_terminal }
    }

    fn advance(&mut self, spans: u64) {
        self.done += spans;
        let is_due = self.shown.is_none_or(|it| it.elapsed() > Duration::from_millis(100));
        if self.is_terminal && self.begun.elapsed() > Duration::from_secs(1) && is_due {
            self.shown = Some(Instant::now());
            let percent = self.done * 100 / self.total.max(1);
            say(format_args!("\rexporting: {percent} % of {} calls\x1b[K", thousands(self.total)));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            say(format_args!("\r\x1b[K"));
        }
    }
}
