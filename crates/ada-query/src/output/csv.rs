//! Comma-separated values.

use std::io::{self, Write};

use super::cell::to_text;
use crate::error::QueryError;
use crate::rows::Rows;

/// A line of names, and a line a row.
pub fn write_csv(rows: &mut Rows<'_>, out: &mut dyn Write) -> Result<(), QueryError> {
    let failed = |error: io::Error| QueryError::output("the answer")(error);
    let names: Vec<String> = rows.columns().iter().map(|name| quoted(name)).collect();
    let mut titles = Some(names.join(","));
    let mut line = String::new();
    loop {
        line.clear();
        let has_row = rows.next(|column, value| {
            if column > 0 {
                line.push(',');
            }
            line.push_str(&quoted(&to_text(value)));
        })?;
        // A query that fails at once prints nothing.
        if let Some(titles) = titles.take() {
            writeln!(out, "{titles}").map_err(failed)?;
        }
        if !has_row {
            return Ok(());
        }
        writeln!(out, "{line}").map_err(failed)?;
    }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
