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

/// The type of detail records that hold the Heph packet that an event was made of: "HP".
pub(crate) const HEPH_PACKET: u16 = 0x4850;

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
