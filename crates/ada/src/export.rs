//! `ada export --to parquet DIR` and `--to sqlite FILE`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ada_query::export::{Exported, to_parquet, to_sqlite};
use ada_query::{Cancel, Engine, documented, nearest};
use anyhow::{Context, bail};
use clap::ValueEnum;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::analysis::{AskArgs, Listing, Out, open_trace, thousands};
use crate::exit::{Blame, Outcome, say};

const EXAMPLES: &str = "\
Examples:
  ada export --to parquet tables/                         every table of the newest session
  ada export --to parquet tables/ SESSION1 SESSION2       several sessions, one folder each below each table
  ada export --to sqlite trace.db --table spans --table functions

DuckDB:  SELECT name, sum(self_ns) FROM 'tables/spans/**/*.parquet' GROUP BY name
pandas:  pandas.read_parquet('tables/spans')
docs/export.md has worked examples for DuckDB, pandas, Polars and Spark.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to write
    #[arg(long, value_enum)]
    to: Target,
    /// A new folder for Parquet files, or a new file for SQLite
    #[arg(value_name = "PLACE")]
    place: PathBuf,
    /// Sessions' folders [default: the newest session in ada_traces]
    #[arg(value_name = "SESSION")]
    sessions: Vec<PathBuf>,
    /// Only this table; may be given several times
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    #[command(flatten)]
    ask: AskArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// A folder of Parquet files for each table
    Parquet,
    /// One SQLite file
    Sqlite,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    for name in &args.table {
        let known: Vec<&str> = documented().iter().filter(|it| it.parameters.is_empty()).map(|it| it.name).collect();
        if !known.contains(&name.as_str()) {
            let hint = nearest(name, known).map_or_else(String::new, |it| format!("; did you mean {it}?"));
            return Err(anyhow::anyhow!("there is no table {name}{hint}")).mistyped();
        }
    }
    let is_taken = match args.to {
        Target::Parquet => std::fs::read_dir(&args.place).is_ok_and(|mut entries| entries.next().is_some()),
        Target::Sqlite => args.place.exists(),
    };
    if is_taken {
        bail!("{} is there already; name a new one", args.place.display());
    }
    let (trace, outcome) = open_trace(&args.sessions, &args.ask)?;
    let flag = Arc::new(AtomicBool::new(false));
    flag::register(SIGINT, flag.clone()).context("cannot catch Ctrl-C")?;
    let engine = Engine::new(Arc::new(trace), Cancel::watching(flag))?;
    let is_terminal = std::io::stderr().is_terminal();
    let mut rows_so_far = 0;
    let progress = |table: &str, rows: u64| {
        rows_so_far += rows;
        if is_terminal {
            say(format_args!("\r{table}: {} rows\x1b[K", thousands(rows_so_far)));
        }
    };
    let written = match args.to {
        Target::Parquet => to_parquet(&engine, &args.place, &args.table, progress),
        Target::Sqlite => to_sqlite(&engine, &args.place, &args.table, progress),
    };
    if is_terminal {
        say(format_args!("\r\x1b[K"));
    }
    let written = written.output_failed(|| format!("cannot write {}", args.place.display()))?;
    print(&written)?;
    Ok(outcome)
}

fn print(written: &[Exported]) -> anyhow::Result<()> {
    let mut out = Out::new();
    let mut listing = Listing::new(&["table", ">rows", ">files"]);
    for it in written {
        listing.row(vec![it.table.to_owned(), thousands(it.rows), it.files.to_string()]);
    }
    listing.print(&mut out)?;
    out.finish()
}
