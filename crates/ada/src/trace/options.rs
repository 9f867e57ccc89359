//! The options that all recordings have.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ada_control::{
    CapturedValues, DetailMode, LeftAlone, OnFull, PatternSet, PrintedFunctions, Quarantine, QuarantineFolder, Roll,
    TraceOptions, Trigger, function_pattern,
};
use ada_format::atf::Store;
use anyhow::Context;
use clap::ValueEnum;

use crate::debug_servers;
use crate::exit::{Blame, say};
use crate::hook_list::HookList;
use crate::quantity::{self, Budget};
use crate::trace::printed_lines::PrintedLines;

/// Bytes of a chunk of the rings.
const CHUNK: u64 = 256 << 10;

/// The groups that options are listed in.
const WHAT: &str = "What to record";
const VALUES: &str = "Arguments and results";
const DETAIL: &str = "Registers and stack";
const FILES: &str = "Files and buffers";
pub(crate) const START_AND_END: &str = "Starting and ending";
const COST: &str = "Cost";

const TRIGGER_HELP: &str = "\
Write registers and stack around TRIGGER, with `--detail windows`. May be given several times. Triggers are:
  symbol=PATTERN                  a function is called
  slow=PATTERN>50ms               a call took longer than this
  'call=connect when port==8081'  a function is called with such values, as for `ada spans --where`
  'return=open when <0'           a function returns such values
  signal                          the program's signal handler is called, or a fatal signal hits
  crash                           a fatal signal hits, or the program is killed; always a trigger";

#[derive(clap::Args)]
pub(crate) struct RecordingArgs {
    /// Folder that sessions are written to
    #[arg(long, short, value_name = "DIR", default_value = "ada_traces")]
    pub(crate) output: PathBuf,
    /// Print nothing unless something goes wrong
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Hook only functions or modules matching PATTERN (wildcards `*`, `?`).
    ///
    /// Functions that ada needs to know threads, tasks and waits are hooked too. May be given several times.
    #[arg(long, value_name = "PATTERN", help_heading = WHAT)]
    only: Vec<String>,
    /// Do not hook functions or modules matching PATTERN (wildcards `*`, `?`).
    ///
    /// Every function also matches as `module+0x1234`, as `ada hooks` shows those without a name. May be given several
    /// times.
    #[arg(long, value_name = "PATTERN", help_heading = WHAT)]
    exclude: Vec<String>,
    /// Hook quarantined functions too.
    ///
    /// These are functions whose hooks did harm before, as `ada bisect --keep` found.
    #[arg(long, help_heading = WHAT)]
    no_quarantine: bool,
    /// Hook the functions of this list and no others
    #[arg(long, value_name = "FILE", hide = true)]
    only_hooks: Option<PathBuf>,
    /// Do not record calls nested deeper than N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = WHAT)]
    max_depth: Option<u32>,
    /// Do not trace other programs that the program runs
    #[arg(long, help_heading = WHAT)]
    no_follow: bool,
    /// Do not ask the kernel when threads run and when they do not
    #[arg(long, help_heading = WHAT)]
    no_states: bool,

    /// Capture arguments and results of functions matching PATTERNS, such as `read,parse_*`.
    ///
    /// What arguments and results point at is captured too. PATTERNS are separated by commas. `own` stands for all
    /// functions of the program, by its debug information. The default, `usual`, captures values of rare functions
    /// whose arguments tell much, such as open, connect and getenv; PATTERNS are in addition to these. `none` captures
    /// no values.
    #[arg(long, value_name = "PATTERNS", default_value = "usual", value_parser = parse_values, help_heading = VALUES)]
    args: CapturedValues,
    /// Prepare functions matching PATTERNS for capturing values later.
    ///
    /// `ada filter PID --args` can then turn this on while the program runs.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', help_heading = VALUES)]
    args_later: Vec<String>,
    /// Capture fields of structures behind up to N pointers in a row: 0 to 2
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    #[arg(help_heading = VALUES)]
    args_depth: u8,
    /// Do not capture values of functions or parameters matching PATTERNS.
    ///
    /// Examples: `getenv`, `*password*`, `connect.address`. May be given several times.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', help_heading = VALUES)]
    redact: Vec<String>,
    /// Print calls of functions matching PATTERNS to stderr as they happen.
    ///
    /// Each line has values, thread and time. The values are captured as with --args. Example: `open*,connect`.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', help_heading = VALUES)]
    pub(crate) print: Vec<String>,
    /// Print these calls to FILE instead of stderr
    #[arg(long, value_name = "FILE", requires = "print", help_heading = VALUES)]
    pub(crate) print_to: Option<PathBuf>,

    /// When to record registers and part of the stack
    #[arg(long, value_enum, default_value_t = Detail::Windows, help_heading = DETAIL)]
    detail: Detail,
    /// Write registers and stack around TRIGGER, such as 'slow=handle_*>50ms'
    #[arg(long, value_name = "TRIGGER", long_help = TRIGGER_HELP, help_heading = DETAIL)]
    trigger: Vec<Trigger>,
    /// Detail to write before a trigger: a number of events, or a time like 50ms.
    ///
    /// This holds for each thread, as far as its detail has not been overwritten yet.
    #[arg(long, value_name = "N|TIME", default_value = "2000", help_heading = DETAIL)]
    pre_roll: Roll,
    /// Detail to write after a trigger: a number of events, or a time like 50ms
    #[arg(long, value_name = "N|TIME", default_value = "1000", help_heading = DETAIL)]
    post_roll: Roll,
    /// Bytes of the stack to capture with each call, 0 to 512
    #[arg(long, value_name = "BYTES", default_value = "128", value_parser = clap::value_parser!(u16).range(0..=512))]
    #[arg(help_heading = DETAIL)]
    stack_window: u16,
    /// Capture vector registers too: xmm0 to xmm7 at a call, xmm0 and xmm1 at a return
    #[arg(long, help_heading = DETAIL)]
    vectors: bool,

    /// Keep only the newest SIZE of events and detail on disk.
    ///
    /// `ada snapshot` saves them while the program runs. SIZE is at least 8M.
    #[arg(long, value_name = "SIZE", value_parser = quantity::parse_ring, help_heading = FILES)]
    ring: Option<u64>,
    /// Format of the files with events and detail.
    ///
    /// Every command reads both. Programs that know only ATF V2 need raw files, which `ada unpack SESSION` can make
    /// later, too.
    #[arg(long, value_enum, default_value_t = Storing::Packed, help_heading = FILES)]
    store: Storing,
    /// Memory for the rings: the buffers that all threads record into, 1M to 1G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = quantity::parse_bytes, help_heading = FILES)]
    ring_memory: u64,
    /// What a thread does when the rings are full [default: wait for trace, drop for attach]
    #[arg(long, value_enum, help_heading = FILES)]
    on_full: Option<WhenFull>,

    /// Stop recording after DURATION, such as 5s; the program goes on without hooks
    #[arg(long, visible_alias = "duration", value_name = "DURATION", value_parser = quantity::parse_duration)]
    #[arg(help_heading = START_AND_END)]
    max_time: Option<Duration>,
    /// Stop recording when about SIZE was written, such as 500M; the program goes on without hooks
    #[arg(long, value_name = "SIZE", value_parser = quantity::parse_ring, conflicts_with = "ring")]
    #[arg(help_heading = START_AND_END)]
    max_size: Option<u64>,
    /// Stop recording when the program exits, even if processes that it started live on
    #[arg(long, help_heading = START_AND_END)]
    until_exit: bool,
    /// Plan every hook anew, and do not keep the plans for the next start.
    ///
    /// Plans are kept in $ADA_CACHE_DIR, or else $XDG_CACHE_HOME/ada, or else ~/.cache/ada.
    #[arg(long, help_heading = START_AND_END)]
    no_plan_cache: bool,

    /// Keep the cost of hooks within PERCENT of the program's processor time, such as 10%.
    ///
    /// The hottest functions are counted, exactly, instead of recorded, and the session says which and when. For
    /// `ada attach` the default is 10%; `none` records everything.
    #[arg(long, value_name = "PERCENT", value_parser = quantity::parse_budget, help_heading = COST)]
    max_overhead: Option<Budget>,
    /// With --max-overhead: keep counting even above the budget, so that all counts are exact.
    ///
    /// A program that calls something every few nanoseconds then stays above its share. Without this option, the hooks
    /// of its hottest functions are removed, and the session says so.
    #[arg(long, requires = "max_overhead", help_heading = COST)]
    exact_counts: bool,
    /// Neither use nor keep what runs of the program have shown to be too hot for a budget.
    ///
    /// A run with a budget keeps how often the program has called which function, in $ADA_CACHE_DIR or where plans are kept. The next
    /// one begins with that: what was too hot is counted, or has no hooks, from the start.
    #[arg(long, env = "ADA_NO_LEARNING", hide_env = true, value_parser = clap::builder::FalseyValueParser::new())]
    #[arg(action = clap::ArgAction::SetTrue, help_heading = COST)]
    no_learning: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Detail {
    /// Never
    Off,
    /// Capture always, but write only around triggers (a crash always is one)
    Windows,
    /// Write for every call and return
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Storing {
    /// The same content in about a twentieth of the bytes: index.atp and detail.atp
    Packed,
    /// ATF V2, 32 bytes an event: index.atf and detail.atf
    Raw,
    /// Thrown away, to measure what writing costs; the session has no events
    #[value(hide = true)]
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenFull {
    /// Wait for room: the trace is complete
    Wait,
    /// Drop its oldest records, and count them
    Drop,
}

impl RecordingArgs {
    /// ada's defaults, without a word.
    pub(crate) fn quiet(output: PathBuf) -> Self {
        Self {
            output,
            exclude: Vec::new(),
            only: Vec::new(),
            no_quarantine: false,
            only_hooks: None,
            max_depth: None,
            detail: Detail::Windows,
            stack_window: 128,
            args: CapturedValues::Usual,
            args_later: Vec::new(),
            args_depth: 1,
            redact: Vec::new(),
            print: Vec::new(),
            print_to: None,
            trigger: Vec::new(),
            pre_roll: Roll::Events(2000),
            post_roll: Roll::Events(1000),
            vectors: false,
            no_follow: false,
            until_exit: false,
            on_full: None,
            ring_memory: 64 << 20,
            store: Storing::Packed,
            max_time: None,
            max_size: None,
            ring: None,
            max_overhead: None,
            exact_counts: false,
            no_learning: false,
            no_states: false,
            no_plan_cache: false,
            quiet: true,
        }
    }

    /// The options of a recording. `when_full` and `budget` hold where the user said nothing else.
    pub(crate) fn into_options(self, when_full: WhenFull, budget: Option<f64>) -> anyhow::Result<TraceOptions> {
        let exclude = self.exclude;
        let only_hooks = self.only_hooks.as_deref().map(read_list).transpose()?;
        let mut triggers = self.trigger;
        if !triggers.is_empty() && self.detail != Detail::Windows {
            return Err(anyhow::anyhow!("--trigger needs --detail windows")).not_traced(2);
        }
        let tested: Vec<String> = triggers.iter().filter_map(Trigger::tested_pattern).map(str::to_owned).collect();
        if !triggers.contains(&Trigger::Crash) {
            triggers.push(Trigger::Crash);
        }
        Ok(TraceOptions {
            output: self.output,
            on_full: match self.on_full.unwrap_or(when_full) {
                WhenFull::Wait => OnFull::Wait,
                WhenFull::Drop => OnFull::Drop,
            },
            chunks: usize::try_from(self.ring_memory / CHUNK).unwrap_or(usize::MAX),
            start_up_timeout: None,
            max_depth: self.max_depth,
            max_time: self.max_time,
            max_size: self.max_size,
            ring: self.ring,
            store: match self.store {
                Storing::Packed => Store::Packed,
                Storing::Raw => Store::Raw,
                Storing::Nothing => Store::Nothing,
            },
            triggers,
            pre_roll: self.pre_roll,
            post_roll: self.post_roll,
            max_overhead: self.max_overhead.map_or(budget, Budget::share),
            exact_counts: self.exact_counts,
            learning: !self.no_learning,
            vectors: self.vectors,
            follow: !self.no_follow,
            until_exit: self.until_exit,
            detail: match self.detail {
                Detail::Windows => DetailMode::Windows,
                Detail::All => DetailMode::All,
                Detail::Off => DetailMode::Off,
            },
            stack_window: self.stack_window.into(),
            plan_folder: if self.no_plan_cache { None } else { ada_control::plan_folder() },
            values: with_printed(self.args, &[&self.print[..], &tested].concat())?,
            values_later: self.args_later,
            debuginfod: debug_servers::of_environment(self.quiet),
            field_depth: self.args_depth.into(),
            redacted: self.redact,
            schedule: !self.no_states,
            print: printed_functions(self.print, self.print_to.as_deref())?,
            exclude: LeftAlone {
                excluded: Box::new(move |path, name, start| {
                    let matches = |pattern: &String| function_pattern::matches_function(pattern, path, name, start);
                    only_hooks.as_ref().is_some_and(|list| !list.has(path, start)) || exclude.iter().any(matches)
                }),
                only: PatternSet::new(self.only),
                quarantine: if self.no_quarantine { Quarantine::default() } else { quarantine() },
            },
        })
    }
}

fn parse_values(text: &str) -> Result<CapturedValues, String> {
    let patterns: Vec<String> = text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect();
    match patterns.as_slice() {
        [] => Err("a pattern, several with commas between, `usual` or `none`".to_owned()),
        [one] if one == "none" => Ok(CapturedValues::None),
        [one] if one == "usual" => Ok(CapturedValues::Usual),
        _ => Ok(CapturedValues::Matching(patterns)),
    }
}

/// What is printed, or tested by triggers, is captured too.
fn with_printed(values: CapturedValues, printed: &[String]) -> anyhow::Result<CapturedValues> {
    Ok(match values {
        values if printed.is_empty() => values,
        CapturedValues::None => {
            let words = "--print and triggers by value need values, which --args none does not capture";
            return Err(anyhow::anyhow!(words)).not_traced(2);
        }
        CapturedValues::Usual => CapturedValues::Matching(printed.to_vec()),
        CapturedValues::Matching(patterns) => CapturedValues::Matching([&patterns, printed].concat()),
    })
}

fn printed_functions(patterns: Vec<String>, to: Option<&Path>) -> anyhow::Result<Option<PrintedFunctions>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let failed = |path: &Path| format!("cannot write {}", path.display());
    let to: Arc<Mutex<dyn Write + Send>> = match to {
        None => Arc::new(Mutex::new(PrintedLines { to: std::io::stderr(), has_failed: false })),
        Some(path) => {
            let file = std::fs::File::create(path).with_context(|| failed(path)).not_traced(125)?;
            Arc::new(Mutex::new(PrintedLines { to: file, has_failed: false }))
        }
    };
    Ok(Some(PrintedFunctions { patterns, to }))
}

fn read_list(path: &Path) -> anyhow::Result<HookList> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    text.and_then(|text| HookList::parse(&text)).not_traced(125)
}

/// What did harm before. Lists that cannot be read are named: what they say would do harm again.
fn quarantine() -> Quarantine {
    let Some(folder) = QuarantineFolder::by_default() else { return Quarantine::default() };
    let (quarantine, problems) = folder.load();
    problems.iter().for_each(|problem| say(format_args!("ada: {problem}\n")));
    quarantine
}
