//! A place in a program's source.

use std::fmt;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file, as the compiler knew it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
