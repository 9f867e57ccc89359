//! `ada attach` and `ada detach`: recording a process that runs already.

mod menu;
mod several;
mod target;

use std::io::{self, Write};
use std::path::PathBuf;

use ada_control::live::{self, Answer, LiveError, Request};
use ada_control::{End, HookRemoval, TraceReport};
use ada_event::ProcessId;

use self::several::Recorded;
use self::target::{Target, Tree};
use crate::exit::{Blame, Outcome, say};
use crate::trace::live::LiveLine;
use crate::trace::options::{RecordingArgs, WhenFull};
use crate::trace::report;

/// What hooks may cost a process that somebody relies on.
const BUDGET: f64 = 0.1;

const EXAMPLES: &str = "\
Examples:
  ada attach nginx --duration 10s          the master and its workers
  ada attach --port 6379                   who listens there (until Ctrl-C, or `ada detach`)
  ada attach --unit postgresql --follow-new
  ada attach 4711 --tree --max-overhead 5%

All hooks are removed at the end, and the processes go on as they were. Hooks that a killed ada has left in them are \
removed first. Hooks keep within 10 % of the processor time: hotter functions are counted instead of recorded, and \
the session says which (--max-overhead none records all).

Exit codes:
  0    all were recorded
  1    some could not be attached to, or are left with hooks
  125  none could be attached to";

const WHICH: &str = "Which processes";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A process id, or the name of a program as `ps` shows it (wildcards `*`, `?`).
    ///
    /// An id is that process alone. A name is the process that has it, and all processes below it.
    #[arg(value_name = "PID|NAME", value_parser = parse_target, conflicts_with_all = ["unit", "container", "port"],
          required_unless_present_any = ["unit", "container", "port"])]
    target: Option<Target>,
    /// The processes of a systemd unit, such as nginx.service
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["container", "port"], help_heading = WHICH)]
    unit: Option<String>,
    /// The processes of a podman or docker container, by its name or id
    #[arg(long, value_name = "NAME", conflicts_with = "port", help_heading = WHICH)]
    container: Option<String>,
    /// The process that listens on this port, TCP or UDP, and those below it
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = WHICH)]
    port: Option<u16>,
    /// With a process id: the processes below it as well
    #[arg(long, help_heading = WHICH)]
    tree: bool,
    /// Record all processes that match, even unrelated ones
    #[arg(long, help_heading = WHICH)]
    all: bool,
    /// Also record matching processes that are started later.
    ///
    /// Processes that a recorded one starts are recorded anyway.
    #[arg(long, help_heading = WHICH)]
    follow_new: bool,
    #[command(flatten)]
    recording: RecordingArgs,
}

fn parse_target(text: &str) -> Result<Target, String> {
    match text.parse() {
        Ok(0) => Err("no process has this id".to_owned()),
        Ok(pid) => Ok(Target::Pid(ProcessId(pid))),
        Err(_) if text.is_empty() => Err("a process id, or a name".to_owned()),
        Err(_) => Ok(Target::Name(text.to_owned())),
    }
}

impl Args {
    fn target(&self) -> Target {
        let named = self.unit.clone().map(Target::Unit).or_else(|| self.container.clone().map(Target::Container));
        let named = named.or_else(|| self.port.map(Target::Port)).or_else(|| self.target.clone());
        named.expect("one of them is required")
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let quiet = args.recording.quiet;
    let target = args.target();
    let is_one = matches!(target, Target::Pid(_)) && !args.tree;
    let trees = target.find().not_traced(125)?;
    if trees.is_empty() && !args.follow_new {
        return Err(anyhow::anyhow!(target.not_found())).not_traced(125);
    }
    let trees = menu::choose(trees, args.all || args.follow_new).not_traced(125)?;
    let pids: Vec<ProcessId> =
        if is_one { trees.iter().map(|tree| tree.root).collect() } else { trees.iter().flat_map(Tree::all).collect() };
    if is_one && !quiet {
        trees.iter().filter(|tree| !tree.below.is_empty()).for_each(hint_at_tree);
    }
    let mut options = args.recording.into_options(WhenFull::Drop, Some(BUDGET))?;
    // Together they have what one has, as far as that is enough for each.
    options.chunks = (options.chunks / pids.len().max(1)).max(LEAST_CHUNKS.min(options.chunks));
    ada_control::stop_on_signals();
    let live = LiveLine::new(quiet);
    let find = || -> Vec<ProcessId> {
        target.find().unwrap_or_default().iter().flat_map(|tree| tree.all().collect::<Vec<_>>()).collect()
    };
    let newcomers: Option<&dyn Fn() -> Vec<ProcessId>> = if args.follow_new { Some(&find) } else { None };
    let recorded = several::record(&pids, options, &live, newcomers);
    drop(live);
    conclude(recorded, quiet)
}

/// Bytes of rings that one process needs: 8 MiB.
const LEAST_CHUNKS: usize = 32;

/// A process that only starts others has nothing to record.
fn hint_at_tree(tree: &Tree) {
    let count = tree.below.len();
    let others = if count == 1 { "a process below it".to_owned() } else { format!("{count} processes below it") };
    say(format_args!("ada: process {} has {others}, which are not recorded; --tree records them too\n", tree.root));
}

/// Says what became of each, and makes one session of all.
fn conclude(recorded: Vec<Recorded>, quiet: bool) -> anyhow::Result<Outcome> {
    let mut reports: Vec<(ProcessId, TraceReport)> = Vec::new();
    let mut failures = Vec::new();
    for (pid, result) in recorded {
        match result {
            Ok(report) => reports.push((pid, report)),
            Err(error) => failures.push(error),
        }
    }
    if reports.is_empty() {
        let Some(first) = failures.into_iter().next() else {
            say(format_args!("ada: no matching process was started\n"));
            return Ok(Outcome::Findings);
        };
        return Err(first).not_traced(125);
    }
    let is_whole = failures.is_empty();
    failures.iter().for_each(|error| say(format_args!("ada: {error}\n")));
    let sessions: Vec<PathBuf> = reports.iter().map(|(_, report)| report.session.clone()).collect();
    let beside = several::join(&sessions).output_failed(|| {
        format!("cannot join the recorded sessions in {}; the sessions beside it have the rest", sessions[0].display())
    })?;
    if !quiet {
        for (pid, report) in &mut reports {
            if !beside.contains(&report.session) {
                report.session.clone_from(&sessions[0]);
            }
            if sessions.len() > 1 {
                say(format_args!("ada: process {pid}:\n"));
            }
            report::print(report);
        }
    }
    // Whoever asked for a time has got it; a process that keeps its hooks has been reported.
    let keeps_hooks = |report: &TraceReport| report.end == End::Detached && report.failure.is_some();
    let is_clean = is_whole && !reports.iter().any(|(_, report)| keeps_hooks(report));
    Ok(if is_clean { Outcome::Clean } else { Outcome::Findings })
}

const DETACH_HELP: &str = "\
Ends the recording of that process: all hooks are removed, and the session is complete. If the ada that recorded it \
was killed, the hooks that it has left there are removed, and what it had written stays.

Exit codes:
  0  the process goes on without hooks
  1  some hooks could not be removed
  3  there is nothing to detach from";

#[derive(clap::Args)]
#[command(after_help = DETACH_HELP)]
pub(crate) struct DetachArgs {
    /// The process, as `ada ps` shows it
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,
}

pub(crate) fn detach(args: &DetachArgs) -> anyhow::Result<Outcome> {
    let pid = ProcessId(args.pid);
    let words = match live::ask(pid, &Request::Detach) {
        Ok(Answer::Detached) => format!("process {pid} goes on without hooks"),
        Ok(_) => anyhow::bail!("unexpected answer from the ada that traces process {pid}"),
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
