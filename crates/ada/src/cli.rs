//! The command line: the list of commands, and what `ada --help` says.

use clap::{Parser, Subcommand};

use crate::{atf, completions, demo, heph};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  done, and what was looked at is damaged or incomplete
  2  the command line is wrong
  3  the input cannot be read, or is not what it should be
  4  the output or a connection failed";

/// A flight recorder for native programs
#[derive(Parser)]
#[command(name = "ada", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a small session and show what is in it
    Demo(demo::Args),
    /// Look into a recorded session's files
    Atf(atf::Args),
    /// Read, send and receive Heph traces
    Heph(heph::Args),
    /// Print a completion script for your shell
    Completions(completions::Args),
}
