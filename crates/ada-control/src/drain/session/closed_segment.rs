//! A segment that nobody writes to any more.

use std::path::{Path, PathBuf};

use ada_event::ProcessId;
use ada_format::atf::{Session, Store, ThreadTrace};

use crate::error::ControlError;

pub(super) fn open(path: &Path) -> Result<Session, ControlError> {
    Session::open(path).map_err(|error| ControlError::Session(error.to_string()))
}

/// Process, thread, and the process's index in the session.
pub(super) fn threads_of(session: &Session) -> Vec<(ProcessId, &ThreadTrace, usize)> {
    let processes = session.processes().iter().enumerate();
    processes
        .flat_map(|(number, process)| {
            process.threads.iter().map(move |thread| (process.pid.unwrap_or_default(), thread, number))
        })
        .collect()
}

/// The form that segments are in, which what is made of them has too.
pub(crate) fn store_of(segments: &[PathBuf]) -> Store {
    let stores = segments.iter().find_map(|path| open(path).ok()?.threads().next().map(ThreadTrace::store));
    stores.unwrap_or_default()
}
