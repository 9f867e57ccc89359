//! One query, and its answer to wherever it is to go.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ada_query::output::{write_csv, write_json, write_ndjson, write_parquet, write_table};
use ada_query::{Engine, Limits, QueryError, Rows};

use super::Format;
use crate::destination::Destination;
use crate::exit::{Blame, say};

/// How answers are written.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    pub(super) format: Format,
    pub(super) output: Option<&'a Path>,
    pub(super) limits: Limits,
}

pub(super) fn write(engine: &Engine, sql: &str, how: &How<'_>) -> anyhow::Result<()> {
    let destination = how.output.map(Destination::begin).transpose()?;
    let path = how.output.unwrap_or(Path::new("stdout"));
    let failed = |source: io::Error| QueryError::Output { path: path.to_owned(), source };
    let asked = engine.ask(sql, &how.limits, |rows| {
        match &destination {
            Some(destination) if how.format == Format::Parquet => {
                write_parquet(rows, destination.output().map_err(failed)?, path)?;
            }
            Some(destination) => {
                let mut file = BufWriter::new(destination.output().map_err(failed)?);
                text(rows, how.format, &mut file)?;
                file.flush().map_err(failed)?;
            }
            None => {
                let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
                text(rows, how.format, &mut out)?;
                out.flush().map_err(failed)?;
            }
        }
        Ok(rows.did_truncate().then(|| rows.given()))
    });
    let did_truncate = blamed(asked)?;
    if let Some(destination) = destination {
        blamed(destination.finish().map_err(failed))?;
    }
    if let Some(given) = did_truncate {
        say(format_args!("ada: there are more than {given} rows; a larger --max-rows prints more\n"));
    }
    Ok(())
}

/// Lays an error at the right door, for the exit code.
fn blamed<T>(end: Result<T, QueryError>) -> anyhow::Result<T> {
    match end {
        Ok(given) => Ok(given),
        Err(QueryError::Output { path, source }) => {
            Err(source).output_failed(|| format!("cannot write {}", path.display()))
        }
        Err(error @ (QueryError::Mistake(_) | QueryError::ReadOnly(_))) => Err(error).mistyped(),
        Err(error) => Err(error.into()),
    }
}

fn text(rows: &mut Rows<'_>, format: Format, out: &mut dyn Write) -> Result<(), QueryError> {
    match format {
        Format::Table | Format::Parquet => write_table(rows, out),
        Format::Json => write_json(rows, out),
        Format::Ndjson => write_ndjson(rows, out),
        Format::Csv => write_csv(rows, out),
    }
}
