//! `--to parquet DIR` and `--to sqlite FILE`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ada_query::export::{Exported, to_parquet, to_sqlite};
use ada_query::{Cancel, Engine, documented, nearest};
use anyhow::bail;

use super::Args;
use crate::analysis::{Listing, Out, open_trace, thousands};
use crate::exit::{Blame, Outcome, say};

pub(super) fn run(
    is_parquet: bool,
    output: &Path,
    sessions: &[PathBuf],
    args: &Args,
    interrupted: Arc<AtomicBool>,
) -> anyhow::Result<Outcome> {
    check_names(&args.table)?;
    let is_taken = match is_parquet {
        true => std::fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some()),
        false => output.exists(),
    };
    if is_taken {
        bail!("{} is there already; name a new one", output.display());
    }
    let (trace, outcome) = open_trace(sessions, &args.ask)?;
    let engine = Engine::new(Arc::new(trace), Cancel::watching(interrupted))?;
    let is_terminal = std::io::stderr().is_terminal();
    let mut rows_so_far = 0;
    let progress = |table: &str, rows: u64| {
        rows_so_far += rows;
        if is_terminal {
            say(format_args!("\r{table}: {} rows\x1b[K", thousands(rows_so_far)));
        }
    };
    let written = match is_parquet {
        true => to_parquet(&engine, output, &args.table, progress),
        false => to_sqlite(&engine, output, &args.table, progress),
    };
    if is_terminal {
        say(format_args!("\r\x1b[K"));
    }
    let written = written.output_failed(|| format!("cannot write {}", output.display()))?;
    print(&written)?;
    Ok(outcome)
}

/// Refuses names of tables that there are not.
pub(super) fn check_names(names: &[String]) -> anyhow::Result<()> {
    for name in names {
        let known: Vec<&str> = documented().iter().filter(|it| it.parameters.is_empty()).map(|it| it.name).collect();
        if !known.contains(&name.as_str()) {
            let hint = nearest(name, known).map_or_else(String::new, |it| format!("; did you mean {it}?"));
            return Err(anyhow::anyhow!("there is no table {name}{hint}")).mistyped();
        }
    }
    Ok(())
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
