//! A session that a command reads.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ada_event::{EventSeq, FunctionId, RuntimeAddr};
use ada_format::atf::{Payload, Session};
use ada_image::SourcePlace;
use ada_query::{QueryError, Span, SpanKind, Trace, TraceProcess};
use ada_span::{SpanError, ThreadIndex};
use anyhow::Context as _;
use serde_json::Value;

use super::listing::Out;
use super::newest;
use super::session_tables::{open_session, show_findings, tables_of};
use super::source_files::{SourceFiles, put_source};
use super::units::parse_nanos;
use crate::exit::{Outcome, say};
use crate::heph::HEPH_PACKET;

/// Which session, and how it is analysed.
#[derive(clap::Args)]
pub(crate) struct SessionArgs {
    /// The session's folder, or a folder of sessions, of which the newest is taken [default: the newest in ada_traces]
    pub(crate) session: Option<PathBuf>,
    /// Mark spans that take longer than this with the reason `timeout`, or as `open` if they never end
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_nanos)]
    pub(crate) timeout: u64,
    /// Look for source lines in this folder first: in debug files or unstripped files with the modules' build-ids
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_dir: Option<PathBuf>,
}

/// A trace of one session, and the files that have its source lines.
pub(crate) struct OpenedSession {
    trace: Arc<Trace>,
    sources: SourceFiles,
}

impl Deref for OpenedSession {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        &self.trace
    }
}

impl OpenedSession {
    /// Opens a session, and makes its tables where need be.
    pub(crate) fn open(path: &Path, args: &SessionArgs) -> anyhow::Result<Self> {
        let session = open_session(path)?;
        let debug_dir = args.debug_dir.as_deref();
        let sources = SourceFiles::of(&session, debug_dir)
            .with_context(|| format!("cannot search {}", debug_dir.unwrap_or(path).display()))?;
        let tables = tables_of(&session, args.timeout)?;
        Ok(Self { trace: Arc::new(Trace::new(vec![(session, tables)])), sources })
    }

    /// Prints what is wrong with the session on stderr.
    pub(crate) fn show_findings(&self) -> Outcome {
        show_findings(self.session(), self.processes().iter().map(|process| &process.tables))
    }

    pub(crate) fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    pub(crate) fn session(&self) -> &Session {
        &self.trace.sessions()[0].session
    }

    /// Why callbacks may be missing, if they may: most are found by registers, which few sessions have throughout.
    pub(crate) fn why_few_callbacks(&self) -> Option<&'static str> {
        let threads = || self.processes().iter().flat_map(|process| &self.recorded(process).threads);
        let (events, details) = threads().fold((0, 0), |(events, details), thread| {
            (events + thread.event_count(), details + thread.detail().map_or(0, |detail| detail.len()))
        });
        let is_partial = details < events / 4;
        is_partial.then_some(
            "only those of signals, qsort, atexit and pthread_once are known, and those in windows of detail: \
             others need registers (ada trace --detail all)",
        )
    }

    /// Where the source has a function of a process; nothing where no debug information says so.
    pub(crate) fn source(&self, process: usize, function: FunctionId) -> Option<SourcePlace> {
        self.sources.function(&self.processes()[process].names.code(function)?)
    }

    /// Where the source has a span's function.
    pub(crate) fn source_of(&self, span: &Span) -> Option<SourcePlace> {
        self.source(span.process, span.function(self)?)
    }

    /// The record of a span, with its source line.
    pub(crate) fn record(&self, span: &Span) -> Value {
        let mut record = span.record(self);
        put_source(&mut record, self.source_of(span));
        if let SpanKind::Frame(frame) = &span.kind
            && let Some(attributes) = self.imported_attributes(span.process, frame.thread, frame.seq())
        {
            record["attributes"]["heph"] = attributes;
        }
        if let SpanKind::Task(task) = span.kind {
            let process = &self.processes()[span.process];
            let waits = process.suspensions_of(&process.tables.meta().tasks[task]);
            for (index, wait) in waits.iter().enumerate() {
                let Some(function) = wait.awaiting else { continue };
                let source = match wait.await_address {
                    Some(back) => self.line_before(process, back),
                    // What follows an `await` is a function of its own, which begins on the line of that.
                    None => process.names.code(function).and_then(|code| self.sources.instruction(&code)),
                };
                put_source(&mut record["attributes"]["suspensions"][index], source);
            }
            if let Some(back) = process.tables.meta().tasks[task].create_address {
                let (file, line) = self.line_before(process, back).map(|it| (it.file, it.line)).unzip();
                record["attributes"]["create_file"] = file.into();
                record["attributes"]["create_line"] = line.into();
            }
        }
        record
    }

    /// What an imported event says of itself.
    fn imported_attributes(&self, process: usize, thread: ThreadIndex, seq: EventSeq) -> Option<Value> {
        let process = &self.processes()[process];
        if process.runtime != "heph" {
            return None;
        }
        let thread = &self.recorded(process).threads[thread.as_usize()];
        let entry = thread.detail()?.record(thread.index().event(seq)?.detail)?;
        match entry.payload() {
            Ok(Payload::Unknown { kind, bytes }) if kind.0 == HEPH_PACKET => Some(crate::heph::attributes(bytes)),
            _ => None,
        }
    }

    /// What is not known of the program's tasks and blocks, in a sentence for each reason.
    pub(crate) fn runtime_limits(&self) -> impl Iterator<Item = String> {
        let manifests = self.processes().iter().filter_map(|process| self.recorded(process).manifest.as_ref());
        let limits = manifests.flat_map(|manifest| &manifest.limits).filter_map(|limit| limit.as_str());
        const RUNTIMES: [&str; 3] = ["Swift concurrency: ", "Grand Central Dispatch: ", "Go: "];
        let told = limits.filter(|it| RUNTIMES.iter().any(|runtime| it.starts_with(runtime))).map(str::to_owned);
        told.chain(self.processes().iter().flat_map(|process| {
            [self.unknown_goroutines(process), self.unfollowed_goroutines(process)].into_iter().flatten()
        }))
    }

    /// The line of the function that has the instruction before an address, whatever was inlined there.
    fn line_before(&self, process: &TraceProcess, address: RuntimeAddr) -> Option<SourcePlace> {
        let (_, code) = process.names.code_at(RuntimeAddr(address.0.checked_sub(1)?))?;
        self.sources.outer_instruction(&code?)
    }

    /// The function of a process that an instruction lies in, and where the source has it.
    pub(crate) fn instruction(
        &self,
        process: usize,
        address: RuntimeAddr,
    ) -> Option<(FunctionId, Option<SourcePlace>)> {
        let (function, code) = self.processes()[process].names.code_at(address)?;
        Some((function, code.and_then(|code| self.sources.instruction(&code))))
    }

    /// The function of a process that returns to an address, and where the source has its call.
    pub(crate) fn call_site(
        &self,
        process: usize,
        return_address: RuntimeAddr,
    ) -> Option<(FunctionId, Option<SourcePlace>)> {
        // The call is the instruction before; what follows it may belong to another line.
        let call = RuntimeAddr(return_address.0.checked_sub(1)?);
        self.instruction(process, call)
    }
}

/// Runs a command on a session's tables. Tables that turn out to be damaged are made anew, once; what was printed until then
/// came from blocks that were whole. What is wrong with the session itself is printed on stderr.
pub(crate) fn with_tables(
    args: &SessionArgs,
    out: &mut Out,
    mut command: impl FnMut(&OpenedSession, &mut Out) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let path = newest::find(args.session.as_deref())?;
    let opened = OpenedSession::open(&path, args)?;
    let outcome = opened.show_findings();
    match command(&opened, out) {
        Err(error) if is_damage(&error) => {
            for process in opened.processes() {
                let _ = std::fs::remove_dir_all(process.tables.folder());
            }
            drop(opened);
            say(format_args!("ada: the derived tables of {} are damaged; making them anew\n", path.display()));
            out.begin_again();
            command(&OpenedSession::open(&path, args)?, out)?;
        }
        result => result?,
    }
    Ok(outcome)
}

fn is_damage(error: &anyhow::Error) -> bool {
    damaged_folder(error).is_some()
}

/// The tables that an error complains of.
fn damaged_folder(error: &anyhow::Error) -> Option<&Path> {
    error.chain().find_map(|cause| {
        let of_query = cause.downcast_ref().and_then(|error: &QueryError| match error {
            QueryError::Tables(error) => Some(error),
            _ => None,
        });
        match cause.downcast_ref().or(of_query) {
            Some(SpanError::Damaged { path }) => path.parent(),
            _ => None,
        }
    })
}

/// Removes tables that a command has found damaged, so that the next one makes them anew.
pub(crate) fn without_damaged_tables(result: anyhow::Result<Outcome>) -> anyhow::Result<Outcome> {
    result.map_err(|error| match damaged_folder(&error).map(std::fs::remove_dir_all) {
        Some(Ok(())) => {
            error.context("the derived tables are damaged and were removed; the next command makes them anew")
        }
        _ => error,
    })
}

/// Runs a command that prints nothing before it has its answer; once more where it has found damaged tables.
pub(crate) fn again_if_damaged(command: impl Fn() -> anyhow::Result<Outcome>) -> anyhow::Result<Outcome> {
    match command() {
        Err(error) if is_damage(&error) => {
            say(format_args!("ada: {error:#}; making it anew\n"));
            let _ = without_damaged_tables(Err(error));
            command()
        }
        result => result,
    }
}
