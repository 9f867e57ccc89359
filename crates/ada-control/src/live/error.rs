//! Why a running trace could not be talked to.

use std::io;
use std::path::PathBuf;

use ada_event::ProcessId;

/// What went wrong, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// No trace of this process is running.
    #[error("process {pid} is not being traced; `ada ps` lists what is")]
    NotTraced {
        /// The process.
        pid: ProcessId,
    },
    /// There is no such process at all.
    #[error("there is no process {pid}; `ada ps` lists what is being traced")]
    NoProcess {
        /// The process.
        pid: ProcessId,
    },
    /// Another user traces it.
    #[error("process {pid} belongs to another user: ask as that user, or as whoever traces it")]
    NotAllowed {
        /// The process.
        pid: ProcessId,
    },
    /// The folder of sockets is not ours.
    #[error("{} belongs to somebody else, or others may write to it; set XDG_RUNTIME_DIR to a folder of your own", path.display())]
    ForeignFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder or a socket in it cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    Socket {
        /// Which.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The trace ended, or answered something that makes no sense.
    #[error("the trace of process {pid} gave no answer: {reason}")]
    NoAnswer {
        /// The process.
        pid: ProcessId,
        /// The answer.
        reason: String,
    },
    /// The trace has refused.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
}
