//! The command line: the list of commands, and what `ada --help` says.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::exit::say;
use crate::{
    ask, atf, attach, bisect, check, completions, demo, diff, doctor, export, filter, heph, hooks, import, manual, mcp,
    pack, ps, quarantine, query, queues, report, show, snapshot, spans, symbols, tasks, threads, top, trace, tree,
    trigger, view, waits, workload,
};

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  success, but the session or input is damaged or incomplete
  2  the command line is wrong
  3  the input cannot be read, or is not what it should be
  4  the output or a connection failed

ada check exits with 0 if all rules hold, 1 if one is broken, 3 if the trace cannot tell.

ada bisect exits with 0 if traced runs behave like untraced ones, 1 if they differ, 3 if that is not known.

ada trace ends as the traced program does, with its exit code or by the signal that killed it. A signal that asks \
it to end before the program runs (Ctrl-C, TERM, HUP) ends both: shells show 128 plus the signal's number, 130 for \
Ctrl-C; the program has not run, and there is no session. Otherwise it exits with
  124  hooking took too long, and the program was ended before it ran
  125  the program could not be traced
  126  the program exists but cannot be run, or not under a tracer
  127  the program, its interpreter, its loader or a library was not found";

/// A flight recorder for native programs: records their function calls
#[derive(Parser)]
#[command(name = "ada", version = env!("ADA_VERSION"), arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Trace a small built-in program and show the result
    Demo(demo::Args),
    /// Run a program and record its function calls
    Trace(trace::Args),
    /// Record processes that are already running, then leave them as they were
    Attach(attach::Args),
    /// Stop recording a process and remove its hooks
    Detach(attach::DetachArgs),
    /// List running traces, and processes that a killed ada left hooked
    Ps(ps::Args),
    /// Record, count or ignore functions of a running trace
    Filter(filter::Args),
    /// Change the triggers of a running trace: what gets written in detail
    Trigger(trigger::Args),
    /// Save what a trace with --ring holds, running or killed
    Snapshot(snapshot::Args),
    /// Summarise a session: likely problems, time, threads
    Report(report::Args),
    /// Answer a question: was it called, why was it slow, what may be wrong
    Ask(ask::Args),
    /// Open the timeline in a browser
    View(view::Args),
    /// Print the call tree, with repeated calls folded
    Tree(tree::Args),
    /// List functions by time or number of calls
    Top(top::Args),
    /// List spans: calls, threads, tasks and callbacks, with start and end
    Spans(spans::Args),
    /// Show everything known about one event, span, thread or function
    Show(show::Args),
    /// List threads: who created them, what they ran, how they ended
    Threads(threads::Args),
    /// List waits: what for, who held it, who ended the wait, who waits for whom
    Waits(waits::Args),
    /// List Swift tasks and goroutines: who created them, when they ran and waited
    Tasks(tasks::Args),
    /// List dispatch queues: their blocks, how long these waited and ran
    Queues(queues::Args),
    /// Query sessions in SQL, or in an interactive shell
    Query(query::Args),
    /// Compare two sessions, or several runs of each: what made the difference
    Diff(diff::Args),
    /// Check a session against rules, for CI
    Check(check::Args),
    /// List what was hooked, what was not, and why
    Hooks(hooks::Args),
    /// Find the hooks that change what a program does
    Bisect(bisect::Args),
    /// List functions that are not hooked because their hooks did harm
    Quarantine(quarantine::Args),
    /// Export to Perfetto, Chrome, Firefox, speedscope, OpenTelemetry, Parquet, SQLite …
    Export(export::Args),
    /// Convert another program's trace to a session
    Import(import::Args),
    /// Add better function names from debug files to a session
    Symbols(symbols::Args),
    /// Compress a session to about a twentieth of its size
    Pack(pack::PackArgs),
    /// Convert a packed session back to raw ATF V2, byte for byte
    Unpack(pack::UnpackArgs),
    /// Dump or verify a session's trace files
    Atf(atf::Args),
    /// Read, send and receive Heph traces
    Heph(heph::Args),
    /// Serve sessions to AI agents over the Model Context Protocol
    Mcp(mcp::Args),
    /// Check whether this machine can trace, and what a hook costs on it
    Doctor(doctor::Args),
    /// Print a shell completion script
    Completions(completions::Args),
    /// Write manual pages into a folder, for packages
    #[command(hide = true)]
    Manual(manual::Args),
    /// The built-in program of `ada demo`
    #[command(hide = true)]
    Workload(workload::Args),
}

impl Cli {
    /// The command line, or how to end: help goes to stdout as it is, a mistake to stderr in one line.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        Self::try_parse().map_err(|error| {
            if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
                let _ = error.print();
                return ExitCode::from(error.exit_code() as u8);
            }
            let text = error.render().to_string();
            // The first paragraph says what is wrong; usage and hints follow.
            let words: Vec<&str> =
                text.lines().take_while(|line| !line.is_empty()).flat_map(str::split_whitespace).collect();
            let mistake = words.join(" ");
            let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
            let tip = tip.map_or_else(String::new, |tip| format!("; {tip}"));
            say(format_args!("ada: {}{tip}; --help explains\n", mistake.trim_start_matches("error: ")));
            ExitCode::from(2)
        })
    }
}
