//! `--to parquet --append DIR`: sessions of many machines in one dataset.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ada_query::export::{Append, Appended, Origin, append_parquet};
use ada_query::{Cancel, Engine};

use super::{Args, tables};
use crate::analysis::{Out, nanoseconds, open_trace, thousands};
use crate::exit::{Blame, Outcome};
use crate::quantity::parse_duration;

#[derive(clap::Args)]
pub(super) struct AppendArgs {
    /// Add the sessions to a folder of Parquet files, which others may read and add to at the same time
    #[arg(long, help_heading = "Many machines")]
    append: bool,
    /// The machine that the sessions come from [default: the name of the machine that recorded them]
    #[arg(long, value_name = "NAME", requires = "append", help_heading = "Many machines")]
    host: Option<String>,
    /// The service that was recorded [default: the file name of the first program]
    #[arg(long, value_name = "NAME", requires = "append", help_heading = "Many machines")]
    service: Option<String>,
    /// The version of what was recorded [default: the build-id of the first program]
    #[arg(long, value_name = "NAME", requires = "append", help_heading = "Many machines")]
    release: Option<String>,
    /// Leave out tables that are not written within DURATION; the output and the dataset say which these are
    #[arg(long, value_name = "DURATION", requires = "append", value_parser = parse_duration)]
    #[arg(help_heading = "Many machines")]
    max_time: Option<Duration>,
}

impl AppendArgs {
    pub(super) fn is_used(&self) -> bool {
        self.append
    }
}

pub(super) fn run(
    dataset: &Path,
    sessions: &[PathBuf],
    args: &Args,
    interrupted: &Arc<AtomicBool>,
) -> anyhow::Result<Outcome> {
    tables::check_names(&args.table)?;
    let AppendArgs { host, service, release, max_time, .. } = &args.append;
    let origin = Origin { host: host.clone(), service: service.clone(), version: release.clone() };
    let mut outcome = Outcome::Clean;
    // One after the other: what is held in memory does not grow with their number.
    let named: Vec<&[PathBuf]> = if sessions.is_empty() { vec![&[]] } else { sessions.chunks(1).collect() };
    for session in named {
        let begun = Instant::now();
        let (trace, of_session) = open_trace(session, &args.ask)?;
        if of_session == Outcome::Findings {
            outcome = of_session;
        }
        let engine = Engine::new(Arc::new(trace), Cancel::watching(interrupted.clone()))?;
        let until = max_time.map(|time| begun + time);
        let how = Append { origin: origin.clone(), tables: args.table.clone(), until };
        let added = append_parquet(&engine, dataset, &how, |_, _| ())
            .output_failed(|| format!("cannot add to {}", dataset.display()))?;
        added.iter().try_for_each(|it| print(it, begun.elapsed()))?;
    }
    Ok(outcome)
}

fn print(added: &Appended, time: Duration) -> anyhow::Result<()> {
    let mut out = Out::new();
    if added.was_there {
        out.line(&format!("{}: was there already", added.session))?;
        return out.finish();
    }
    let time = nanoseconds(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let Appended { session, rows, files, bytes, left_out, .. } = added;
    let (rows, bytes) = (thousands(*rows), thousands(*bytes));
    out.line(&format!("{session}: {rows} rows, {bytes} bytes in {files} files, {time}"))?;
    if !left_out.is_empty() {
        out.line(&format!("{session}: left out for --max-time: {}", left_out.join(", ")))?;
    }
    out.finish()
}
