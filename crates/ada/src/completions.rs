//! `ada completions SHELL`.

use std::io::{self, Write};

use clap_complete::Shell;

use crate::exit::{Blame, Outcome};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell that will read the script
    shell: Shell,
}

/// Prints the script for a command line.
pub(crate) fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<Outcome> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "ada", &mut script);
    io::stdout().lock().write_all(&script).output_failed(|| "cannot write to stdout".into())?;
    Ok(Outcome::Clean)
}
