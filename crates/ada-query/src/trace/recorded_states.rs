//! The states of a process's threads, in a session's files.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ada_format::atf::read_schedule;
use ada_span::state::ProcessStates;

/// The states of a process's threads, read when they are asked for.
pub(super) struct RecordedStates {
    folder: PathBuf,
    states: OnceLock<ProcessStates>,
}

impl RecordedStates {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), states: OnceLock::new() }
    }

    /// A file that cannot be read tells nothing.
    pub(super) fn read(&self) -> &ProcessStates {
        let read = || read_schedule(&self.folder).ok().flatten().map(ProcessStates::of);
        self.states.get_or_init(|| read().unwrap_or_default())
    }
}
