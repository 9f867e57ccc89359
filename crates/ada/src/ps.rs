//! `ada ps`: the traces that are running.

use std::io::{self, Write};

use ada_control::live::{self, Answer, LiveError, Request, Status};
use ada_format::heph::UnixNanos;
use clap::ValueEnum;

use crate::exit::{Blame, Outcome, say};
use crate::wall_clock::WallClock;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// For people, or for programs: one object a line
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
    let mut out = io::stdout().lock();
    if args.format == Format::Json {
        for trace in &traces {
            let line = serde_json::to_string(trace)?;
            writeln!(out, "{line}").output_failed(|| "cannot write to stdout".into())?;
        }
    } else if traces.is_empty() {
        say(format_args!("ada: no trace is running\n"));
    } else {
        print_table(&traces, &mut out).output_failed(|| "cannot write to stdout".into())?;
    }
    Ok(Outcome::Clean)
}

fn print_table(traces: &[Status], out: &mut impl Write) -> io::Result<()> {
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
