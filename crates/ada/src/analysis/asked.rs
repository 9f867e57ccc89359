//! Sessions for questions: one or several, with their derived tables.

use std::path::PathBuf;

use ada_query::Trace;

use super::newest;
use super::session_tables::{open_session, show_findings, tables_of};
use super::units::parse_nanos;
use crate::exit::Outcome;

/// How sessions are analysed, for commands that take several.
#[derive(clap::Args)]
pub(crate) struct AskArgs {
    /// Mark spans that take longer than this with the reason `timeout`, or as `open` if they never end
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
        let tables = tables_of(&session, args.timeout)?;
        if show_findings(&session, tables.iter()) == Outcome::Findings {
            outcome = Outcome::Findings;
        }
        sessions.push((session, tables));
    }
    Ok((Trace::new(sessions), outcome))
}
