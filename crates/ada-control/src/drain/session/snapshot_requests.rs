//! Passes requests for snapshots to the drain, and its answers back.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use ada_event::ProcessId;
use ada_format::atf::{RingFigures, ThreadEntry};

use super::session_files::SessionFiles;

/// A drain that takes longer than this to come by is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the drain hands out: names of all segments that nobody deletes.
pub(crate) struct Parts {
    pub(crate) folder: PathBuf,
    /// The session that is being recorded.
    pub(crate) session: PathBuf,
    pub(crate) segments: Vec<PathBuf>,
    pub(crate) figures: Vec<(ProcessId, RingFigures)>,
    pub(crate) let_go: HashMap<ProcessId, ThreadEntry>,
}

#[derive(Default)]
enum State {
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
    state: Mutex<State>,
    changed: Condvar,
}

impl SnapshotRequests {
    /// Whether somebody waits for a snapshot; asked by the drain between its rounds.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(*self.state.lock().expect("nobody panics with the lock"), State::Wanted)
    }

    /// The drain has closed its segment: hands out what there is.
    pub(crate) fn hand_out(&self, files: &SessionFiles) {
        let parts = files.segments().ok_or("this trace keeps everything: its session is complete".to_owned()).and_then(
            |segments| {
                let folder = segments.folder().join("snapshot");
                let linked = segments.link_into(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
                let figures = files.pids().map(|pid| (pid, segments.figures(pid))).collect();
                Ok(Parts {
                    folder,
                    session: files.path().to_owned(),
                    segments: linked,
                    figures,
                    let_go: segments.let_go_threads(),
                })
            },
        );
        *self.state.lock().expect("nobody panics with the lock") = State::Ready(parts);
        self.changed.notify_all();
    }

    /// The drain has come to its end.
    pub(crate) fn close(&self) {
        *self.state.lock().expect("nobody panics with the lock") = State::Closed;
        self.changed.notify_all();
    }

    pub(crate) fn ask(&self) -> Result<Parts, String> {
        let mut state = self.state.lock().expect("nobody panics with the lock");
        if !matches!(*state, State::Closed) {
            *state = State::Wanted;
        }
        let waiting = |state: &mut State| matches!(state, State::Wanted);
        (state, _) = self.changed.wait_timeout_while(state, PATIENCE, waiting).expect("nobody panics with the lock");
        if matches!(*state, State::Closed) {
            return Err("the program has just ended".into());
        }
        match std::mem::take(&mut *state) {
            State::Ready(parts) => parts,
            State::Idle | State::Wanted | State::Closed => Err("the recorder is too busy to be asked".into()),
        }
    }
}
