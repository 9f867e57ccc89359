//! `ada snapshot`: saves what a ring holds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ada_event::ProcessId;
use ada_format::atf::{RingFigures, SessionWriter, copy_beside};

use crate::drain::session::{Parts, SessionFiles, SnapshotRequests, store_of};
use crate::error::ControlError;
use crate::live::{Answer, Handler, Request};

/// Makes sessions of what is there, while the recording goes on.
pub(crate) struct SnapshotHandler<'r, F> {
    requests: &'r SnapshotRequests,
    /// Held while a snapshot is made: one at a time.
    busy: Mutex<()>,
    output: &'r Path,
    /// Completes a process's manifest and names.
    complete: F,
}

impl<'r, F: Fn(ProcessId, RingFigures, &mut SessionWriter)> SnapshotHandler<'r, F> {
    pub(crate) fn new(requests: &'r SnapshotRequests, output: &'r Path, complete: F) -> Self {
        Self { requests, busy: Mutex::default(), output, complete }
    }

    fn snapshot(&self, output: Option<&Path>) -> Result<PathBuf, String> {
        let _one_at_a_time = self.busy.lock().expect("nobody panics with the lock");
        let parts = self.requests.ask()?;
        let saved = self.save(&parts, output.unwrap_or(self.output));
        let _ = fs::remove_dir_all(&parts.folder);
        saved.map_err(|error| error.to_string())
    }

    fn save(&self, parts: &Parts, output: &Path) -> Result<PathBuf, ControlError> {
        let Some((first, _)) = parts.figures.first() else {
            return Err(ControlError::Session("nothing has been recorded yet".into()));
        };
        let mut files = SessionFiles::create(output, *first, store_of(&parts.segments))?;
        files.join(&parts.segments, true)?;
        files.name_let_go(&parts.let_go)?;
        let path = files.path().to_owned();
        files.finish(|pid, writer| {
            let figures = parts.figures.iter().find(|(known, _)| *known == pid);
            // Without them it is not known when threads ran, and nothing else is missing.
            let _ = copy_beside(&parts.session.join(format!("pid_{pid}")), writer.process_path());
            (self.complete)(pid, figures.map(|(_, figures)| figures.clone()).unwrap_or_default(), writer);
        })?;
        Ok(std::path::absolute(&path).unwrap_or(path))
    }
}

impl<F: Fn(ProcessId, RingFigures, &mut SessionWriter) + Sync> Handler for SnapshotHandler<'_, F> {
    fn answer(&self, request: &Request) -> Option<Answer> {
        let Request::Snapshot { output } = request else { return None };
        Some(match self.snapshot(output.as_deref()) {
            Ok(session) => Answer::Snapshot { session },
            Err(reason) => Answer::Refused { reason },
        })
    }
}
