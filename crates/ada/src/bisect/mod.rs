//! `ada bisect -- COMMAND …`: finds the hooks that change what a command does.

mod answer;
mod baseline;
mod captured;
mod command;
mod culprits;
mod full_traces;
mod hook_set;
mod input;
mod observed;
mod smallest;
mod trace_words;
mod trials;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::answer::Answer;
use self::baseline::Baseline;
use self::command::RepeatedCommand;
use self::culprits::{Found, Times};
use self::full_traces::FullTraces;
use self::observed::{Aspect, RunEnd};
use self::trace_words::TraceWords;
use self::trials::{Stop, Trials};
use crate::exit::{Blame, Outcome};
use crate::quantity::parse_duration;
use crate::scratch::Scratch;

const EXAMPLES: &str = "\
Examples:
  ada bisect -- ./program --its options
  ada bisect --keep -- ./program           and have later traces leave the culprits alone
  ada bisect --compare exit -- ./program   if its output always differs, such as times or addresses
  ada bisect --runs 20 -- ./program        if it fails now and then
  ada bisect --detail all -- ./program <input

The command is run dozens of times, so it should do the same each time, whatever an earlier run did. Standard input \
is read once and given to each run; from a terminal, nothing is read. Processes that a run leaves behind are killed.

Exit codes:
  0    traced and untraced runs are the same
  1    they differ: the hooks that make the difference are named, or no hook makes it
  3    no answer: untraced runs differ from each other, or the difference does not come again
  124 to 127, as from ada trace: the command could not be run or traced
  130  interrupted";

/// How long a command may run by itself where nothing else is said.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long a traced run may take: this, and so often what the slowest untraced one took.
const TO_HOOK: Duration = Duration::from_secs(10);
const TIMES_SLOWER: u32 = 20;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to compare, separated by commas [default: everything that is the same in untraced runs]
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    compare: Vec<Compared>,
    /// Number of untraced runs, and of runs traced with all hooks; more find differences that are intermittent
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(2..=1000))]
    runs: u32,
    /// Make at most N traced runs
    #[arg(long, value_name = "N", default_value = "300", value_parser = clap::value_parser!(u32).range(2..))]
    max_runs: u32,
    /// A run that takes longer, such as 30s, counts as one that does not end [default: 10 s, plus 20 times what the
    /// slowest untraced run takes]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// Quarantine the culprits: later traces of these files do not hook them; see `ada quarantine`
    #[arg(long)]
    keep: bool,
    /// Print only the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    options: TraceWords,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Compared {
    /// The exit code or signal, and whether the program ends at all
    Exit,
    /// What the program writes to standard output
    Stdout,
    /// What the program writes to standard error
    Stderr,
    /// All three
    All,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let input = input::read()?;
    let scratch = Scratch::new()?;
    ada_process::adopt_orphans().context("cannot adopt the command's processes").not_traced(125)?;
    let folder = scratch.path().to_owned();
    let command = RepeatedCommand { words: args.command, options: args.options.0, folder, stop: stop_flag()? };
    command.give_input(&input)?;

    let asked = aspects(&args.compare);
    let baseline = Baseline::run(&command, args.runs, args.timeout.unwrap_or(PATIENCE), &asked, args.quiet)?;
    if let RunEnd::TimedOut(_) = baseline.expected.end {
        return answer::endless(&baseline);
    }
    if let Some(unsteady) = &baseline.unsteady {
        answer::unsteady(unsteady, &baseline)?;
        if !args.compare.is_empty() || baseline.aspects.is_empty() {
            return Ok(Outcome::Undecided);
        }
    }
    let limit = args.timeout.unwrap_or(TO_HOOK + baseline.slowest * TIMES_SLOWER);
    let mut trials = Trials {
        command: &command,
        expected: &baseline.expected,
        aspects: &baseline.aspects,
        limit,
        most: args.max_runs,
        made: 0,
        quiet: args.quiet,
        suspects: String::new(),
        base: Vec::new(),
        known: HashMap::new(),
    };
    let full = match FullTraces::run(&mut trials, args.runs) {
        Err(Stop::Failed(error)) => return Err(error),
        Err(Stop::Enough) => return answer::too_few_runs(args.max_runs),
        Ok(full) => full,
    };
    let Some(difference) = &full.difference else {
        return answer::same(&baseline, full.runs);
    };
    answer::difference(difference, &full)?;
    let mut found = Found::default();
    let answer = match search(&mut trials, &full, args.runs, &mut found) {
        Err(Stop::Failed(error)) => return Err(error),
        Err(Stop::Enough) => Answer::Unfinished,
        Ok(answer) => answer,
    };
    answer.print(&full.hooks, &found, &trials)?;
    if args.keep && answer.has_culprits(&found) {
        answer::keep(&full.hooks, &found)?;
    }
    Ok(if answer.is_one() { Outcome::Findings } else { Outcome::Undecided })
}

/// Set by Ctrl-C or `kill`: the run that goes on is ended then, and what was made on the way goes.
fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone()).context("cannot wait for signals").not_traced(125)?;
    }
    Ok(stop)
}

/// Finds the hooks that make the difference, unless none do.
fn search(trials: &mut Trials<'_>, full: &FullTraces, runs: u32, found: &mut Found) -> Result<Answer, Stop> {
    let all = &full.hooks;
    let tries = full.tries();
    trials.known.insert(all.hooks(), full.difference.clone());
    if let Some(difference) = culprits::find(trials, all, Times { each: tries, last: runs.max(tries) }, found)? {
        let own = trials.own_difference(runs.max(tries))?;
        return Ok(own.map_or(Answer::NoHooks(difference), Answer::ByItself));
    }
    // What differs now and then may have done so for another reason.
    trials.suspects = "once more".into();
    if tries > 1 {
        for set in &found.sets {
            if trials.try_out(all, &set.hooks, tries)?.is_none() {
                return Ok(Answer::NotAgain);
            }
        }
    }
    Ok(Answer::Culprits)
}

fn aspects(compared: &[Compared]) -> Vec<Aspect> {
    let is_asked = |aspect: &Aspect| {
        let this = match aspect {
            Aspect::Exit => Compared::Exit,
            Aspect::Stdout => Compared::Stdout,
            Aspect::Stderr => Compared::Stderr,
        };
        compared.is_empty() || compared.contains(&Compared::All) || compared.contains(&this)
    };
    Aspect::ALL.into_iter().filter(is_asked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_is_what_was_asked_for() {
        assert_eq!(aspects(&[]), Aspect::ALL);
        assert_eq!(aspects(&[Compared::Stderr, Compared::All]), Aspect::ALL);
        assert_eq!(aspects(&[Compared::Stderr, Compared::Exit]), [Aspect::Exit, Aspect::Stderr]);
    }
}
