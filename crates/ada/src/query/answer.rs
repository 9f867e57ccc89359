//! One query, and its answer to wherever it is to go.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ada_query::output::{write_csv, write_json, write_ndjson, write_parquet, write_table};
use ada_query::{Engine, Limits, QueryError, Rows};

use super::Format;
use crate::exit::say;

/// How answers are written.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    pub(super) format: Format,
    pub(super) output: Option<&'a Path>,
    pub(super) limits: Limits,
}

pub(super) fn write(engine: &Engine, sql: &str, how: &How<'_>) -> Result<(), QueryError> {
    let did_truncate = engine.ask(sql, &how.limits, |rows| {
        match (how.format, how.output) {
            (Format::Parquet, Some(path)) => write_parquet(rows, path)?,
            (_, Some(path)) => {
                let failed = |source: io::Error| QueryError::Output { path: path.to_owned(), source };
                let mut file = BufWriter::new(File::create(path).map_err(failed)?);
                text(rows, how.format, &mut file)?;
                file.flush().map_err(failed)?;
            }
            (_, None) => {
                let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
                text(rows, how.format, &mut out)?;
                out.flush().map_err(|source| QueryError::Output { path: "stdout".into(), source })?;
            }
        }
        Ok(rows.did_truncate().then(|| rows.given()))
    })?;
    if let Some(given) = did_truncate {
        say(format_args!("ada: there are more than {given} rows; --max-rows lets more through\n"));
    }
    Ok(())
}

fn text(rows: &mut Rows<'_>, format: Format, out: &mut dyn Write) -> Result<(), QueryError> {
    match format {
        Format::Table | Format::Parquet => write_table(rows, out),
        Format::Json => write_json(rows, out),
        Format::Ndjson => write_ndjson(rows, out),
        Format::Csv => write_csv(rows, out),
    }
}
