//! `ada trace -- COMMAND …`.

pub(crate) mod live;
pub(crate) mod options;
mod printed_lines;
pub(crate) mod report;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ada_control::{ControlError, End, TraceReport};

use self::options::{RecordingArgs, START_AND_END, WhenFull};
use crate::exit::{Blame, Outcome, killed_by, say};
use crate::quantity::parse_duration;
use crate::view::Watch;

const EXAMPLES: &str = "\
Examples:
  ada trace -- ./server --port 8080
  ada trace --output /tmp/traces --exclude 'libcrypto*' -- curl https://localhost/
  ada trace --trigger 'slow=handle_*>50ms' --pre-roll 500 -- ./server
  ada trace --max-overhead 10% -- python3 app.py
  ada trace --view -- ./server              the timeline while it grows
  ada trace --print 'open*,connect' -- ls   calls as they happen, as strace shows them
  ada trace --on-full drop -- ./realtime    never waits for the disk; what is lost is counted

ada's own messages go to stderr; stdin, stdout, signals and the exit code are the program's.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    recording: RecordingArgs,
    /// Give up if hooking takes longer, such as 10s or 500ms [default: processor time by the amount of code]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = START_AND_END)]
    startup_timeout: Option<Duration>,
    /// Show the trace in a browser while it grows, and afterwards until Ctrl-C
    #[arg(long)]
    view: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let quiet = args.recording.quiet;
    let watch = args.view.then(|| Watch::begin(&args.recording.output));
    let report = trace(args)?;
    if !quiet {
        report::print(&report);
    }
    if let Some(watch) = watch {
        watch.finish();
    }
    let end = match report.end {
        End::Detached => {
            if !quiet {
                say(format_args!("ada: the program goes on without hooks\n"));
            }
            ada_control::wait_for_program(report.pid)?
        }
        end => end,
    };
    Ok(match end {
        End::Killed(signal) => Outcome::Killed(signal),
        end => Outcome::Traced(exit_code(end)),
    })
}

/// Traces a command with ada's default options.
pub(crate) fn trace_quietly(output: PathBuf, command: Vec<OsString>) -> anyhow::Result<TraceReport> {
    trace(Args { recording: RecordingArgs::quiet(output), startup_timeout: None, view: false, command })
}

fn trace(args: Args) -> anyhow::Result<TraceReport> {
    let mut words = args.command.into_iter();
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words);
    // The line that shows how a trace goes on would run into printed calls.
    let quiet = args.recording.quiet || !args.recording.print.is_empty() && args.recording.print_to.is_none();
    let mut options = args.recording.into_options(WhenFull::Wait, None)?;
    options.start_up_timeout = args.startup_timeout;
    ada_control::outlive_terminal_signals();
    let live = live::LiveLine::new(quiet);
    let result = ada_control::trace(command, &options, &live);
    drop(live);
    let code = match &result {
        Err(ControlError::StartUpTimeout { .. }) => 124,
        Err(ControlError::Spawn { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => 127,
        Err(ControlError::Spawn { .. } | ControlError::Unsupported { .. }) => 126,
        // It has said why itself, and its code is what it is without ada.
        Err(ControlError::EndedEarly(end)) => exit_code(*end),
        _ => 125,
    };
    result.not_traced(code)
}

fn exit_code(end: End) -> u8 {
    match end {
        End::Exited(code) => code as u8,
        End::Killed(signal) => killed_by(signal),
        End::Unknown | End::Detached => 0,
    }
}
