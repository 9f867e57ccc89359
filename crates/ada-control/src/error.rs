//! What can go wrong between ada and a program.

use std::io;
use std::path::PathBuf;

use ada_event::ProcessId;
use ada_format::atf::WriteError;
use ada_process::End;
use rustix::io::Errno;

/// Why a program could not be traced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The agent's own bytes cannot be read: an error in this build.
    #[error("the built-in agent cannot be read: {0}")]
    Agent(object::Error),
    /// The agent's own bytes lack something: an error in this build.
    #[error("the built-in agent has no {0}")]
    AgentLayout(&'static str),
    /// A filter would kill the program.
    #[error("a seccomp filter forbids it what ada needs to hook it")]
    Forbidden,
    /// The program is not there, or may not be run.
    #[error("cannot run {program}")]
    Spawn {
        /// What was to be run.
        program: String,
        /// Why it cannot.
        source: io::Error,
    },
    /// The kernel lets nobody, or not this user, trace a program.
    #[error("cannot trace {program}: {reason}")]
    NotAllowed {
        /// What was to be run.
        program: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The program's file is of a kind that cannot be traced.
    #[error("cannot trace {path}: {reason}")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// The process cannot be attached to.
    #[error("cannot attach to process {pid}: {reason}")]
    NotAttached {
        /// The process.
        pid: ProcessId,
        /// Why, and what to do.
        reason: String,
    },
    /// The hooks of an ada that is gone cannot be removed from a process.
    #[error("cannot remove the hooks of process {pid}: {reason}")]
    NotDetached {
        /// The process.
        pid: ProcessId,
        /// Why, and what to do.
        reason: String,
    },
    /// The program ended before it could be hooked: its loader has reported a missing library, for instance.
    #[error("the program ended before it could be hooked ({})", .0.words())]
    EndedEarly(End),
    /// The program did something else than it does by itself.
    #[error("the program could not be brought to where it is hooked: it {0}")]
    Strayed(String),
    /// Hooking took longer than it may.
    #[error(
        "hooking was not done after {allowed:.1?}, so the program was ended before it ran; --startup-timeout allows more"
    )]
    StartUpTimeout {
        /// How long it may take.
        allowed: std::time::Duration,
    },
    /// A system call that tracing needs is refused.
    #[error("{doing} is refused on this machine")]
    System {
        /// What was being done.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A system call made in the target failed.
    #[error("{doing} in the traced program failed")]
    Injected {
        /// What was being done.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Generated code does not assemble: an error in this build.
    #[error(transparent)]
    Arena(#[from] ada_patch::ArenaError),
    /// There is nothing to make a session of.
    #[error(
        "{path} has no segments of a ring that a killed ada recorded; give a session's folder, or the id of a traced process"
    )]
    NoSegments {
        /// What was looked into.
        path: PathBuf,
    },
    /// Recording ends before the disk is full.
    #[error(
        "the disk of {path} has less than {kept_mib} MiB left, and no more was written to it; choose another --output, or make room"
    )]
    DiskShort {
        /// The session's folder.
        path: PathBuf,
        /// What is left for others, and for the end of the session.
        kept_mib: u64,
    },
    /// The session cannot be written.
    #[error("cannot write the session: {0}")]
    Session(String),
}

/// Names what was being done when the system refused.
pub(crate) trait Doing<T> {
    fn doing(self, what: &'static str) -> Result<T, ControlError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: &'static str) -> Result<T, ControlError> {
        self.map_err(|source| ControlError::System { doing: what, source })
    }
}

impl From<WriteError> for ControlError {
    fn from(error: WriteError) -> Self {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        let system = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
        let errno = system.and_then(Errno::from_io_error);
        let advice = match errno {
            Some(Errno::MFILE | Errno::NFILE) => {
                "each traced thread takes open files of ada: raise their limit (ulimit -Hn)"
            }
            _ => "choose another --output, or make room",
        };
        Self::Session(format!("{error}{cause}; {advice}"))
    }
}
