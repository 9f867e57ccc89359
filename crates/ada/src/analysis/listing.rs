//! Lists as tables for people, JSON for programs, and CSV for spreadsheets.

use std::io::{self, BufWriter, Write};
use std::process::Child;

use clap::ValueEnum;
use serde_json::Value;

use super::short_name::short_name;
use super::terminal::{Ink, Terminal, pager};
use crate::exit::Blame;

/// For whom a list is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// A table for people
    Table,
    /// One JSON object
    Json,
    /// Comma-separated values with a header line
    Csv,
}

/// Standard output, on which a command can print again what it has printed so far: that goes there once.
pub(crate) struct Out {
    /// None once it is closed.
    to: Option<BufWriter<Box<dyn Write>>>,
    pager: Option<Child>,
    terminal: Terminal,
    /// How many bytes the command has printed, …
    printed: u64,
    /// … and how many are there already.
    there: u64,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let again = self.there.saturating_sub(self.printed).min(bytes.len() as u64) as usize;
        if let Some(to) = &mut self.to {
            to.write_all(&bytes[again..])?;
        }
        self.printed += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        // The pager reads to the end of its input, and keeps the terminal until it is left.
        drop(self.to.take());
        if let Some(mut pager) = self.pager.take() {
            let _ = pager.wait();
        }
    }
}

impl Out {
    pub(crate) fn new() -> Self {
        Self::to(Box::new(io::stdout().lock()), None, Terminal::new(true))
    }

    /// For what people read: in the terminal's width unless it `is_wide`, and behind a pager where there is a terminal.
    pub(crate) fn for_people(format: ListFormat, is_wide: bool) -> Self {
        if format != ListFormat::Table {
            return Self::new();
        }
        let terminal = Terminal::new(is_wide);
        match pager() {
            Some((child, stdin)) => Self::to(Box::new(stdin), Some(child), terminal),
            None => Self::to(Box::new(io::stdout().lock()), None, terminal),
        }
    }

    fn to(to: Box<dyn Write>, pager: Option<Child>, terminal: Terminal) -> Self {
        Self { to: Some(BufWriter::with_capacity(1 << 16, to)), pager, terminal, printed: 0, there: 0 }
    }

    pub(crate) fn terminal(&self) -> Terminal {
        self.terminal
    }

    /// Prints a title.
    pub(crate) fn title(&mut self, text: &str) -> anyhow::Result<()> {
        let text = self.terminal.ink(Ink::Title, text);
        self.line(&text)
    }

    /// Says that names or values were cut to the width of lines, and how they are seen whole.
    pub(crate) fn cut_note(&mut self) -> anyhow::Result<()> {
        let text = self.terminal.ink(Ink::Faint, "names and values with … are cut to fit; --wide prints them in full");
        self.line(&text)
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
        self.flush().output_failed(|| "cannot write to stdout".into())
    }
}

/// Columns that a name keeps, however narrow the terminal is.
const SHORTEST_NAME: usize = 16;

/// Rows of a table.
pub(crate) struct Listing {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
    is_cut: bool,
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
        Self { columns: columns.collect(), rows: Vec::new(), is_cut: false }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// How many columns there are.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Leaves out a column, where there is little room.
    pub(crate) fn without(mut self, title: &str) -> Self {
        if let Some(at) = self.columns.iter().position(|(it, _)| *it == title.trim_start_matches('>')) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
        self
    }

    /// Shortens the names of a column until lines fit.
    pub(crate) fn shorten(self, column: usize, width: usize) -> Self {
        self.shorten_by(column, width, |_, name, room| short_name(name, room))
    }

    /// The same in another way: by the row's number, its text and the room that there is.
    pub(crate) fn shorten_by(
        mut self,
        column: usize,
        width: usize,
        short: impl Fn(usize, &str, usize) -> String,
    ) -> Self {
        let widths = self.widths();
        let used: usize = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if used > width {
            let room = widths[column].saturating_sub(used - width).max(SHORTEST_NAME);
            for (number, row) in self.rows.iter_mut().enumerate() {
                let shown = short(number, &row[column], room);
                self.is_cut |= shown != row[column];
                row[column] = shown;
            }
        }
        self
    }

    /// Whether something was shortened.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(title, _)| title.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }

    /// Leaves out columns in which nothing stands, where lines are too long.
    pub(crate) fn fit(mut self, width: usize) -> Self {
        for at in (0..self.columns.len()).rev() {
            let widths = self.widths();
            let used: usize = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
            if used > width && self.rows.iter().all(|row| row[at].is_empty()) {
                self.columns.remove(at);
                self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
            }
        }
        self
    }

    /// Prints the table. The last column may be as wide as it likes.
    pub(crate) fn print(&self, out: &mut Out) -> anyhow::Result<()> {
        let widths = self.widths();
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

    #[test]
    fn columns_without_anything_go_where_lines_are_too_long() {
        let table = || {
            let mut table = Listing::new(&["name", ">exit value", ">events"]);
            table.row(vec!["main".into(), String::new(), "12".into()]);
            table
        };
        assert_eq!(table().fit(20).columns.len(), 2);
        assert_eq!(table().fit(20).rows, [["main", "12"]]);
        assert_eq!(table().fit(80).columns.len(), 3);
    }
}
