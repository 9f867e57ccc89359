//! A table for people.

use std::io::{self, Write};

use rusqlite::types::ValueRef;

use super::cell::to_text;
use crate::error::QueryError;
use crate::rows::Rows;

/// Rows that decide how wide columns are; later ones make do.
const MEASURED: usize = 1000;

/// Columns side by side, numbers to the right.
pub fn write_table(rows: &mut Rows<'_>, out: &mut dyn Write) -> Result<(), QueryError> {
    let failed = |error: io::Error| QueryError::output("the answer")(error);
    let titles = rows.columns().to_vec();
    let mut are_numbers = vec![true; titles.len()];
    let mut held: Vec<Vec<String>> = Vec::new();
    let mut has_more = true;
    while has_more && held.len() < MEASURED {
        let mut row = Vec::with_capacity(titles.len());
        has_more = rows.next(|column, value| {
            are_numbers[column] &= matches!(value, ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Null);
            row.push(on_one_line(&to_text(value)));
        })?;
        if has_more {
            held.push(row);
        }
    }
    let width = |column: usize| {
        let cells = held.iter().map(|row| &row[column]).chain([&titles[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = widths[column];
            if column > 0 {
                line.push_str("  ");
            }
            if are_numbers[column] {
                line.push_str(&format!("{cell:>width$}"));
            } else {
                line.push_str(&format!("{cell:<width$}"));
            }
        }
        line.truncate(line.trim_end().len());
        line
    };
    writeln!(out, "{}", line(&titles)).map_err(failed)?;
    for row in &held {
        writeln!(out, "{}", line(row)).map_err(failed)?;
    }
    let mut row = Vec::new();
    while has_more && rows.next(|_, value| row.push(on_one_line(&to_text(value))))? {
        writeln!(out, "{}", line(&row)).map_err(failed)?;
        row.clear();
    }
    Ok(())
}

/// A value can have any character, and a line must stay one.
fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, "?")
}
