//! `ada trigger PID …`: what opens windows of detail in a running trace.

use std::io::{self, Write};

use ada_control::Trigger;
use ada_control::live::{self, Answer, Request};
use ada_event::ProcessId;

use crate::exit::{Blame, Outcome};

#[derive(clap::Args)]
#[command(after_help = "Prints the triggers after the changes, one per line.")]
pub(crate) struct Args {
    /// The traced process, as `ada ps` shows it
    pid: u32,
    /// Add a trigger, written as for `ada trace --trigger`. May be given several times
    #[arg(long, value_name = "TRIGGER")]
    add: Vec<Trigger>,
    /// Remove a trigger, written as `--list` shows it. May be given several times
    #[arg(long, value_name = "TRIGGER")]
    remove: Vec<Trigger>,
    /// Print the triggers and change nothing
    #[arg(long, conflicts_with_all = ["add", "remove"])]
    list: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let words = |triggers: &[Trigger]| triggers.iter().map(ToString::to_string).collect();
    let request = Request::Triggers { add: words(&args.add), remove: words(&args.remove) };
    if let Answer::Triggers { triggers } = live::ask(ProcessId(args.pid), &request)? {
        let mut out = io::stdout().lock();
        for trigger in triggers {
            writeln!(out, "{trigger}").output_failed(|| "cannot write to stdout".into())?;
        }
    }
    Ok(Outcome::Clean)
}
