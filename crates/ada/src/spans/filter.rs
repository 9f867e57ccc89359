//! Which spans are wanted.

use ada_event::{EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_image::glob;
use ada_span::table::{BlockEntry, FunctionIndex};
use ada_span::{Outcome, Reason, Status, ThreadIndex};
use anyhow::bail;
use clap::ValueEnum;

use crate::analysis::{Moment, OpenedSession, Span, TraceProcess, parse_nanos};

/// Options that choose spans.
#[derive(clap::Args)]
pub(crate) struct FilterArgs {
    /// Calls, or threads, callbacks, tasks and blocks
    #[arg(long = "type", value_enum)]
    kind: Option<Kind>,
    /// What made them; may be given several times
    #[arg(long, value_enum)]
    runtime: Vec<Runtime>,
    /// How they ended: completed, exited, canceled, unmatched, open, entry_only or pending
    #[arg(long)]
    status: Vec<Status>,
    /// Why: tail_call, exception, unwind, canceled, crash, timeout, process_exit, dropped, attached_midway or none
    #[arg(long)]
    reason: Vec<Reason>,
    /// Functions whose name matches (wildcards `*`, `?`). May be given several times
    #[arg(long, value_name = "PATTERN")]
    function: Vec<String>,
    /// Functions of modules whose file name matches
    #[arg(long, value_name = "PATTERN")]
    module: Vec<String>,
    /// Spans of this thread; may be given several times
    #[arg(long, value_name = "ID")]
    thread: Vec<u32>,
    /// Spans that took at least so long, such as 250us
    #[arg(long, value_name = "DURATION", value_parser = parse_nanos)]
    min_duration: Option<u64>,
    /// Spans that began at or after this: so long after the first event (1.5s), or a start_ns (@12050214209794)
    #[arg(long, value_name = "MOMENT")]
    since: Option<Moment>,
    /// Spans that began before this
    #[arg(long, value_name = "MOMENT")]
    until: Option<Moment>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Calls of functions
    Frame,
    /// Threads, callbacks, tasks and blocks
    Logical,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Runtime {
    /// Plain calls
    Sync,
    /// Threads
    Pthread,
    /// Callbacks
    Callback,
    /// Swift tasks
    Swift,
    /// Dispatched blocks
    Gcd,
    /// Imported Heph events
    Heph,
}

impl Runtime {
    fn word(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Pthread => "pthread",
            Self::Callback => "callback",
            Self::Swift => "swift",
            Self::Gcd => "gcd",
            Self::Heph => "heph",
        }
    }
}

/// The options, with what they mean in a session.
pub(crate) struct Filter {
    wants_frames: bool,
    wants_logical: bool,
    /// Frame spans behind logical ones are left out.
    hides_frames_behind: bool,
    runtimes: Vec<&'static str>,
    outcomes: Vec<bool>,
    /// By process and index of the function; none if all are wanted.
    functions: Option<Vec<Vec<bool>>>,
    patterns: (Vec<String>, Vec<String>),
    threads: Vec<ThreadId>,
    min_duration: u64,
    since: TraceNanos,
    until: TraceNanos,
}

impl FilterArgs {
    /// Whether any of them was given.
    pub(crate) fn is_used(&self) -> bool {
        self.kind.is_some()
            || !(self.runtime.is_empty() && self.status.is_empty() && self.reason.is_empty())
            || !(self.function.is_empty() && self.module.is_empty() && self.thread.is_empty())
            || self.min_duration.is_some()
            || self.since.is_some()
            || self.until.is_some()
    }

    /// Whether callbacks are what is wanted.
    pub(crate) fn asks_for_callbacks(&self) -> bool {
        self.runtime.contains(&Runtime::Callback)
    }

    pub(crate) fn prepare(&self, opened: &OpenedSession) -> anyhow::Result<Filter> {
        let threads: Vec<ThreadId> = self.thread.iter().copied().map(ThreadId).collect();
        for id in &threads {
            if !opened.processes().iter().any(|it| it.tables.meta().thread_index(*id).is_some()) {
                bail!("thread {id} is not in the session; `ada threads` lists them");
            }
        }
        let is_wanted = |byte: usize| {
            Outcome::from_byte(byte as u8).is_some_and(|outcome| {
                (self.status.is_empty() || self.status.contains(&outcome.status))
                    && (self.reason.is_empty() || self.reason.contains(&outcome.reason))
            })
        };
        let runtimes: Vec<&'static str> = self.runtime.iter().map(|it| it.word()).collect();
        let of_calls = |word: &&'static str| opened.processes().iter().any(|process| process.runtime == *word);
        let wants_calls = runtimes.is_empty() || runtimes.iter().any(of_calls);
        let wants_other = runtimes.is_empty() || !runtimes.iter().all(of_calls);
        let has_patterns = !self.function.is_empty() || !self.module.is_empty();
        let functions = has_patterns.then(|| {
            let of = |process: usize| {
                let process = &opened.processes()[process];
                let functions = process.tables.meta().functions.iter();
                functions.map(|it| self.wants_function(process, it.function)).collect()
            };
            (0..opened.processes().len()).map(of).collect()
        });
        Ok(Filter {
            wants_frames: self.kind != Some(Kind::Logical) && wants_calls,
            wants_logical: self.kind != Some(Kind::Frame) && wants_other,
            hides_frames_behind: self.kind.is_none() && runtimes.is_empty(),
            runtimes,
            outcomes: (0..Outcome::BYTES).map(is_wanted).collect(),
            functions,
            patterns: (self.function.clone(), self.module.clone()),
            threads,
            min_duration: self.min_duration.unwrap_or(0),
            since: self.since.map_or(TraceNanos(0), |it| it.on_clock(opened.start())),
            until: self.until.map_or(TraceNanos::MAX, |it| it.on_clock(opened.start())),
        })
    }

    fn wants_function(&self, process: &TraceProcess, function: FunctionId) -> bool {
        wants(&self.function, &self.module, &process.names.name(function), &process.names.module(function))
    }
}

fn wants(functions: &[String], modules: &[String], name: &str, module: &str) -> bool {
    // C++ names have their arguments; people rarely type them.
    let plain = name.split('(').next().unwrap_or_default();
    (functions.is_empty() || functions.iter().any(|it| glob(it, name) || glob(it, plain)))
        && (modules.is_empty() || modules.iter().any(|it| glob(it, module)))
}

impl Filter {
    /// The same without leaving calls out that are also logical spans.
    pub(crate) fn with_frames_behind(mut self) -> Self {
        self.hides_frames_behind = false;
        self
    }

    pub(crate) fn wants_frames(&self) -> bool {
        self.wants_frames
    }

    pub(crate) fn wants_logical(&self) -> bool {
        self.wants_logical
    }

    pub(crate) fn wants_thread(&self, id: ThreadId) -> bool {
        self.threads.is_empty() || self.threads.contains(&id)
    }

    /// Whether a block can have a wanted span.
    pub(crate) fn wants_block(&self, block: &BlockEntry) -> bool {
        block.max_duration >= self.min_duration && block.max_start >= self.since && block.min_start < self.until
    }

    /// Whether a frame span is wanted, by what scans read of each.
    #[inline]
    pub(crate) fn wants_frame(
        &self,
        process: usize,
        function: FunctionIndex,
        start: TraceNanos,
        duration: u64,
        outcome: u64,
    ) -> bool {
        duration >= self.min_duration
            && start >= self.since
            && start < self.until
            && self.outcomes.get(outcome as usize).copied().unwrap_or(false)
            && self
                .functions
                .as_ref()
                .is_none_or(|them| them[process].get(function.as_usize()).copied().unwrap_or(false))
    }

    /// Whether a frame span is to be hidden behind its logical one.
    pub(crate) fn hides(&self, opened: &OpenedSession, process: usize, thread: ThreadIndex, seq: EventSeq) -> bool {
        self.hides_frames_behind && opened.processes()[process].logical_of(thread, seq).is_some()
    }

    /// Whether a logical span is wanted.
    pub(crate) fn wants_logical_span(&self, opened: &OpenedSession, span: &Span) -> bool {
        let process = &opened.processes()[span.process];
        let (functions, modules) = &self.patterns;
        let module = span.function(opened).map(|function| process.names.module(function)).unwrap_or_default();
        (self.runtimes.is_empty() || self.runtimes.contains(&span.runtime(opened)))
            && self.wants_thread(process.thread_id(span.thread(opened)))
            && span.duration(opened) >= self.min_duration
            && (self.since..self.until).contains(&span.start(opened))
            && self.outcomes[usize::from(span.outcome(opened).to_byte())]
            && (self.functions.is_none() || wants(functions, modules, &span.name(opened), &module))
    }
}
