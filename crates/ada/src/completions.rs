//! `ada completions SHELL`.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{Blame, Outcome};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell that will read the script
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ada", &mut script);
    io::stdout().lock().write_all(&script).output_failed(|| "cannot write to stdout".into())?;
    Ok(Outcome::Clean)
}
