//! Records several processes at a time, and makes one session of what was recorded.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ada_control::{ControlError, Progress, StopSwitch, TraceOptions, TraceReport};
use ada_event::ProcessId;
use ada_process::procfs::ProcessDir;

use crate::trace::live::LiveLine;

/// How often new processes are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What became of a process.
pub(super) type Recorded = (ProcessId, Result<TraceReport, ControlError>);

/// Records all until they have ended, the time is over, or the user has it end. `newcomers` gives those that are to be
/// recorded as well, as long as that goes on; it is asked again and again.
pub(super) fn record(
    pids: &[ProcessId],
    mut options: TraceOptions,
    line: &LiveLine,
    newcomers: Option<&dyn Fn() -> Vec<ProcessId>>,
) -> Vec<Recorded> {
    // All end at the same time, whenever each began.
    let until = options.max_time.take().map(|time| Instant::now() + time);
    let options = &options;
    let recorded = Mutex::new(Vec::new());
    let sums = Mutex::new([0; 3]);
    let never = StopSwitch::default();
    std::thread::scope(|scope| {
        let mut known: BTreeSet<ProcessId> = BTreeSet::new();
        let begin = |pid: ProcessId| {
            let (recorded, sums) = (&recorded, &sums);
            scope.spawn(move || {
                let progress = OfOne { line, sums, own: Mutex::new([0; 3]) };
                let report = ada_control::attach(pid, options, until, &StopSwitch::default(), &progress);
                recorded.lock().expect("nobody panics with the lock").push((pid, report));
            });
        };
        pids.iter().filter(|pid| known.insert(**pid)).for_each(|pid| begin(*pid));
        let is_over = || never.is_wanted() || until.is_some_and(|until| Instant::now() >= until);
        while let Some(newcomers) = newcomers.filter(|_| !is_over()) {
            // What a process that is recorded has started is recorded with it.
            let is_followed = |pid: ProcessId, known: &BTreeSet<ProcessId>| {
                options.follow && ProcessDir::of(pid).parent().is_some_and(|parent| known.contains(&parent))
            };
            for pid in newcomers() {
                let is_new = !is_followed(pid, &known);
                if known.insert(pid) && is_new {
                    begin(pid);
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
    });
    let mut recorded = recorded.into_inner().expect("nobody panics with the lock");
    let place = |pid: ProcessId| pids.iter().position(|it| *it == pid).unwrap_or(usize::MAX);
    recorded.sort_by_key(|(pid, _)| (place(*pid), *pid));
    recorded
}

/// The progress of one of them, shown as a part of that of all.
struct OfOne<'a> {
    line: &'a LiveLine,
    sums: &'a Mutex<[u64; 3]>,
    own: Mutex<[u64; 3]>,
}

impl Progress for OfOne<'_> {
    fn hooking(&self, files: usize, allowed: Duration) {
        self.line.hooking(files, allowed);
    }

    fn cleaned_up(&self, processes: usize) {
        self.line.cleaned_up(processes);
    }

    fn running(&self) {
        self.line.running();
    }

    fn recorded(&self, events: u64, threads: usize, dropped: u64) {
        let now = [events, threads as u64, dropped];
        let before = std::mem::replace(&mut *self.own.lock().expect("nobody panics with the lock"), now);
        let mut sums = self.sums.lock().expect("nobody panics with the lock");
        for ((sum, now), before) in sums.iter_mut().zip(now).zip(before) {
            // What was dropped is the target's word.
            *sum = sum.saturating_sub(before).saturating_add(now);
        }
        self.line.recorded(sums[0], sums[1] as usize, sums[2]);
    }
}

/// Moves the processes of all sessions into the first one. All count time by the same clock, and each process's folder says all
/// that there is to say of it. Gives the sessions that stay beside it: a process that is in both is not put over itself.
pub(super) fn join(sessions: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let Some((first, others)) = sessions.split_first() else { return Ok(Vec::new()) };
    let mut kept = Vec::new();
    for session in others {
        for entry in fs::read_dir(session)?.flatten().filter(|entry| is_process(&entry.path())) {
            let place = first.join(entry.file_name());
            if !place.exists() {
                fs::rename(entry.path(), place)?;
            }
        }
        // Fails where something is left in it.
        if fs::remove_dir(session).is_err() {
            kept.push(session.clone());
        }
    }
    Ok(kept)
}

fn is_process(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("pid_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_all_sessions_come_into_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let session = |name: &str, pids: &[&str]| {
            let path = folder.path().join(name);
            pids.iter().for_each(|pid| fs::create_dir_all(path.join(pid)).unwrap());
            path
        };
        let sessions = [session("a", &["pid_1"]), session("b", &["pid_2", "pid_3"]), session("c", &["pid_1"])];
        assert_eq!(join(&sessions).unwrap(), [folder.path().join("c")]);
        let mut names: Vec<_> = fs::read_dir(&sessions[0]).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["pid_1", "pid_2", "pid_3"]);
        assert!(!sessions[1].exists());
    }
}
