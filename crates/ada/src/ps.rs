//! `ada ps`: the traces that are running, and what adas that were killed have left.

use std::io::{self, Write};

use ada_control::OrphanedProcess;
use ada_control::live::{self, Answer, LiveError, Request, Status};
use ada_format::heph::UnixNanos;
use clap::ValueEnum;
use serde_json::json;

use crate::exit::{Blame, Outcome, say};
use crate::wall_clock::WallClock;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A table for people, or one JSON object per line
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut traces = Vec::new();
    for pid in live::running()? {
        match live::ask(pid, &Request::Status) {
            Ok(Answer::Status(status)) => traces.push(status),
            // It has ended since it was listed.
            Ok(_) | Err(LiveError::NoAnswer { .. } | LiveError::NotTraced { .. } | LiveError::NoProcess { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let orphaned = ada_control::orphaned_processes();
    let mut out = io::stdout().lock();
    let printed = if args.format == Format::Json {
        print_lines(&traces, &orphaned, &mut out)
    } else {
        if traces.is_empty() {
            say(format_args!("ada: no trace is running\n"));
        }
        print_table(&traces, &mut out).and_then(|()| print_orphaned(&orphaned, &mut out))
    };
    printed.output_failed(|| "cannot write to stdout".into())?;
    Ok(Outcome::Clean)
}

fn print_lines(traces: &[Status], orphaned: &[OrphanedProcess], out: &mut impl Write) -> io::Result<()> {
    for trace in traces {
        writeln!(out, "{}", serde_json::to_string(trace)?)?;
    }
    for OrphanedProcess { pid, passes, command } in orphaned {
        writeln!(out, "{}", json!({ "pid": pid.0, "killed": true, "passes": passes, "command": command }))?;
    }
    Ok(())
}

fn print_orphaned(orphaned: &[OrphanedProcess], out: &mut impl Write) -> io::Result<()> {
    for OrphanedProcess { pid, passes, command } in orphaned {
        let state = if *passes { ", which let its calls pass" } else { "" };
        let command = command.join(" ");
        writeln!(
            out,
            "process {pid} has the hooks of an ada that was killed{state}; `ada detach {pid}` removes them: {command}"
        )?;
    }
    Ok(())
}

fn print_table(traces: &[Status], out: &mut impl Write) -> io::Result<()> {
    if traces.is_empty() {
        return Ok(());
    }
    let widest = traces.iter().map(|trace| trace.session.as_os_str().len()).max().unwrap_or(0);
    writeln!(
        out,
        "{:>8}  {:<20} {:>14} {:>8} {:>10}  {:<widest$}  command",
        "pid", "since", "events", "threads", "dropped", "session"
    )?;
    for trace in traces {
        // To the second: `2021-01-08T13:48:54Z`.
        let since = WallClock(UnixNanos(trace.since_unix_ms.saturating_mul(1_000_000))).to_string();
        writeln!(
            out,
            "{:>8}  {:<20} {:>14} {:>8} {:>10}  {:<widest$}  {}",
            trace.pid,
            format!("{}Z", since.split('.').next().unwrap_or_default()),
            trace.events,
            trace.threads,
            trace.dropped,
            trace.session.display(),
            trace.command.join(" ")
        )?;
    }
    Ok(())
}
