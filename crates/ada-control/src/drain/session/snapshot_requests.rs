//! Where a snapshot is asked for, and the drain hands it out.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use ada_format::atf::{RingFigures, ThreadEntry};

use super::session_files::SessionFiles;

/// A drain that takes longer than this to come by is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the drain hands out: names of all segments that nobody deletes.
pub(crate) struct Parts {
    pub(crate) folder: PathBuf,
    pub(crate) segments: Vec<PathBuf>,
    pub(crate) figures: Vec<(u32, RingFigures)>,
    pub(crate) let_go: HashMap<u32, ThreadEntry>,
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

/// Passes requests for snapshots to the drain, one at a time.
#[derive(Default)]
pub(crate) struct SnapshotRequests {
    stage: Mutex<Stage>,
    changed: Condvar,
}

impl SnapshotRequests {
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

    pub(crate) fn ask(&self) -> Result<Parts, String> {
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
