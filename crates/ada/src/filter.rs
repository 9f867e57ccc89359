//! `ada filter PID`: records, counts or ignores functions of a running trace.

use std::io::{self, Write};

use ada_control::SwitchMode;
use ada_control::live::{self, Answer, Request};
use ada_event::ProcessId;

use crate::exit::{Blame, Outcome, say};

const EXAMPLES: &str = "\
Examples:
  ada filter 4711 --count '*hash*'           count calls exactly, from now on, and record nothing
  ada filter 4711 --off 'libcrypto*'         keep nothing of a whole module
  ada filter 4711 --off '*' --on 'parse_*'   record only these
  ada filter 4711 --args 'parse_*,open'      with their arguments and results, from now on

Options apply in this order: `--off`, `--count`, `--on`, `--no-args`, `--args`. The session keeps what was changed, \
when, and how often counted functions were called: see `ada hooks SESSION`. The program is not stopped.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The traced program, as `ada ps` shows it
    pid: u32,
    /// Ignore functions or modules matching PATTERN (wildcards `*`, `?`). May be given several times
    #[arg(long, value_name = "PATTERN", required_unless_present_any = ["count", "on", "args", "no_args"])]
    off: Vec<String>,
    /// Count calls of matching functions, but do not record them
    #[arg(long, value_name = "PATTERN")]
    count: Vec<String>,
    /// Record calls and returns of matching functions
    #[arg(long, value_name = "PATTERN")]
    on: Vec<String>,
    /// Capture arguments and results too, of matching functions that `ada trace --args` or `--args-later` prepared
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    args: Vec<String>,
    /// Record calls of matching functions without values
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    no_args: Vec<String>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let filter = |mode: SwitchMode, patterns: &[String]| Request::Filter { mode, patterns: patterns.to_vec() };
    let values =
        |are_captured: bool, patterns: &[String]| Request::Values { are_captured, patterns: patterns.to_vec() };
    let wishes = [
        (filter(SwitchMode::Off, &args.off), !args.off.is_empty(), "ignored"),
        (filter(SwitchMode::Count, &args.count), !args.count.is_empty(), "counted"),
        (filter(SwitchMode::Full, &args.on), !args.on.is_empty(), "recorded"),
        (values(false, &args.no_args), !args.no_args.is_empty(), "recorded without values"),
        (values(true, &args.args), !args.args.is_empty(), "recorded with values"),
    ];
    for (request, _, words) in wishes.iter().filter(|(_, is_wished, _)| *is_wished) {
        let Answer::Filtered { matched, changed, without_counter, unhooked } = live::ask(ProcessId(args.pid), request)?
        else {
            anyhow::bail!("unexpected answer from the ada that traces process {}", args.pid);
        };
        writeln!(io::stdout(), "{changed} of {matched} functions are now {words}")
            .output_failed(|| "cannot write to stdout".into())?;
        if without_counter > 0 {
            say(format_args!("ada: {without_counter} functions were not changed: no free counters are left\n"));
        }
        if unhooked > 0 {
            say(format_args!(
                "ada: {unhooked} functions were not changed: their hooks were removed to stay within --max-overhead\n"
            ));
        }
    }
    Ok(Outcome::Clean)
}
