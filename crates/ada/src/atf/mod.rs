//! `ada atf …`.

mod dump;
pub(crate) mod event_json;
mod event_line;
mod event_text;
pub(crate) mod report;
pub(crate) mod summary;
mod verify;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a session's events, with all threads in one sequence
    Dump(dump::Args),
    /// Check a session's files: headers, checksums, times and links
    Verify(verify::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Dump(args) => dump::run(&args),
        Command::Verify(args) => verify::run(&args),
    }
}
