//! What can go wrong with files; odd events are never an error.

use std::io;
use std::path::PathBuf;

/// Why derived tables cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpanError {
    /// A file could not be read or written.
    #[error("{}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The tables contradict themselves.
    #[error("{}: the derived tables are damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

impl SpanError {
    /// Gives an I/O error its file.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
