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
  0  done
  1  done, and what was looked at is damaged or incomplete
  2  the command line is wrong
  3  the input cannot be read, or is not what it should be
  4  the output or a connection failed

ada check ends with 0 if all rules hold, 1 if one is broken, 3 if the trace cannot tell.

ada bisect ends with 0 if traced runs are as untraced, 1 if they differ, 3 if that is not known.

ada trace ends as the traced program does, with its exit code or by the signal that killed it. A signal that asks
it to end before the program runs (Ctrl-C, TERM, HUP) ends both: shells show 128 and the signal's number, 130 for
Ctrl-C; the program has not run, and there is no session. Or it ends with
  124  hooking took too long, and the program was ended before it ran
  125  the program could not be traced
  126  the program is there but cannot be run, or not under a tracer
  127  there is no such program, or its interpreter, loader or a library is missing";

/// A flight recorder for native programs
#[derive(Parser)]
#[command(name = "ada", version = env!("ADA_VERSION"), arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Trace a small built-in program and show what it did
    Demo(demo::Args),
    /// Run a program with every function traced
    Trace(trace::Args),
    /// Find the hooks that change what a program does
    Bisect(bisect::Args),
    /// List the functions that traces leave alone because their hooks did harm
    Quarantine(quarantine::Args),
    /// Record a process that runs already, and leave it as it was
    Attach(attach::Args),
    /// End the recording of a process that was attached to
    Detach(attach::DetachArgs),
    /// List the traces that are running, and processes with the hooks of an ada that was killed
    Ps(ps::Args),
    /// Tell what a traced program did: time, threads, oddities
    Report(report::Args),
    /// List spans: calls, threads and callbacks with their beginning and end
    Spans(spans::Args),
    /// Print the tree of calls, repeats folded
    Tree(tree::Args),
    /// List functions by time or calls
    Top(top::Args),
    /// Compare two sessions, or several runs of each: what made the difference
    Diff(diff::Args),
    /// Test a session by rules, for CI
    Check(check::Args),
    /// List threads: who made them, what they ran, how they ended
    Threads(threads::Args),
    /// List Swift's tasks and Go's goroutines: who made them, when they ran, what they waited for
    Tasks(tasks::Args),
    /// List dispatch queues: blocks, how long they waited and ran
    Queues(queues::Args),
    /// List what threads waited for: who held it, who ended the wait, who waits for whom
    Waits(waits::Args),
    /// Show one event, span, thread or function with all that is known of it
    Show(show::Args),
    /// Look at the timeline in a browser
    View(view::Args),
    /// Ask in SQL, or in a shell
    Query(query::Args),
    /// Ask in words: was a function called, why was a span slow, what may be wrong
    Ask(ask::Args),
    /// Write a timeline for Perfetto, Chrome, Firefox, speedscope, OpenTelemetry or Heph, or tables as Parquet or SQLite
    Export(export::Args),
    /// Make a session of another program's trace
    Import(import::Args),
    /// Serve sessions to agents: the Model Context Protocol
    Mcp(mcp::Args),
    /// Record, count or ignore functions of a running trace
    Filter(filter::Args),
    /// List what was hooked, and what was not and why
    Hooks(hooks::Args),
    /// Give a session better names from debug files
    Symbols(symbols::Args),
    /// Check what this machine allows, and what a hook costs on it
    Doctor(doctor::Args),
    /// Save what a running trace with --ring holds, or what one that was killed has kept
    Snapshot(snapshot::Args),
    /// Change what opens windows of detail in a running trace
    Trigger(trigger::Args),
    /// Pack a session to about a twentieth of its size
    Pack(pack::PackArgs),
    /// Convert a packed session back to raw ATF V2, byte for byte
    Unpack(pack::UnpackArgs),
    /// Look into a recorded session's files
    Atf(atf::Args),
    /// Read, send and receive Heph traces
    Heph(heph::Args),
    /// Print a completion script for your shell
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
