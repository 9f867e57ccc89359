//! `ada snapshot`: what a ring holds, as a session.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ada_control::live::{self, Answer, Request};

use crate::exit::{Blame, Outcome};

#[derive(clap::Args)]
#[command(after_help = "Prints the new session's folder. The trace goes on.")]
pub(crate) struct Args {
    /// The traced process, as `ada ps` shows it, or the session's folder if its ada was killed
    #[arg(value_name = "PID|SESSION")]
    of: String,
    /// Folder to write the new session to [default: where the trace's own session is]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let session = match args.of.parse() {
        Ok(pid) => {
            // The recorder may stand in another folder.
            let output = args.output.as_deref().map(std::path::absolute).transpose()?;
            match live::ask(pid, &Request::Snapshot { output })? {
                Answer::Snapshot { session } => session,
                _ => anyhow::bail!("unexpected answer from the ada that traces process {pid}"),
            }
        }
        Err(_) => {
            let session = Path::new(&args.of);
            let beside = session.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            ada_control::save_orphaned_ring(session, args.output.as_deref().unwrap_or(beside))?
        }
    };
    writeln!(io::stdout().lock(), "{}", session.display()).output_failed(|| "cannot write to stdout".into())?;
    Ok(Outcome::Clean)
}
