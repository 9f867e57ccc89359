//! Opens a session with its derived tables, which are made or made anew where need be.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use ada_event::FunctionId;
use ada_format::atf::{Problem, Process, Session};
use ada_image::SourcePlace;
use ada_span::concurrency::Context;
use ada_span::pthread::PthreadSpan;
use ada_span::table::{Cached, DerivedFolder, Tables};
use ada_span::{Correction, ProcessTrace, SpanError, analyze, content_key, function_traits, replay_options};
use anyhow::{Context as _, bail};

use super::listing::Out;
use super::newest;
use super::progress::Progress;
use super::source_files::SourceFiles;
use super::switched::Switched;
use super::units::parse_nanos;
use crate::exit::{Blame, Outcome, say};
use ada_query::Names;
use ada_query::Target;

/// Findings of a damaged session that are told one by one.
const FINDINGS_TOLD: usize = 5;

/// Which session, and how it is analysed.
#[derive(clap::Args)]
pub(crate) struct SessionArgs {
    /// The session's folder, or one with sessions of which the newest is meant [default: the newest in ada_traces]
    pub(crate) session: Option<PathBuf>,
    /// Spans that take longer than this have the reason `timeout`, or are `open` if they never end
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_nanos)]
    pub(crate) timeout: u64,
    /// Look for source lines in this folder's files first: debug files or unstripped ones with the modules' build-ids
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_dir: Option<PathBuf>,
}

/// A session and what was made of it.
pub(crate) struct OpenedSession {
    pub(crate) session: Session,
    pub(crate) processes: Vec<OpenedProcess>,
    /// The earliest event's time.
    pub(crate) start: u64,
    /// The latest one's.
    pub(crate) end: u64,
    sources: SourceFiles,
}

/// One process of it.
pub(crate) struct OpenedProcess {
    /// Its place in the session.
    number: usize,
    pub(crate) pid: u32,
    pub(crate) tables: Tables,
    pub(crate) names: Names,
    /// The runtime of its calls.
    pub(crate) runtime: &'static str,
    /// What recording took, where that was measured.
    pub(crate) correction: Option<Correction>,
    pub(crate) switched: Switched,
    /// Frame spans that are also logical ones, by thread and opening event.
    logical: OnceCell<HashMap<(u32, u64), Target>>,
    /// Places of the spans of threads, by the place of the thread and the event that they begin with.
    pthreads: OnceCell<BTreeMap<(u64, u64), usize>>,
    /// Runs of tasks and blocks: the events that they begin and end with, by the place of the thread.
    runs: OnceCell<BTreeMap<(u64, u64), (u64, Context)>>,
}

impl OpenedSession {
    /// The recorded process behind an opened one.
    pub(crate) fn recorded(&self, process: &OpenedProcess) -> &Process {
        &self.session.processes()[process.number]
    }

    /// Why callbacks may be missing, if they may: most are found by registers, which few sessions have throughout.
    pub(crate) fn why_few_callbacks(&self) -> Option<&'static str> {
        let threads = || self.processes.iter().flat_map(|process| &self.recorded(process).threads);
        let (events, details) = threads().fold((0, 0), |(events, details), thread| {
            (events + thread.event_count(), details + thread.detail().map_or(0, |detail| detail.len()))
        });
        let is_partial = details < events / 4;
        is_partial.then_some(
            "only those of signals, qsort, atexit and pthread_once can be told, and those in windows of detail: \
             others need registers (ada trace --detail all)",
        )
    }

    /// The signal that ended a process.
    pub(crate) fn fatal_signal(&self, process: &OpenedProcess) -> Option<i32> {
        let manifest = self.recorded(process).manifest.as_ref()?;
        let exit = manifest.exit.as_ref().and_then(|exit| exit.signal);
        exit.or_else(|| manifest.crashes.first().map(|crash| crash.signal))
    }

    /// Where the source has a function of a process; nothing where no debug information says so.
    pub(crate) fn source(&self, process: usize, function: FunctionId) -> Option<SourcePlace> {
        self.sources.function(&self.processes[process].names.code(function)?)
    }

    /// The function of a process that returns to an address, and where the source has its call.
    pub(crate) fn call_site(&self, process: usize, return_address: u64) -> Option<(FunctionId, Option<SourcePlace>)> {
        // The call is the instruction before; what follows it may belong to another line.
        let (function, code) = self.processes[process].names.code_at(return_address.checked_sub(1)?)?;
        Some((function, code.and_then(|code| self.sources.instruction(&code))))
    }

    /// Whether references need the process.
    pub(crate) fn has_many_processes(&self) -> bool {
        self.processes.len() > 1
    }
}

impl OpenedProcess {
    /// The function at a place of the tables.
    pub(crate) fn function(&self, place: usize) -> FunctionId {
        self.tables.meta().functions.get(place).map_or(FunctionId(u64::MAX), |stats| stats.function)
    }
}

impl OpenedProcess {
    /// The logical span that a frame span, by its thread's place and opening event, stands behind.
    pub(crate) fn logical_of(&self, thread: u32, seq: u64) -> Option<Target> {
        self.logical().get(&(thread, seq)).copied()
    }

    /// The logical span that an event of a thread, by its place, belongs to. The first thread of a process has none.
    pub(crate) fn pthread(&self, thread: u64, seq: u64) -> Option<&PthreadSpan> {
        let spans = &self.tables.meta().pthreads;
        let places = self
            .pthreads
            .get_or_init(|| spans.iter().enumerate().map(|(at, span)| ((span.thread, span.begin_seq), at)).collect());
        let (&(found, _), &place) = places.range(..=(thread, seq)).next_back()?;
        (found == thread).then(|| &spans[place])
    }

    fn logical(&self) -> &HashMap<(u32, u64), Target> {
        self.logical.get_or_init(|| {
            let meta = self.tables.meta();
            let id = |place: u64| meta.threads[place as usize].id;
            let callbacks =
                meta.callbacks.iter().map(|it| ((it.thread as u32, it.seq), Target::Callback(id(it.thread), it.seq)));
            let threads = meta
                .pthreads
                .iter()
                .filter(|it| it.routine_seq != ada_span::NONE)
                .map(|it| ((it.thread as u32, it.routine_seq), Target::Thread(id(it.thread), it.begin_seq)));
            let blocks = meta.dispatched.iter().filter(|it| it.has_run());
            let blocks = blocks.map(|it| ((it.thread as u32, it.seq), Target::Block(id(it.thread), it.seq)));
            callbacks.chain(threads).chain(blocks).collect()
        })
    }

    /// What a task or block is called.
    pub(crate) fn target_of(&self, context: Context) -> Option<Target> {
        let meta = self.tables.meta();
        match context {
            Context::Thread => None,
            Context::Task(place) => Some(Target::Task(meta.tasks[place as usize].id)),
            Context::Block(place) => {
                let span = &meta.dispatched[place as usize];
                Some(Target::Block(meta.threads[span.thread as usize].id, span.seq))
            }
        }
    }

    /// The task or block on whose behalf a thread, by its place, ran at an event: the innermost.
    pub(crate) fn context_at(&self, thread: u64, seq: u64) -> Context {
        /// How many runs may be open around an event.
        const NESTED: usize = 64;
        let runs = self.runs.get_or_init(|| {
            let meta = self.tables.meta();
            let tasks = meta
                .task_runs
                .iter()
                .map(|run| ((run.thread, run.start_seq), (run.end_seq, Context::Task(run.task as u32))));
            let blocks = meta.dispatched.iter().zip(0..).filter(|(span, _)| span.has_run());
            tasks
                .chain(blocks.map(|(span, place)| ((span.thread, span.seq), (span.close_seq, Context::Block(place)))))
                .collect()
        });
        let before = runs.range((thread, 0)..=(thread, seq)).rev().take(NESTED);
        before.map(|(_, run)| run).find(|(end, _)| *end >= seq).map_or(Context::Thread, |(_, context)| *context)
    }
}

/// Runs a command on a session's tables. Tables that turn out to be damaged are made anew, once, unless the command has
/// already printed something. What is wrong with the session itself is told on stderr.
pub(crate) fn with_tables(
    args: &SessionArgs,
    out: &mut Out,
    mut command: impl FnMut(&OpenedSession, &mut Out) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let path = newest::find(args.session.as_deref())?;
    let opened = open(&path, args)?;
    let outcome = tell_findings(&opened.session);
    match command(&opened, out) {
        Err(error) if is_damage(&error) && !out.has_printed() => {
            for process in &opened.processes {
                let _ = std::fs::remove_dir_all(process.tables.folder());
            }
            drop(opened);
            say(format_args!("ada: the derived tables of {} are damaged; making them anew\n", path.display()));
            command(&open(&path, args)?, out)?;
        }
        result => result?,
    }
    Ok(outcome)
}

pub(crate) fn tell_findings(session: &Session) -> Outcome {
    let findings = session.findings();
    for finding in findings.iter().take(FINDINGS_TOLD) {
        say(format_args!("ada: {finding}\n"));
    }
    if findings.len() > FINDINGS_TOLD {
        say(format_args!("ada: {} more findings; `ada atf verify` lists them\n", findings.len() - FINDINGS_TOLD));
    }
    if findings.is_empty() { Outcome::Clean } else { Outcome::Findings }
}

fn is_damage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(SpanError::Damaged { .. })))
}

/// Opens a session, and makes its tables where need be.
pub(crate) fn open(path: &Path, args: &SessionArgs) -> anyhow::Result<OpenedSession> {
    let timeout_ns = args.timeout;
    let session = Session::open(path)?;
    if session.threads().next().is_none()
        && let Some(finding) = session.findings().iter().find(|finding| !matches!(finding.problem, Problem::Damage(_)))
    {
        bail!("{finding}");
    }
    let debug_dir = args.debug_dir.as_deref();
    let sources = SourceFiles::of(&session, debug_dir)
        .with_context(|| format!("cannot search {}", debug_dir.unwrap_or(path).display()))?;
    let events = session.threads().map(|thread| thread.event_count()).sum();
    let progress = Progress::new(events);
    let mut processes = Vec::new();
    for (number, process) in session.processes().iter().enumerate() {
        let tables = tables_of(process, session.processes(), timeout_ns, &progress)
            .output_failed(|| format!("cannot write the derived tables of {}", process.path.display()))?;
        let mut names = Names::of(process);
        if names.is_empty() {
            // A fork's child has its parent's images under the same numbers; the lists are in the parent's folder.
            names = session.processes().iter().map(Names::of).find(|names| !names.is_empty()).unwrap_or_default();
        }
        processes.push(OpenedProcess {
            number,
            pid: process.pid.unwrap_or(0),
            tables,
            names,
            runtime: ada_query::call_runtime(process),
            correction: process.manifest.as_ref().and_then(Correction::of),
            switched: Switched::of(process.manifest.as_ref()),
            logical: OnceCell::new(),
            pthreads: OnceCell::new(),
            runs: OnceCell::new(),
        });
    }
    drop(progress);
    let facts = || {
        let threads = processes.iter().flat_map(|process| &process.tables.meta().threads);
        threads.map(|thread| thread.facts).filter(|facts| facts.events > 0)
    };
    let start = facts().map(|facts| facts.first_time).min().unwrap_or(0);
    let end = facts().map(|facts| facts.last_time).max().unwrap_or(0);
    Ok(OpenedSession { session, processes, start, end, sources })
}

pub(super) fn tables_of(
    process: &Process,
    beside: &[Process],
    timeout_ns: u64,
    progress: &Progress,
) -> Result<Tables, SpanError> {
    let own = DerivedFolder::new(&process.path, content_key(process, timeout_ns));
    match own.find() {
        Cached::Good(tables) => return Ok(*tables),
        Cached::Damaged => {
            say(format_args!("ada: {} is damaged; making it anew\n", own.path().display()));
        }
        Cached::Missing | Cached::Stale => (),
    }
    match own.begin() {
        Ok(unfinished) => build(process, beside, timeout_ns, progress, &own, &unfinished),
        Err(error) => {
            // A session on a medium that cannot be written, or of another user.
            let elsewhere = own.elsewhere();
            if let Cached::Good(tables) = elsewhere.find() {
                return Ok(*tables);
            }
            let unfinished = elsewhere.begin()?;
            say(format_args!("ada: {error}: cannot be written; keeping tables in {}\n", elsewhere.path().display()));
            build(process, beside, timeout_ns, progress, &elsewhere, &unfinished)
        }
    }
}

fn build(
    process: &Process,
    beside: &[Process],
    timeout_ns: u64,
    progress: &Progress,
    folder: &DerivedFolder,
    unfinished: &Path,
) -> Result<Tables, SpanError> {
    let traits = function_traits(process, beside);
    let options = replay_options(process, timeout_ns);
    let made = analyze(&ProcessTrace(process), &traits, &options, folder.key(), unfinished, &|events| {
        progress.advance(events);
    });
    match made {
        Ok(_) => folder.finish(unfinished),
        Err(error) => {
            let _ = std::fs::remove_dir_all(unfinished);
            Err(error)
        }
    }
}
