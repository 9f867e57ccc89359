//! `ada completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Outcome;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell that will read the script
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    clap_complete::generate(args.shell, &mut Cli::command(), "ada", &mut std::io::stdout().lock());
    Ok(Outcome::Clean)
}
