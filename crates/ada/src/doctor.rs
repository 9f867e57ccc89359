//! `ada doctor`: what this machine allows, and what a hook costs on it.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use ada_control::{Check, check_machine};
use anyhow::Context;

use crate::exit::{Blame, Outcome};
use crate::scratch::Scratch;

const CALLS: &str = "2000000";

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    let mut checks = check_machine();
    checks.push(trace_trial());
    // Where the policy forbids it, that has been said, with what to type.
    if checks.iter().all(|check| check.name != "attach" || check.is_good) {
        checks.push(attach_trial());
    }
    let mut out = io::stdout().lock();
    for check in &checks {
        let mark = if check.is_good { "ok " } else { "BAD" };
        writeln!(out, "{mark}  {:<14} {}", check.name, check.words)
            .output_failed(|| "cannot write to stdout".into())?;
    }
    Ok(if checks.iter().all(|check| check.is_good) { Outcome::Clean } else { Outcome::Findings })
}

/// The proof: traces a program that measures its own calls.
fn trace_trial() -> Check {
    match measure() {
        Ok((bare, traced)) => Check {
            name: "a trace",
            is_good: true,
            words: format!("works; a call and its return take {traced:.0} ns traced and {bare:.1} ns untraced"),
        },
        Err(error) => Check { name: "a trace", is_good: false, words: format!("{error:#}") },
    }
}

/// The same for a process that runs already: filters of containers can forbid what the policy allows.
fn attach_trial() -> Check {
    let (is_good, words) = match attach() {
        Ok(()) => (true, "works".to_owned()),
        Err(error) => (false, format!("{error:#}")),
    };
    Check { name: "an attach", is_good, words }
}

fn attach() -> anyhow::Result<()> {
    let own = std::env::current_exe().context("cannot find ada's own executable")?;
    let scratch = Scratch::new()?;
    let mut waiting =
        Command::new(&own).args(["workload", "--wait"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let attached = Command::new(&own)
        .args(["attach", "--quiet", "--duration", "50ms", "--output"])
        .arg(scratch.path())
        .arg(waiting.id().to_string())
        .output();
    drop(waiting.stdin.take());
    waiting.wait()?;
    let attached = attached?;
    anyhow::ensure!(attached.status.success(), "{}", String::from_utf8_lossy(&attached.stderr).trim());
    Ok(())
}

fn measure() -> anyhow::Result<(f64, f64)> {
    let own = std::env::current_exe().context("cannot find ada's own executable")?;
    let bare = Command::new(&own).args(["workload", "--calls", CALLS]).output()?.stdout;
    let scratch = Scratch::new()?;
    let command = Command::new(&own)
        .args(["trace", "--quiet", "--output"])
        .arg(scratch.path())
        .arg("--")
        .arg(&own)
        .args(["workload", "--calls", CALLS])
        .output()?;
    drop(scratch);
    anyhow::ensure!(command.status.success(), "{}", String::from_utf8_lossy(&command.stderr).trim());
    let nanoseconds =
        |text: &[u8]| String::from_utf8_lossy(text).trim().parse::<f64>().context("the trial program printed no time");
    Ok((nanoseconds(&bare)?, nanoseconds(&command.stdout)?))
}
