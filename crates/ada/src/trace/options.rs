//! The options that all recordings have.

use std::path::{Path, PathBuf};

use ada_control::{
    DetailMode, LeftAlone, OnFull, Quarantine, QuarantineFolder, Roll, TraceOptions, Trigger, function_pattern,
};
use ada_format::atf::Store;
use anyhow::Context;
use clap::ValueEnum;

use crate::exit::{Blame, say};
use crate::hook_list::HookList;
use crate::quantity;

/// Bytes of a chunk of the rings.
const CHUNK: u64 = 256 << 10;

#[derive(clap::Args)]
pub(crate) struct RecordingArgs {
    /// Where sessions are kept
    #[arg(long, value_name = "DIR", default_value = "ada_traces")]
    pub(crate) output: PathBuf,
    /// Do not hook functions or modules matching PATTERN (wildcards `*`, `?`). May be given several times.
    /// Any function is also `module+0x1234`, as `ada hooks` shows those without a name
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
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
    /// Write detail around this, with `--detail windows`: symbol=PATTERN (a call), slow=PATTERN>50ms (a call that took
    /// longer), signal (a handler of the program's is called), crash (always one). May be given several times
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
    /// Keep only so much of events and detail on disk, the newest; `ada snapshot` saves it while the program runs
    #[arg(long, value_name = "SIZE", value_parser = quantity::parse_ring)]
    ring: Option<u64>,
    /// Do not trace the programs that the program runs
    #[arg(long)]
    no_follow: bool,
    /// End with the program, though processes that it started may live on
    #[arg(long)]
    until_exit: bool,
    /// Plan every hook anew, and keep no plan for the next start (in $ADA_CACHE_DIR, or else $XDG_CACHE_HOME/ada, or else
    /// ~/.cache/ada)
    #[arg(long)]
    no_plan_cache: bool,
    /// Keep hooks within this share of the program's processor time, such as 10%: the hottest functions are counted
    /// instead of recorded, exactly, and the session says which and when
    #[arg(long, value_name = "PERCENT", value_parser = quantity::parse_share)]
    max_overhead: Option<f64>,
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
            no_quarantine: false,
            only_hooks: None,
            max_depth: None,
            detail: Detail::Windows,
            stack_window: 128,
            trigger: Vec::new(),
            pre_roll: Roll::Events(2000),
            post_roll: Roll::Events(1000),
            vectors: false,
            no_follow: false,
            until_exit: false,
            on_full: None,
            ring_memory: 64 << 20,
            store: Storing::Packed,
            ring: None,
            max_overhead: None,
            exact_counts: false,
            no_plan_cache: false,
            quiet: true,
        }
    }

    /// The options of a recording whose threads do as `when_full` says unless the user says otherwise.
    pub(crate) fn into_options(self, when_full: WhenFull) -> anyhow::Result<TraceOptions> {
        let exclude = self.exclude;
        let only_hooks = self.only_hooks.as_deref().map(read_list).transpose()?;
        let mut triggers = self.trigger;
        if !triggers.is_empty() && self.detail != Detail::Windows {
            return Err(anyhow::anyhow!("--trigger needs --detail windows")).not_traced(2);
        }
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
            ring: self.ring,
            store: match self.store {
                Storing::Packed => Store::Packed,
                Storing::Raw => Store::Raw,
                Storing::Nothing => Store::Nothing,
            },
            triggers,
            pre_roll: self.pre_roll,
            post_roll: self.post_roll,
            max_overhead: self.max_overhead,
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
            exclude: LeftAlone {
                excluded: Box::new(move |path, name, start| {
                    let matches = |pattern: &String| function_pattern::matches_function(pattern, path, name, start);
                    only_hooks.as_ref().is_some_and(|list| !list.has(path, start)) || exclude.iter().any(matches)
                }),
                quarantine: if self.no_quarantine { Quarantine::default() } else { quarantine() },
            },
        })
    }
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
