//! What can go wrong with a question.

use std::io;
use std::path::PathBuf;

use crate::mistake::Mistake;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The question is wrong.
    #[error("{0}")]
    Mistake(Mistake),
    /// The question would change something.
    #[error("traces are read-only: {0}")]
    ReadOnly(String),
    /// It failed while rows were read; [`crate::Engine::ask`] gives the reason instead.
    #[error("the query failed")]
    Failed,
    /// Somebody has cancelled it.
    #[error("cancelled")]
    Cancelled,
    /// It took longer than it may.
    #[error("the query took longer than it may; narrow it by time, thread or function, or give it more time")]
    TooLong,
    /// It needed more memory than it may.
    #[error("the query needs more memory than it may use; narrow it, aggregate with stats(…), or give it more")]
    TooLarge,
    /// The derived tables cannot be read.
    #[error(transparent)]
    Tables(#[from] ada_span::SpanError),
    /// Anything else that SQLite says.
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    /// An answer could not be written.
    #[error("cannot write {}", path.display())]
    Output {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A Parquet file could not be written or read.
    #[error("{}: {reason}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the library says.
        reason: String,
    },
}

impl QueryError {
    pub(crate) fn output(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Output { path, source }
    }
}

impl From<QueryError> for rusqlite::Error {
    fn from(error: QueryError) -> Self {
        Self::ModuleError(error.to_string())
    }
}
