//! Where a snapshot is asked for, and the drain hands it out.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use ada_format::atf::{RingFigures, SessionWriter, ThreadEntry};

use crate::ControlError;
use crate::live::{Answer, Handler, Request};
use crate::ring::{join, store_of};
use crate::session::SessionFiles;

/// A drain that takes longer than this to come by is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the drain hands out: names of all segments that nobody deletes.
pub(crate) struct Parts {
    folder: PathBuf,
    segments: Vec<PathBuf>,
    figures: Vec<(u32, RingFigures)>,
    let_go: HashMap<u32, ThreadEntry>,
}

#[derive(Default)]
enum Stage {
    #[default]
    Idle,
    Wanted,
    Ready(Result<Parts, String>),
    /// There is no drain any more.
    Closed,
}

/// Passes requests from whoever asks to the drain. One at a time.
#[derive(Default)]
pub(crate) struct SnapshotDesk {
    stage: Mutex<Stage>,
    changed: Condvar,
    busy: Mutex<()>,
}

impl SnapshotDesk {
    /// Whether somebody waits for a snapshot; asked by the drain between its rounds.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(*self.stage.lock().expect("nobody panics with the lock"), Stage::Wanted)
    }

    /// The drain has closed its segment: hands out what there is.
    pub(crate) fn hand_out(&self, files: &SessionFiles) {
        let parts = files.segments().ok_or("this trace keeps everything: its session is complete".to_owned()).and_then(
            |segments| {
                let folder = segments.folder().join("snapshot");
                let linked = segments.link_into(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
                let figures = files.pids().map(|pid| (pid, segments.figures(pid))).collect();
                Ok(Parts { folder, segments: linked, figures, let_go: segments.let_go_threads() })
            },
        );
        *self.stage.lock().expect("nobody panics with the lock") = Stage::Ready(parts);
        self.changed.notify_all();
    }

    /// The drain has come to its end.
    pub(crate) fn close(&self) {
        *self.stage.lock().expect("nobody panics with the lock") = Stage::Closed;
        self.changed.notify_all();
    }

    fn ask(&self) -> Result<Parts, String> {
        let mut stage = self.stage.lock().expect("nobody panics with the lock");
        if !matches!(*stage, Stage::Closed) {
            *stage = Stage::Wanted;
        }
        let waiting = |stage: &mut Stage| matches!(stage, Stage::Wanted);
        (stage, _) = self.changed.wait_timeout_while(stage, PATIENCE, waiting).expect("nobody panics with the lock");
        if matches!(*stage, Stage::Closed) {
            return Err("the program has just ended".into());
        }
        match std::mem::take(&mut *stage) {
            Stage::Ready(parts) => parts,
            Stage::Idle | Stage::Wanted | Stage::Closed => Err("the recorder is too busy to be asked".into()),
        }
    }
}

/// Makes sessions of what is there, while the recording goes on.
pub(crate) struct SnapshotHandler<'r, F> {
    desk: &'r SnapshotDesk,
    output: &'r Path,
    /// Completes a process's manifest and names.
    complete: F,
}

impl<'r, F: Fn(u32, RingFigures, &mut SessionWriter)> SnapshotHandler<'r, F> {
    pub(crate) fn new(desk: &'r SnapshotDesk, output: &'r Path, complete: F) -> Self {
        Self { desk, output, complete }
    }

    fn snapshot(&self, output: Option<&Path>) -> Result<PathBuf, String> {
        let _one_at_a_time = self.desk.busy.lock().expect("nobody panics with the lock");
        let parts = self.desk.ask()?;
        let saved = self.save(&parts, output.unwrap_or(self.output));
        let _ = fs::remove_dir_all(&parts.folder);
        saved.map_err(|error| error.to_string())
    }

    fn save(&self, parts: &Parts, output: &Path) -> Result<PathBuf, ControlError> {
        let Some((first, _)) = parts.figures.first() else {
            return Err(ControlError::Session("nothing has been recorded yet".into()));
        };
        let mut files = SessionFiles::create(output, *first, store_of(&parts.segments))?;
        join(&parts.segments, &mut files, true)?;
        files.name_let_go(&parts.let_go)?;
        let path = files.path().to_owned();
        files.finish(|pid, writer| {
            let figures = parts.figures.iter().find(|(known, _)| *known == pid);
            (self.complete)(pid, figures.map(|(_, figures)| figures.clone()).unwrap_or_default(), writer);
        })?;
        Ok(std::path::absolute(&path).unwrap_or(path))
    }
}

impl<F: Fn(u32, RingFigures, &mut SessionWriter) + Sync> Handler for SnapshotHandler<'_, F> {
    fn answer(&self, request: &Request) -> Option<Answer> {
        let Request::Snapshot { output } = request else { return None };
        Some(match self.snapshot(output.as_deref()) {
            Ok(session) => Answer::Snapshot { session },
            Err(reason) => Answer::Refused { reason },
        })
    }
}
