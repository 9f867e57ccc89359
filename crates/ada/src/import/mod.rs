//! `ada import`: traces of other programs become sessions that every command reads.

mod heph;
mod lane;
mod unfinished;

pub(crate) use heph::PACKETS_FILE;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Heph(heph::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Heph(args) => heph::run(&args),
    }
}
