//! `ada export`: tables for databases, timelines for viewers.

mod append;
mod collector;
mod tables;
mod timeline;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ada_export::Format;
use anyhow::{Context, bail};
use clap::ValueEnum;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::analysis::{AskArgs, find_session};
use crate::exit::{Blame, Outcome};
use crate::spans::FilterArgs;

const EXAMPLES: &str = "\
Examples:
  ada export --to perfetto              the newest session for ui.perfetto.dev, in session_….pftrace
  ada export --to chrome -o trace.json SESSION --min-duration 10us
  ada export --to firefox -o profile.json --thread 4711
  ada export --to speedscope -o trace.speedscope.json --since 1s --until 1.2s
  ada export --to folded -o - | flamegraph.pl > flame.svg
  ada export --to pprof && go tool pprof -top session_….pb
  ada export --to otlp -o http://localhost:4318 --own   spans to an OpenTelemetry collector
  ada export --to heph -o trace.heph --type logical
  ada export --to parquet tables/                       every table of the newest session
  ada export --to parquet tables/ SESSION1 SESSION2     each session in a folder below each table
  ada export --to parquet --append fleet/ SESSION       by service, version, host and start
  ada export --to sqlite trace.db --table spans --table functions

DuckDB:  SELECT name, sum(self_ns) FROM 'tables/spans/**/*.parquet' GROUP BY name

docs/export.md describes each format, with worked examples for DuckDB, pandas, Polars and Spark. docs/fleet.md has \
the questions that one asks of many machines.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Format to export to
    #[arg(long, value_enum)]
    to: Target,
    /// Where to write: a new file, a new folder for Parquet, or a collector's address for OTLP; - is stdout [default:
    /// the first PLACE, or the session's name with the format's extension]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where to write, unless --output says so; then folders of sessions [default: the newest session in ada_traces]
    #[arg(value_name = "PLACE|SESSION")]
    words: Vec<PathBuf>,
    /// Only this table (for Parquet and SQLite); may be given several times
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    #[command(flatten)]
    append: append::AppendArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    ask: AskArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Perfetto's protobuf, for ui.perfetto.dev
    Perfetto,
    /// Chrome's trace events in JSON
    Chrome,
    /// A processed profile for profiler.firefox.com
    Firefox,
    /// A profile for speedscope.app
    Speedscope,
    /// Heph trace packets
    Heph,
    /// OpenTelemetry spans, to a file or a collector's address
    Otlp,
    /// Folded stacks, for flame graph scripts
    Folded,
    /// A pprof profile, for `go tool pprof` and other readers of that format
    Pprof,
    /// Parquet files, in a folder for each table
    Parquet,
    /// One SQLite file
    Sqlite,
}

/// Whether a folder has processes or sessions.
fn is_session(path: &Path) -> bool {
    let entries = || std::fs::read_dir(path).into_iter().flatten().flatten();
    entries().any(|entry| {
        let name = entry.file_name();
        ["pid_", "session_"].iter().any(|begin| name.to_string_lossy().starts_with(begin))
    })
}

impl Target {
    /// How the names of such files usually end.
    fn ending(self) -> &'static str {
        match self {
            Self::Perfetto => ".pftrace",
            Self::Chrome => ".trace.json",
            Self::Firefox => ".firefox.json",
            Self::Speedscope => ".speedscope.json",
            Self::Heph => ".heph",
            Self::Otlp => ".otlp",
            Self::Folded => ".folded",
            Self::Pprof => ".pb",
            Self::Parquet => ".parquet",
            Self::Sqlite => ".db",
        }
    }

    fn timeline(self) -> Option<Format> {
        Some(match self {
            Self::Perfetto => Format::Perfetto,
            Self::Chrome => Format::Chrome,
            Self::Firefox => Format::Firefox,
            Self::Speedscope => Format::Speedscope,
            Self::Heph => Format::Heph,
            Self::Otlp => Format::Otlp,
            Self::Folded => Format::Folded,
            Self::Pprof => Format::Pprof,
            Self::Parquet | Self::Sqlite => return None,
        })
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let default;
    let (output, sessions) = match (&args.output, &args.words[..]) {
        (Some(output), sessions) => (output, sessions),
        // A word that is a session is no place to write to.
        (None, [output, sessions @ ..]) if !is_session(output) => (output, sessions),
        (None, sessions) => {
            let session = find_session(sessions.first().map(PathBuf::as_path))?;
            let name = session.file_name().unwrap_or_default().to_string_lossy().into_owned();
            default = PathBuf::from(format!("{name}{}", args.to.ending()));
            (&default, sessions)
        }
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    flag::register(SIGINT, interrupted.clone()).context("cannot catch Ctrl-C")?;
    if args.append.is_used() && args.to != Target::Parquet {
        return Err(anyhow::anyhow!("--append and what goes with it are for parquet")).mistyped();
    }
    match args.to.timeline() {
        Some(format) => {
            if !args.table.is_empty() {
                return Err(anyhow::anyhow!("--table is for parquet and sqlite")).mistyped();
            }
            let session = match sessions {
                [] => None,
                [one] => Some(one.as_path()),
                _ => bail!("a timeline has one session; export each to a file of its own"),
            };
            timeline::run(format, output, session, args, &interrupted)
        }
        None if args.filter.is_used() => {
            let words = "conditions on spans are for timelines; ask `ada query` for parts of tables";
            Err(anyhow::anyhow!(words)).mistyped()
        }
        None if args.append.is_used() => append::run(output, sessions, args, &interrupted),
        None => tables::run(args.to == Target::Parquet, output, sessions, args, interrupted),
    }
}
