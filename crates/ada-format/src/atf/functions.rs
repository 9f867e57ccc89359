//! `functions_<module>.tsv`: what a process's images consist of, and what was done with each function.
//!
//! A line a function, in the order of their symbol indexes: offset in the image (hex), size, verdict, reason, raw name, and where
//! values of its calls were captured, what these are.
//! Tabs, line ends and backslashes in names are escaped; an unnamed function has an empty name. The first line says
//! what the file is. With it a session names its functions on any machine.

use std::io::{self, Write};

use ada_event::{ImageOffset, ModuleId};

use super::AtfError;

/// The file's first line.
const TITLE: &str = "# ada functions 1";

/// One function of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionRow {
    /// Where it starts, before the loader's bias.
    pub offset: ImageOffset,
    /// Its size in bytes; 0 where it is not known.
    pub size: u64,
    /// `hooked`, `entry_only` or `skipped`.
    pub verdict: String,
    /// Why it is not hooked fully; empty where it is.
    pub reason: String,
    /// Its name as the linker saw it; empty where nobody knows.
    pub name: String,
    /// What is captured of its calls, as `ada-value` writes it; empty for nothing.
    pub values: String,
}

/// The name of a module's file.
pub fn functions_file(module_id: ModuleId) -> String {
    format!("functions_{module_id}.tsv")
}

/// Writes a list.
pub fn write_functions(mut out: impl Write, rows: impl IntoIterator<Item = FunctionRow>) -> io::Result<()> {
    writeln!(out, "{TITLE}")?;
    for row in rows {
        let FunctionRow { offset, size, verdict, reason, name, values } = row;
        write!(out, "{offset:#x}\t{size}\t{verdict}\t{reason}\t{}", escape(&name))?;
        if !values.is_empty() {
            write!(out, "\t{}", escape(&values))?;
        }
        writeln!(out)?;
    }
    out.flush()
}

/// Reads a list.
pub fn read_functions(text: &str) -> Result<Vec<FunctionRow>, AtfError> {
    let mut offset = 0;
    let mut rows = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches('\n');
        if number == 0 {
            if content != TITLE {
                return Err(AtfError::FunctionList {
                    offset: 0,
                    reason: "the first line is not that of a function list",
                });
            }
        } else {
            rows.push(parse_row(content).map_err(|reason| AtfError::FunctionList { offset, reason })?);
        }
        offset += line.len() as u64;
    }
    Ok(rows)
}

fn parse_row(line: &str) -> Result<FunctionRow, &'static str> {
    let mut fields = line.split('\t');
    let mut next = || fields.next().ok_or("a line has fewer than five fields");
    let offset = next()?;
    let offset = offset.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()).map(ImageOffset);
    let size = next()?.parse().map_err(|_| "a size is not a number")?;
    let (verdict, reason, name) = (next()?.to_owned(), next()?.to_owned(), unescape(next()?));
    let values = next().map(unescape).unwrap_or_default();
    Ok(FunctionRow { offset: offset.ok_or("an offset is not a hex number")?, size, verdict, reason, name, values })
}

fn escape(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        name.push(match character {
            '\\' => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> FunctionRow {
        FunctionRow {
            offset: ImageOffset(0x1230),
            size: 7,
            verdict: "skipped".into(),
            reason: "too_short".into(),
            name: name.into(),
            values: String::new(),
        }
    }

    #[test]
    fn a_list_reads_back_whatever_the_names() {
        let captured = FunctionRow { values: "f(x: i32) -> i32".into(), ..row("f") };
        let rows = vec![row("main"), row(""), captured, row("a\tb\\c\nd\\")];
        let mut bytes = Vec::new();
        write_functions(&mut bytes, rows.clone()).unwrap();
        assert_eq!(read_functions(std::str::from_utf8(&bytes).unwrap()).unwrap(), rows);
    }

    #[test]
    fn a_broken_line_is_named_by_its_offset() {
        let good = format!("{TITLE}\n0x1\t2\thooked\t\tmain\n");
        let error = read_functions(&format!("{good}0x1\tmany\thooked\t\tf\n")).unwrap_err();
        assert_eq!(error.to_string(), format!("byte {}: a size is not a number", good.len()));
    }
}
