//! Which spans are wanted.

use std::collections::BTreeSet;

use ada_event::{EventSeq, ThreadId, TraceNanos};
use ada_image::glob;
use ada_query::{FunctionPattern, nearest};
use ada_span::table::{BlockEntry, Columns, FunctionIndex};
use ada_span::{Outcome, Reason, Status, ThreadIndex};
use ada_value::ValueTest;
use anyhow::bail;
use clap::ValueEnum;

use crate::analysis::{
    CallValues, LensArgs, Moment, OpenedSession, Span, Wanted, check_some_known, chosen_threads, parse_nanos,
};

/// Options that choose spans.
#[derive(clap::Args)]
pub(crate) struct FilterArgs {
    /// Only calls (frame), or only threads, callbacks, tasks and blocks (logical)
    #[arg(long = "type", value_enum)]
    kind: Option<Kind>,
    /// Only spans of this kind; may be given several times
    #[arg(long, value_enum)]
    runtime: Vec<Runtime>,
    /// Only spans with this status: completed, exited, canceled, unmatched, open, entry_only or pending
    #[arg(long)]
    status: Vec<Status>,
    /// Only spans that ended for this reason: tail_call, exception, unwind, canceled, crash, timeout, process_exit,
    /// dropped, attached_midway or none
    #[arg(long)]
    reason: Vec<Reason>,
    /// Only functions with this name, such as flush_line or Stats::flush_line (wildcards `*`, `?`). May be given
    /// several times
    #[arg(long, value_name = "PATTERN")]
    function: Vec<String>,
    #[command(flatten)]
    lens: LensArgs,
    /// Only spans of this thread, by its id or name; may be given several times
    #[arg(long, value_name = "THREAD")]
    thread: Vec<String>,
    /// Only spans that took at least DURATION, such as 250us
    #[arg(long, value_name = "DURATION", value_parser = parse_nanos)]
    min_duration: Option<u64>,
    /// Only spans that began at MOMENT or later: a time after the first event (1.5s), or a start_ns (@12050214209794)
    #[arg(long, value_name = "MOMENT")]
    since: Option<Moment>,
    /// Only spans that began before MOMENT
    #[arg(long, value_name = "MOMENT")]
    until: Option<Moment>,
    /// Only calls whose captured values match: 'port == 8081', 'path ~ /etc and result < 0', 'errno == ENOENT'
    #[arg(long = "where", value_name = "CONDITION")]
    values: Option<ValueTest>,
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
    /// Goroutines
    Go,
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
            Self::Go => "go",
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
    patterns: (Vec<FunctionPattern>, Vec<String>, Vec<FunctionPattern>),
    pids: Vec<u32>,
    threads: Vec<ThreadId>,
    min_duration: u64,
    since: TraceNanos,
    until: TraceNanos,
    values: Option<ValueTest>,
}

impl FilterArgs {
    /// Whether any of them was given.
    pub(crate) fn is_used(&self) -> bool {
        self.kind.is_some()
            || !(self.runtime.is_empty() && self.status.is_empty() && self.reason.is_empty())
            || !(self.function.is_empty() && self.thread.is_empty())
            || self.lens.is_used()
            || self.min_duration.is_some()
            || self.since.is_some()
            || self.until.is_some()
            || self.values.is_some()
    }

    /// What to say where nothing is like that.
    pub(crate) fn nothing(&self) -> &'static str {
        match self.values {
            Some(_) => "no span is like that; calls whose values were not captured are not compared (ada trace --args)",
            None => "no span is like that",
        }
    }

    /// Whether callbacks are what is wanted.
    pub(crate) fn asks_for_callbacks(&self) -> bool {
        self.runtime.contains(&Runtime::Callback)
    }

    /// `is_own`: where nothing else is said, calls of the program's own functions.
    pub(crate) fn prepare(&self, opened: &OpenedSession, is_own: bool) -> anyhow::Result<Filter> {
        let threads = chosen_threads(opened, &self.thread)?;
        check_some_known(opened, &self.function)?;
        self.values.as_ref().map_or(Ok(()), |test| check_values_known(opened, test, &self.function))?;
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
        let named: Vec<FunctionPattern> = self.function.iter().map(|it| FunctionPattern::new(it)).collect();
        // Values are asked for wherever they were captured, in libraries above all.
        let lens = self.lens.lens(is_own && named.is_empty() && self.values.is_none());
        let has_patterns = lens.is_own || !named.is_empty() || self.lens.is_used();
        let functions = if has_patterns {
            let mut shown = self.lens.shown(opened, &lens)?;
            for (process, flags) in opened.processes().iter().zip(&mut shown).filter(|_| !named.is_empty()) {
                for (flag, it) in flags.iter_mut().zip(&process.tables.meta().functions) {
                    *flag = *flag && named.iter().any(|pattern| pattern.matches_function(process, it.function));
                }
            }
            Some(shown)
        } else {
            None
        };
        Ok(Filter {
            wants_frames: self.kind != Some(Kind::Logical) && wants_calls,
            wants_logical: self.kind != Some(Kind::Frame) && wants_other && self.values.is_none(),
            hides_frames_behind: self.kind.is_none() && runtimes.is_empty() && self.values.is_none(),
            runtimes,
            outcomes: (0..Outcome::BYTES).map(is_wanted).collect(),
            functions,
            patterns: (named, lens.modules, lens.hidden),
            pids: self.lens.pid.clone(),
            threads,
            min_duration: self.min_duration.unwrap_or(0),
            since: self.since.map_or(TraceNanos(0), |it| it.on_clock(opened.start())),
            until: self.until.map_or(TraceNanos::MAX, |it| it.on_clock(opened.start())),
            values: self.values.clone(),
        })
    }
}

/// Says so where no captured value of the wanted functions has a name that a condition asks for, and what may have been meant.
fn check_values_known(opened: &OpenedSession, test: &ValueTest, functions: &[String]) -> anyhow::Result<()> {
    let patterns: Vec<FunctionPattern> = functions.iter().map(|it| FunctionPattern::new(it)).collect();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for process in opened.processes() {
        known.extend(process.value_names(|function| {
            patterns.is_empty() || patterns.iter().any(|it| it.matches_function(process, function))
        }));
    }
    let of = if functions.is_empty() { "the session".to_owned() } else { functions.join(", ") };
    if known.is_empty() {
        bail!("no values of {of} were captured; choose functions with `ada trace --args`");
    }
    // What a format asks for has a number for a name.
    let is_known = |name: &&str| known.contains(*name) || name.starts_with("argument");
    let Some(unknown) = test.names().flat_map(|name| name.split('.')).find(|name| !is_known(name)) else {
        return Ok(());
    };
    match nearest(unknown, known.iter().map(String::as_str)) {
        Some(near) => bail!("no captured value of {of} is called {unknown}; did you mean {near}?"),
        None => {
            let some: Vec<&str> = known.iter().take(NAMES_SHOWN).map(String::as_str).collect();
            let more = if known.len() > some.len() { " and others" } else { "" };
            bail!("no captured value of {of} is called {unknown}; there are {}{more}", some.join(", "))
        }
    }
}

/// Names that are told where none is near.
const NAMES_SHOWN: usize = 12;

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

    /// Whether a call in a row of a thread's block, which is wanted otherwise, has the wanted values.
    #[inline]
    pub(crate) fn wants_values(
        &self,
        opened: &OpenedSession,
        process: usize,
        thread: ThreadIndex,
        columns: &Columns,
        row: usize,
    ) -> bool {
        let Some(test) = &self.values else { return true };
        let process = &opened.processes()[process];
        let function = process.function(columns.function(row));
        let events = (columns.seq(row), columns.own_close_seq(row));
        let values = CallValues::of(opened, process, function, thread, events, Wanted::Captured);
        values.is_some_and(|values| test.holds(&|name| values.find(name)))
    }

    /// Whether a frame span is to be hidden behind its logical one.
    pub(crate) fn hides(&self, opened: &OpenedSession, process: usize, thread: ThreadIndex, seq: EventSeq) -> bool {
        self.hides_frames_behind && opened.processes()[process].logical_of(thread, seq).is_some()
    }

    /// Whether a logical span is wanted.
    pub(crate) fn wants_logical_span(&self, opened: &OpenedSession, span: &Span) -> bool {
        let process = &opened.processes()[span.process];
        let (functions, modules, hidden) = &self.patterns;
        let name = span.name(opened);
        let module = span.function(opened).map(|function| process.names.module(function)).unwrap_or_default();
        (self.runtimes.is_empty() || self.runtimes.contains(&span.runtime(opened)))
            && self.wants_thread(process.thread_id(span.thread(opened)))
            && span.duration(opened) >= self.min_duration
            && (self.since..self.until).contains(&span.start(opened))
            && self.outcomes[usize::from(span.outcome(opened).to_byte())]
            && (functions.is_empty() || functions.iter().any(|it| it.matches(&name)))
            && (modules.is_empty() || modules.iter().any(|it| glob(it, &module)))
            && !hidden.iter().any(|it| it.matches(&name))
            && (self.pids.is_empty() || self.pids.contains(&process.pid.0))
    }
}
