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

use crate::exit::{Blame, say};
use crate::hook_list::HookList;
use crate::quantity::{self, Budget};
use crate::trace::printed_lines::PrintedLines;

/// Bytes of a chunk of the rings.
const CHUNK: u64 = 256 << 10;

#[derive(clap::Args)]
pub(crate) struct RecordingArgs {
    /// Where sessions are kept
    #[arg(long, short, value_name = "DIR", default_value = "ada_traces")]
    pub(crate) output: PathBuf,
    /// Do not hook functions or modules matching PATTERN (wildcards `*`, `?`). May be given several times.
    /// Any function is also `module+0x1234`, as `ada hooks` shows those without a name
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Hook only functions or modules matching PATTERN, and those by which ada knows threads, tasks and waits. May be given
    /// several times
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Hook functions in quarantine too: those whose hooks did harm before, as `ada bisect --keep` found
    #[arg(long)]
    no_quarantine: bool,
    /// Hook the functions of this list and no others
    #[arg(long, value_name = "FILE", hide = true)]
    only_hooks: Option<PathBuf>,
    /// Record no calls that are nested deeper than this
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_depth: Option<u32>,
    /// What happens to registers and stack windows
    #[arg(long, value_enum, default_value_t = Detail::Windows)]
    detail: Detail,
    /// Bytes of the stack to capture with each call, 0 to 512
    #[arg(long, value_name = "BYTES", default_value = "128", value_parser = clap::value_parser!(u16).range(0..=512))]
    stack_window: u16,
    /// Capture arguments and results, with what they point at, of functions matching these patterns too, such as
    /// `read,write,parse_*`; `own` for all functions of the program, by its debug information; `none` captures no values. By default those of rare functions are captured that tell much: open, connect,
    /// getenv …
    #[arg(long, value_name = "PATTERNS", default_value = "usual", value_parser = parse_values)]
    args: CapturedValues,
    /// Make functions matching these patterns ready, so that `ada filter PID --args` can have their values captured while the
    /// program runs
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    args_later: Vec<String>,
    /// Capture fields of structures that this many pointers lead to, one behind the other: 0 to 2
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    args_depth: u8,
    /// Do not capture what functions or parameters matching these patterns are given or give back: `getenv`, `*password*`,
    /// `connect.address`. May be given several times
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    redact: Vec<String>,
    /// Print calls of functions matching these patterns to stderr as they happen, with values, thread and time, such as
    /// `open*,connect`; their values are captured as with --args
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    pub(crate) print: Vec<String>,
    /// Print them to this file instead
    #[arg(long, value_name = "FILE", requires = "print")]
    pub(crate) print_to: Option<PathBuf>,
    /// Write detail around this, with `--detail windows`: symbol=PATTERN (a call), slow=PATTERN>50ms (a call that took
    /// longer), 'call=connect when port==8081' and 'return=open when <0' (by values, as for `ada spans --where`), signal (a handler of the program's is called), crash (always one). May be given several times
    #[arg(long, value_name = "TRIGGER")]
    trigger: Vec<Trigger>,
    /// How much detail of a thread to write before a trigger, as far as it is still there: events, or a time like 50ms
    #[arg(long, value_name = "N|TIME", default_value = "2000")]
    pre_roll: Roll,
    /// How much to write after it
    #[arg(long, value_name = "N|TIME", default_value = "1000")]
    post_roll: Roll,
    /// Capture vector registers too: xmm0 to xmm7 with a call, xmm0 and xmm1 with a return
    #[arg(long)]
    vectors: bool,
    /// What a thread does when the rings are full [default: wait for what ada starts, drop for what it attaches to]
    #[arg(long, value_enum)]
    on_full: Option<WhenFull>,
    /// Memory for the rings of all threads
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = quantity::parse_bytes)]
    ring_memory: u64,
    /// In which form events and detail are written. Every command reads both; programs that know only ATF V2 need the raw
    /// one, which `ada unpack SESSION` makes later, too
    #[arg(long, value_enum, default_value_t = Storing::Packed)]
    store: Storing,
    /// Record for so long, such as 5s; then the program goes on without hooks
    #[arg(long, visible_alias = "duration", value_name = "DURATION", value_parser = quantity::parse_duration)]
    max_time: Option<Duration>,
    /// Record until about so much was written, such as 500M; then the program goes on without hooks
    #[arg(long, value_name = "SIZE", value_parser = quantity::parse_ring, conflicts_with = "ring")]
    max_size: Option<u64>,
    /// Keep only so much of events and detail on disk, the newest; `ada snapshot` saves it while the program runs
    #[arg(long, value_name = "SIZE", value_parser = quantity::parse_ring)]
    ring: Option<u64>,
    /// Do not trace the programs that the program runs
    #[arg(long)]
    no_follow: bool,
    /// End with the program, though processes that it started may live on
    #[arg(long)]
    until_exit: bool,
    /// Do not ask the kernel when threads run and when they do not
    #[arg(long)]
    no_states: bool,
    /// Plan every hook anew, and keep no plan for the next start (in $ADA_CACHE_DIR, or else $XDG_CACHE_HOME/ada, or else
    /// ~/.cache/ada)
    #[arg(long)]
    no_plan_cache: bool,
    /// Keep hooks within this share of the program's processor time, such as 10%: the hottest functions are counted
    /// instead of recorded, exactly, and the session says which and when
    /// (attach: 10% unless this says otherwise; `none` records everything)
    #[arg(long, value_name = "PERCENT", value_parser = quantity::parse_budget)]
    max_overhead: Option<Budget>,
    /// With --max-overhead: count on, though a program that calls something every few nanoseconds then stays above its
    /// share. Without this the hooks of its hottest functions are removed, and the session says so
    #[arg(long, requires = "max_overhead")]
    exact_counts: bool,
    /// Say nothing unless something goes wrong
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Detail {
    /// Not captured
    Off,
    /// Captured always, written around triggers, of which a crash is one
    Windows,
    /// Written for every call and return
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Storing {
    /// The same in about a twentieth of the bytes: index.atp and detail.atp
    Packed,
    /// ATF V2, 32 bytes an event: index.atf and detail.atf
    Raw,
    /// Thrown away, to measure what writing costs; the session has no events
    #[value(hide = true)]
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenFull {
    /// Waits for room: the trace is complete
    Wait,
    /// Drops its oldest records, and counts them
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
            no_states: false,
            no_plan_cache: false,
            quiet: true,
        }
    }

    /// The options of a recording whose threads do as `when_full` says, and whose hooks may cost `budget`, unless the user says
    /// otherwise.
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
