//! Sessions for questions: one or several, with their derived tables.

use std::path::{Path, PathBuf};

use ada_format::atf::{Problem, Session};
use ada_query::Trace;
use anyhow::bail;

use super::newest;
use super::opened::{tables_of, tell_findings};
use super::progress::Progress;
use super::units::parse_nanos;
use crate::exit::{Blame, Outcome};

/// How sessions are analysed, for commands that take several.
#[derive(clap::Args)]
pub(crate) struct AskArgs {
    /// Spans that take longer than this have the reason `timeout`, or are `open` if they never end
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_nanos)]
    pub(crate) timeout: u64,
}

/// Opens sessions, or the newest one if none is named. Tables that are missing or stale are made.
pub(crate) fn open_trace(named: &[PathBuf], args: &AskArgs) -> anyhow::Result<(Trace, Outcome)> {
    let paths: Vec<PathBuf> = match named {
        [] => vec![newest::find(None)?],
        some => some.iter().map(|path| newest::find(Some(path))).collect::<anyhow::Result<_>>()?,
    };
    let mut sessions = Vec::new();
    let mut outcome = Outcome::Clean;
    for path in &paths {
        let session = open_session(path)?;
        if tell_findings(&session) == Outcome::Findings {
            outcome = Outcome::Findings;
        }
        let progress = Progress::new(session.threads().map(|thread| thread.event_count()).sum());
        let mut tables = Vec::new();
        for process in session.processes() {
            let made = tables_of(process, session.processes(), args.timeout, &progress);
            tables
                .push(made.output_failed(|| format!("cannot write the derived tables of {}", process.path.display()))?);
        }
        drop(progress);
        sessions.push((session, tables));
    }
    Ok((Trace::new(sessions), outcome))
}

fn open_session(path: &Path) -> anyhow::Result<Session> {
    let session = Session::open(path)?;
    if session.threads().next().is_none()
        && let Some(finding) = session.findings().iter().find(|finding| !matches!(finding.problem, Problem::Damage(_)))
    {
        bail!("{finding}");
    }
    Ok(session)
}
