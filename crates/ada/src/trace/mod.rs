//! `ada trace -- COMMAND …`.

mod live;
pub(crate) mod quantity;
mod report;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ada_control::{ControlError, DetailMode, End, OnFull, Roll, TraceOptions, TraceReport, Trigger, function_pattern};
use clap::ValueEnum;

use crate::exit::{Blame, Outcome};

/// Bytes of a chunk of the rings.
const CHUNK: u64 = 256 << 10;

const EXAMPLES: &str = "\
Examples:
  ada trace -- ./server --port 8080
  ada trace --output /tmp/traces --exclude 'libcrypto*' -- curl https://localhost/
  ada trace --trigger 'slow=handle_*>50ms' --pre-roll 500 -- ./server
  ada trace --max-overhead 10% -- python3 app.py
  ada trace --on-full drop -- ./realtime      (never waits for the disk; what is lost is counted)

ada's own words go to stderr; stdin, stdout, signals and the exit code are the program's.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Where sessions are kept
    #[arg(long, value_name = "DIR", default_value = "ada_traces")]
    output: PathBuf,
    /// Leave functions or modules alone whose name matches; `*` and `?` are wild. May be given several times.
    /// A function without a name is `module+0x1234`, as `ada hooks` shows it
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
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
    /// What a thread does when the rings are full
    #[arg(long, value_enum, default_value_t = WhenFull::Wait)]
    on_full: WhenFull,
    /// Memory for the rings of all threads
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = quantity::parse_bytes)]
    ring_memory: u64,
    /// Keep only so much of events and detail on disk, the newest; `ada snapshot` saves it while the program runs
    #[arg(long, value_name = "SIZE", value_parser = quantity::parse_ring)]
    ring: Option<u64>,
    /// How long hooking may take, such as 10s or 500ms [default: by the amount of code]
    #[arg(long, value_name = "DURATION", value_parser = quantity::parse_duration)]
    startup_timeout: Option<Duration>,
    /// Do not trace the programs that the command runs
    #[arg(long)]
    no_follow: bool,
    /// End with the command, though processes that it started may live on
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
    quiet: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Detail {
    /// Not captured
    Off,
    /// Captured always, written around triggers, of which a crash is one
    Windows,
    /// Written for every call and return
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WhenFull {
    /// Waits for room: the trace is complete
    Wait,
    /// Drops its oldest records, and counts them
    Drop,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let quiet = args.quiet;
    let report = trace(args)?;
    if !quiet {
        report::print(&report);
    }
    Ok(Outcome::Traced(exit_code(report.end)))
}

/// Traces a command with ada's default options.
pub(crate) fn trace_quietly(output: PathBuf, command: Vec<OsString>) -> anyhow::Result<TraceReport> {
    trace(Args {
        output,
        exclude: Vec::new(),
        max_depth: None,
        detail: Detail::Windows,
        stack_window: 128,
        trigger: Vec::new(),
        pre_roll: Roll::Events(2000),
        post_roll: Roll::Events(1000),
        vectors: false,
        no_follow: false,
        until_exit: false,
        on_full: WhenFull::Wait,
        ring_memory: 64 << 20,
        ring: None,
        startup_timeout: None,
        max_overhead: None,
        exact_counts: false,
        no_plan_cache: false,
        quiet: true,
        command,
    })
}

fn trace(args: Args) -> anyhow::Result<TraceReport> {
    let mut words = args.command.into_iter();
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words);
    let exclude = args.exclude;
    let mut triggers = args.trigger;
    if !triggers.is_empty() && args.detail != Detail::Windows {
        return Err(anyhow::anyhow!("--trigger needs --detail windows")).not_traced(2);
    }
    if !triggers.contains(&Trigger::Crash) {
        triggers.push(Trigger::Crash);
    }
    let options = TraceOptions {
        output: args.output,
        on_full: match args.on_full {
            WhenFull::Wait => OnFull::Wait,
            WhenFull::Drop => OnFull::Drop,
        },
        chunks: usize::try_from(args.ring_memory / CHUNK).unwrap_or(usize::MAX),
        start_up_timeout: args.startup_timeout,
        max_depth: args.max_depth,
        ring: args.ring,
        triggers,
        pre_roll: args.pre_roll,
        post_roll: args.post_roll,
        max_overhead: args.max_overhead,
        exact_counts: args.exact_counts,
        vectors: args.vectors,
        follow: !args.no_follow,
        until_exit: args.until_exit,
        detail: match args.detail {
            Detail::Windows => DetailMode::Windows,
            Detail::All => DetailMode::All,
            Detail::Off => DetailMode::Off,
        },
        stack_window: args.stack_window.into(),
        plan_folder: if args.no_plan_cache { None } else { ada_control::plan_folder() },
        exclude: Box::new(move |path, name, start| {
            exclude.iter().any(|pattern| function_pattern::matches_function(pattern, path, name, start))
        }),
    };
    ada_control::outlive_terminal_signals();
    let live = live::LiveLine::new(args.quiet);
    let result = ada_control::trace(command, &options, &live);
    drop(live);
    let code = match &result {
        Err(ControlError::StartUpTimeout { .. }) => 124,
        Err(ControlError::Spawn { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => 127,
        Err(ControlError::Spawn { .. } | ControlError::Unsupported { .. }) => 126,
        _ => 125,
    };
    result.not_traced(code)
}

fn exit_code(end: End) -> u8 {
    match end {
        End::Exited(code) => code as u8,
        End::Killed(signal) => 128_u8.saturating_add(signal as u8),
    }
}
