//! `ada query [SESSION…] [SQL]`.

mod answer;
mod schema;
mod shell;

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ada_query::{Cancel, Engine, Limits, ParquetFolder};
use anyhow::{Context, bail};
use clap::ValueEnum;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::analysis::{AskArgs, open_trace};
use crate::exit::Outcome;
use crate::quantity::{parse_bytes, parse_duration};

const EXAMPLES: &str = "\
Examples:
  ada query \"SELECT name, calls, duration(self_ns) FROM functions ORDER BY self_ns DESC LIMIT 20\"
  ada query \"SELECT * FROM spans WHERE name = 'parse' AND duration_ns > 1000000\" --format json
  ada query \"SELECT * FROM stats('name, status', 'thread_id = 4711')\"
  ada query \"SELECT step, name, duration(own_ns) FROM critical_path('frame:4711:0')\"
  ada query SESSION1 SESSION2 \"SELECT session, sum(self_ns) FROM functions GROUP BY session\"
  ada query --schema                        tables, columns and functions
  ada query                                 a shell with history and completion
  ada query \"SELECT * FROM spans\" --format parquet --output spans.parquet

The dialect is SQLite's, read-only. docs/query.md describes the tables.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folders of sessions, or folders that `ada export --to parquet` wrote; then a query [default: the newest session
    /// in ada_traces; an interactive shell]
    #[arg(value_name = "SESSION|SQL")]
    words: Vec<String>,
    #[command(flatten)]
    ask: AskArgs,
    /// Describe the tables and functions
    #[arg(long)]
    schema: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write to a new file instead of stdout
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print at most N rows, and say if there are more
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,
    /// Give up after DURATION, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    max_time: Option<Duration>,
    /// Memory limit for sorting and grouping, such as 512M
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_bytes)]
    max_memory: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// A JSON array of objects
    Json,
    /// One JSON object per line
    Ndjson,
    /// Comma-separated values with a header line
    Csv,
    /// A Parquet file; needs --output
    Parquet,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    if args.schema {
        return schema::print();
    }
    let (sessions, sql) = apart(&args.words)?;
    if args.format == Format::Parquet && args.output.is_none() {
        bail!("--format parquet writes a file; name it with --output");
    }
    let flag = Arc::new(AtomicBool::new(false));
    let exported: Vec<ParquetFolder> = sessions.iter().filter_map(|path| ParquetFolder::find(path)).collect();
    let mut asked = None;
    let (engine, outcome) = if exported.is_empty() {
        let (trace, outcome) = open_trace(&sessions, &args.ask)?;
        let trace = asked.insert(Arc::new(trace)).clone();
        (Engine::new(trace, Cancel::watching(flag.clone()))?, outcome)
    } else if exported.len() == sessions.len() {
        (Engine::over_parquet(&exported, Cancel::watching(flag.clone()))?, Outcome::Clean)
    } else {
        bail!("sessions and exported folders cannot be queried together");
    };
    // Only now: a session that takes long to be analysed is ended by Ctrl-C as usual.
    flag::register(SIGINT, flag).context("cannot catch Ctrl-C")?;
    let limits = Limits { rows: args.max_rows, time: args.max_time, memory: args.max_memory };
    let how = answer::How { format: args.format, output: args.output.as_deref(), limits };
    let sql = match sql {
        Some(sql) => sql,
        None if io::stdin().is_terminal() => {
            shell::run(&engine, how)?;
            return Ok(outcome);
        }
        None => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).context("cannot read a query from stdin")?;
            text
        }
    };
    let answered = answer::write(&engine, &sql, &how);
    // SQLite passes on an error's words alone.
    if answered.as_ref().is_err_and(|error| error.to_string().contains("damaged")) {
        asked.iter().flat_map(|trace| trace.processes()).try_for_each(|process| process.tables.check())?;
    }
    answered?;
    Ok(outcome)
}

/// Words that name folders are sessions; the other one is the query.
fn apart(words: &[String]) -> anyhow::Result<(Vec<PathBuf>, Option<String>)> {
    let (mut sessions, mut sql) = (Vec::new(), None);
    for word in words {
        let path = PathBuf::from(word);
        if path.is_dir() {
            sessions.push(path);
        } else if !word.contains(char::is_whitespace) && !word.eq_ignore_ascii_case("describe") {
            bail!("{word}: no such folder; name sessions' folders, and put the query in quotes");
        } else if sql.replace(word.clone()).is_some() {
            bail!("one query at a time: put all of it in one pair of quotes");
        }
    }
    Ok((sessions, sql))
}
