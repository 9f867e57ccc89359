//! `ada manual FOLDER`: manual pages, for packages.

use std::fs;
use std::path::PathBuf;

use crate::exit::{Blame, Outcome};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder that ada.1, ada-trace.1 and the others are written to
    folder: PathBuf,
}

/// Writes a page for each command.
pub(crate) fn run(args: &Args, command: clap::Command) -> anyhow::Result<Outcome> {
    let failed = || format!("cannot write manual pages to {}", args.folder.display());
    fs::create_dir_all(&args.folder).output_failed(failed)?;
    clap_mangen::generate_to(command, &args.folder).output_failed(failed)?;
    Ok(Outcome::Clean)
}
