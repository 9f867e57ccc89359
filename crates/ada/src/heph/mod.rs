//! `ada heph …`: traces in the Heph format, read, sent and received.

mod address;
mod complaints;
mod dump;
mod input;
mod json;
mod listen;
mod pace;
mod send;
mod stat;
mod text;

pub(crate) use complaints::Complaints;
pub(crate) use input::Input;
pub(crate) use json::attributes;

use clap::Subcommand;

use crate::exit::Outcome;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Dump(dump::Args),
    Stat(stat::Args),
    Send(send::Args),
    Listen(listen::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Dump(args) => dump::run(&args),
        Command::Stat(args) => stat::run(&args),
        Command::Send(args) => send::run(&args),
        Command::Listen(args) => listen::run(&args),
    }
}
