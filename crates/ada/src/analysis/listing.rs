//! Lists as tables for people, JSON for programs, and CSV for spreadsheets.

use std::io::{self, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use serde_json::Value;

use crate::exit::Blame;

/// For whom a list is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people
    Table,
    /// One JSON object
    Json,
    /// Comma-separated values with a line of names
    Csv,
}

/// Standard output, on which a command can print again what it has printed so far: that goes there once.
pub(crate) struct Out {
    to: BufWriter<StdoutLock<'static>>,
    /// How many bytes the command has printed, …
    printed: u64,
    /// … and how many are there already.
    there: u64,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let again = self.there.saturating_sub(self.printed).min(bytes.len() as u64) as usize;
        self.to.write_all(&bytes[again..])?;
        self.printed += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Out {
    pub(crate) fn new() -> Self {
        Self { to: BufWriter::with_capacity(1 << 16, io::stdout().lock()), printed: 0, there: 0 }
    }

    /// The command begins anew, and prints the same.
    pub(crate) fn begin_again(&mut self) {
        self.there = self.there.max(self.printed);
        self.printed = 0;
    }

    /// Prints, with errors laid at the output's door.
    pub(crate) fn print(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        write(self).output_failed(|| "cannot write to stdout".into())
    }

    pub(crate) fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.print(|to| writeln!(to, "{text}"))
    }

    pub(crate) fn json(&mut self, value: &Value) -> anyhow::Result<()> {
        self.print(|to| {
            serde_json::to_writer_pretty(&mut *to, value)?;
            writeln!(to)
        })
    }

    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.to.flush().output_failed(|| "cannot write to stdout".into())
    }
}

/// Rows of a table.
pub(crate) struct Listing {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

impl Listing {
    /// Columns with their titles; those that begin with `>` are for numbers.
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        let columns = titles.iter().map(|title| match title.strip_prefix('>') {
            Some(title) => (title, Align::Right),
            None => (*title, Align::Left),
        });
        Self { columns: columns.collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Prints the table. The last column may be as wide as it likes.
    pub(crate) fn print(&self, out: &mut Out) -> anyhow::Result<()> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(title, _)| title.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let titles: Vec<String> = self.columns.iter().map(|(title, _)| (*title).to_owned()).collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let mut line = String::new();
            for (at, ((cell, width), (_, align))) in row.iter().zip(&widths).zip(&self.columns).enumerate() {
                let is_last = at + 1 == self.columns.len();
                match align {
                    Align::Right => line.push_str(&format!("{cell:>width$}")),
                    Align::Left if is_last => line.push_str(cell),
                    Align::Left => line.push_str(&format!("{cell:<width$}")),
                }
                if !is_last {
                    line.push_str("  ");
                }
            }
            out.line(line.trim_end())?;
        }
        Ok(())
    }
}

/// Prints the named fields of objects as CSV. Lists and objects are printed as JSON.
pub(crate) fn csv(out: &mut Out, fields: &[&str], rows: &[Value]) -> anyhow::Result<()> {
    csv_titles(out, fields)?;
    rows.iter().try_for_each(|row| csv_row(out, fields, row))
}

pub(crate) fn csv_titles(out: &mut Out, fields: &[&str]) -> anyhow::Result<()> {
    out.line(&fields.join(","))
}

pub(crate) fn csv_row(out: &mut Out, fields: &[&str], row: &Value) -> anyhow::Result<()> {
    let cells: Vec<String> = fields.iter().map(|field| csv_cell(row.get(field).unwrap_or(&Value::Null))).collect();
    out.line(&cells.join(","))
}

fn csv_cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_only_where_they_must_be() {
        assert_eq!(csv_cell(&Value::from("plain")), "plain");
        assert_eq!(csv_cell(&Value::from("std::map<a, b>")), "\"std::map<a, b>\"");
        assert_eq!(csv_cell(&Value::from("say \"hi\"")), "\"say \"\"hi\"\"\"");
        assert_eq!(csv_cell(&serde_json::json!([1, 2])), "\"[1,2]\"");
        assert_eq!(csv_cell(&Value::Null), "");
    }
}
