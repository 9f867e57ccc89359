//! `ada attach` and `ada detach`: recording a process that runs already.

use std::io::{self, Write};
use std::time::Duration;

use ada_control::live::{self, Answer, LiveError, Request};
use ada_control::{End, HookRemoval, StopSwitch};
use ada_event::ProcessId;

use crate::exit::{Blame, Outcome, say};
use crate::quantity::parse_duration;
use crate::trace::live::LiveLine;
use crate::trace::options::{RecordingArgs, WhenFull};
use crate::trace::report;

const EXAMPLES: &str = "\
Examples:
  ada attach 4711 --duration 5s
  ada attach $(pidof redis-server) --max-overhead 10%     (until Ctrl-C, or `ada detach`)

All hooks are removed at the end, and the process goes on as it was. What an ada that was killed has left in it is removed
first. Exit codes: 0 when it was recorded, 125 when it could
not be attached to.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The process
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,
    /// How long to record, such as 5s [default: until the process ends, Ctrl-C, or `ada detach`]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    recording: RecordingArgs,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let quiet = args.recording.quiet;
    let options = args.recording.into_options(WhenFull::Drop)?;
    ada_control::stop_on_signals();
    let live = LiveLine::new(quiet);
    let recorded = ada_control::attach(ProcessId(args.pid), &options, args.duration, &StopSwitch::default(), &live);
    drop(live);
    let report = recorded.not_traced(125)?;
    if !quiet {
        report::print(&report);
    }
    // Whoever asked for a time has got it; a process that keeps its hooks has been reported.
    Ok(if report.end == End::Detached && report.failure.is_some() { Outcome::Findings } else { Outcome::Clean })
}

#[derive(clap::Args)]
#[command(after_help = "\
Ends `ada attach` for that process: all hooks are removed, and the session is complete. Where the ada that recorded a process
was killed, the hooks that it has left there are removed; what it had written stays.

Exit codes: 0 when the process goes on without hooks, 1 when some could not be removed, 3 when there is nothing to detach from.")]
pub(crate) struct DetachArgs {
    /// The process, as `ada ps` shows it
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,
}

pub(crate) fn detach(args: &DetachArgs) -> anyhow::Result<Outcome> {
    let pid = ProcessId(args.pid);
    let words = match live::ask(pid, &Request::Detach) {
        Ok(Answer::Detached) => format!("process {pid} goes on without hooks"),
        Ok(_) => anyhow::bail!("the trace of process {pid} gave another answer than asked for"),
        Err(error @ (LiveError::NotTraced { .. } | LiveError::NotAllowed { .. })) => {
            let Some(HookRemoval { processes, passing, kept }) = ada_control::remove_orphaned_hooks(pid)? else {
                return Err(error.into());
            };
            if !kept.is_empty() {
                say(format_args!("ada: {}\n", kept.join("; ")));
                return Ok(Outcome::Findings);
            }
            let others = if processes > 1 { format!(" (and {} more)", processes - 1) } else { String::new() };
            let state = if passing == processes { ", which let its calls pass" } else { "" };
            format!("process {pid}{others} had the hooks of an ada that was killed{state}; it goes on without")
        }
        Err(error) => return Err(error.into()),
    };
    writeln!(io::stdout().lock(), "{words}").output_failed(|| "cannot write to stdout".into())?;
    Ok(Outcome::Clean)
}
