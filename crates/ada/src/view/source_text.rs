//! The source around a function's line.
//!
//! The page names a function, never a file: only files are read that the debug information of a recorded module names,
//! which is known by its build-id. A session may come from anybody, so the file is only read if it is one, and only so
//! much of it.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use ada_event::FunctionId;
use ada_format::private::open_regular;
use serde_json::{Value, json};

use crate::analysis::OpenedSession;

/// Lines before and after the function's first.
const BEFORE: usize = 6;
const AFTER: usize = 40;
/// Bytes of a file that are read, and letters of a line that are shown.
const MOST_BYTES: u64 = 4 << 20;
const MOST_LETTERS: usize = 400;

/// File and line of a function with the text there, or why there is none; nothing where no debug information says where
/// it is.
pub(super) fn of(opened: &OpenedSession, process: usize, function: FunctionId) -> Option<Value> {
    let place = opened.source(process, function)?;
    let mut answer = json!({ "file": place.file, "line": place.line });
    let path = Path::new(&place.file);
    // A path that is not absolute was the compiler's, whose folder nobody knows here.
    let text = if path.is_absolute() { read(path) } else { None };
    let Some((first, lines)) = text.as_deref().and_then(|text| around(text, place.line as usize)) else {
        answer["missing"] = "The file is not here, or has no such line.".into();
        return Some(answer);
    };
    answer["first"] = first.into();
    answer["lines"] = lines.into();
    let code = opened.processes()[process].names.code(function);
    let changed = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    let is_newer = changed(path).zip(code.and_then(|code| changed(Path::new(code.path))));
    if is_newer.is_none_or(|(source, program)| source > program) {
        answer["warning"] = "The file may be another one than was compiled: it is newer than the program.".into();
    }
    Some(answer)
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    open_regular(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines around one, and the number of the first.
fn around(text: &str, line: usize) -> Option<(usize, Vec<String>)> {
    let first = line.checked_sub(1)?.saturating_sub(BEFORE);
    let lines: Vec<String> = text
        .lines()
        .skip(first)
        .take(BEFORE + 1 + AFTER)
        .map(|line| line.chars().take(MOST_LETTERS).map(|it| if it.is_control() { ' ' } else { it }).collect())
        .collect();
    (first + lines.len() >= line).then_some((first + 1, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_around_one_are_shown() {
        let text: String = (1..=100).map(|number| format!("line {number}\n")).collect();
        let (first, lines) = around(&text, 20).unwrap();
        assert_eq!((first, lines.len(), lines[6].as_str()), (14, 47, "line 20"));
        let (first, lines) = around(&text, 1).unwrap();
        assert_eq!((first, lines[0].as_str()), (1, "line 1"));
        assert_eq!(around(&text, 100).unwrap().1.len(), 7);
        assert_eq!((around(&text, 0), around(&text, 101)), (None, None));
        assert_eq!(around(&"x".repeat(1000), 1).unwrap().1[0].len(), MOST_LETTERS);
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), None);
        assert_eq!(read(Path::new("/dev/zero")), None);
        assert_eq!(read(&folder.path().join("none")), None);
    }
}
