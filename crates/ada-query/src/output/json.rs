//! JSON: a list of objects, or an object a line.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::Value;

use super::cell::to_json;
use crate::error::QueryError;
use crate::rows::Rows;

/// A list of objects.
pub fn write_json(rows: &mut Rows<'_>, out: &mut dyn Write) -> Result<(), QueryError> {
    let mut separator = "[\n";
    each(rows, |row| {
        write!(out, "{separator}{row}")?;
        separator = ",\n";
        Ok(())
    })?;
    let end = if separator == "[\n" { "[]" } else { "\n]" };
    writeln!(out, "{end}").map_err(QueryError::output("the answer"))
}

/// An object a line.
pub fn write_ndjson(rows: &mut Rows<'_>, out: &mut dyn Write) -> Result<(), QueryError> {
    each(rows, |row| writeln!(out, "{row}"))
}

/// Gives each row as an object, with its fields in the order of the columns: a `Map` would sort them.
fn each(rows: &mut Rows<'_>, mut write: impl FnMut(&str) -> io::Result<()>) -> Result<(), QueryError> {
    let names: Vec<String> = unique(rows.columns()).into_iter().map(|name| Value::String(name).to_string()).collect();
    let mut row = String::new();
    loop {
        row.clear();
        let has_row = rows.next(|column, value| {
            let separator = if column == 0 { '{' } else { ',' };
            // Writing to a text does not fail.
            let _ = write!(row, "{separator}{}:{}", names[column], to_json(value));
        })?;
        if !has_row {
            return Ok(());
        }
        row.push('}');
        write(&row).map_err(QueryError::output("the answer"))?;
    }
}

/// Two columns may have one name, and an object's fields may not.
pub(super) fn unique(names: &[String]) -> Vec<String> {
    let mut given: Vec<String> = Vec::new();
    for name in names {
        let numbered = (2..).map(|number| format!("{name}:{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|it| !given.contains(it));
        given.extend(free);
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered() {
        let names = ["a", "b", "a", "a"].map(str::to_owned);
        assert_eq!(unique(&names), ["a", "b", "a:2", "a:3"]);
    }
}
