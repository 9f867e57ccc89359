//! Which of the traced processes still run, and how the others have ended.
//!
//! Most of them are not ada's children, so ada cannot wait for them. The exit status comes from a pidfd, on a kernel of 6.15
//! or later, once somebody has waited for the process; before that, from `/proc`. A process that was gone before its
//! pidfd could be opened leaves neither, only the argument of its `_exit` in the trace.

use std::cmp::Ordering;
use std::collections::HashMap;

use ada_event::{ProcessId, TraceNanos};

use crate::clock::boot_time;
use crate::end::End;
use crate::pidfd::Pidfd;
use crate::procfs::ProcessDir;
use crate::this_process::this_process;

/// Processes by their id, each held by a pidfd, so that an id that is used again does not mean another process.
#[derive(Default)]
pub struct LiveProcesses {
    processes: HashMap<ProcessId, Process>,
    /// When each was last seen to run.
    seen: HashMap<ProcessId, TraceNanos>,
}

enum Process {
    Running(Pidfd),
    /// It has ended; how is not known yet.
    Ended(Pidfd),
    Known(End),
    /// It was gone when it was first heard of.
    Missed,
}

impl LiveProcesses {
    /// Watches a process.
    pub fn watch(&mut self, pid: ProcessId) {
        self.processes.entry(pid).or_insert_with(|| Pidfd::open(pid).map_or(Process::Missed, Process::Running));
    }

    /// Watches a process that has reported its own id. From a PID namespace of its own that may be another process's id
    /// here: ada's own, or that of a process which is older than ada, and so was not started by a traced one. Of one as
    /// old as ada, as far as the clock shows, `is_traced` says whether it is meant.
    pub fn watch_reported(&mut self, pid: ProcessId, is_traced: impl Fn(ProcessId) -> bool) {
        if self.processes.contains_key(&pid) {
            return;
        }
        let is_another = match ProcessDir::of(pid).age() {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => pid == this_process() || !is_traced(pid),
            Some(Ordering::Greater) | None => false,
        };
        if is_another {
            self.processes.insert(pid, Process::Missed);
        }
        self.watch(pid);
    }

    /// Watches a process whose pidfd somebody has opened already.
    pub fn watch_opened(&mut self, pid: ProcessId, pidfd: Pidfd) {
        self.processes.insert(pid, Process::Running(pidfd));
    }

    /// Looks which have ended meanwhile, and how.
    pub fn update(&mut self) {
        let now = TraceNanos(boot_time());
        for (&pid, process) in &mut self.processes {
            *process = match std::mem::replace(process, Process::Missed) {
                Process::Running(pidfd) if !pidfd.has_ended() => {
                    self.seen.insert(pid, now);
                    Process::Running(pidfd)
                }
                Process::Running(pidfd) | Process::Ended(pidfd) => match end_of(pid, &pidfd) {
                    Some(end) => Process::Known(end),
                    None => Process::Ended(pidfd),
                },
                known => known,
            };
        }
    }

    /// Whether any watched process ran at the last update.
    pub fn any_runs(&self) -> bool {
        self.processes.values().any(|process| matches!(process, Process::Running(_)))
    }

    /// Whether a process has ended, or was never seen to run.
    pub fn has_ended(&self, pid: ProcessId) -> bool {
        !matches!(self.processes.get(&pid), Some(Process::Running(_)))
    }

    /// Whether a process was ever watched.
    pub fn knows(&self, pid: ProcessId) -> bool {
        self.processes.contains_key(&pid)
    }

    /// When a process was last seen to run.
    pub fn last_seen(&self, pid: ProcessId) -> Option<TraceNanos> {
        self.seen.get(&pid).copied()
    }

    /// How a process ended, if the kernel has reported it.
    pub fn end_of(&self, pid: ProcessId) -> Option<End> {
        match self.processes.get(&pid) {
            Some(Process::Known(end)) => Some(*end),
            _ => None,
        }
    }
}

/// How a process ended. The pidfd is asked again after `/proc`, since somebody may wait for the process just now.
fn end_of(pid: ProcessId, pidfd: &Pidfd) -> Option<End> {
    let in_procfs = || ProcessDir::of(pid).stat()?.exit_status();
    let status = pidfd.exit_status().or_else(in_procfs).or_else(|| pidfd.exit_status())?;
    Some(End::of_status(status))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn pid_of(child: &Child) -> ProcessId {
        ProcessId(child.id())
    }

    fn watched(script: &str) -> (Child, LiveProcesses) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let mut processes = LiveProcesses::default();
        processes.watch(pid_of(&child));
        (child, processes)
    }

    #[test]
    fn a_process_is_seen_to_run_until_it_ends() {
        let (mut child, mut processes) = watched("sleep 0.05; kill -9 $$");
        let (pid, begun) = (pid_of(&child), boot_time());
        assert_eq!(processes.last_seen(pid), None);
        update_until_ended(&mut processes, pid);
        let seen = processes.last_seen(pid).unwrap();
        assert!((begun..=boot_time()).contains(&seen.0), "{seen:?}");
        processes.update();
        assert_eq!(processes.last_seen(pid), Some(seen));
        child.wait().unwrap();
    }

    fn update_until_ended(processes: &mut LiveProcesses, pid: ProcessId) {
        while !processes.has_ended(pid) {
            processes.update();
        }
    }

    #[test]
    fn the_end_is_known_before_anybody_has_waited_and_afterwards() {
        for (script, end) in [("exit 7", End::Exited(7)), ("exit 0", End::Exited(0)), ("kill -9 $$", End::Killed(9))] {
            let (mut child, mut processes) = watched(script);
            update_until_ended(&mut processes, pid_of(&child));
            assert_eq!(processes.end_of(pid_of(&child)), Some(end), "{script}, a zombie");
            child.wait().unwrap();

            let (mut child, mut processes) = watched(script);
            child.wait().unwrap();
            processes.update();
            assert!(processes.has_ended(pid_of(&child)) && !processes.any_runs());
            // Kernels before 6.15 cannot say.
            if Pidfd::open(this_process()).unwrap().exit_status().is_none() {
                assert!([Some(end), None].contains(&processes.end_of(pid_of(&child))), "{script}, waited for");
            }
        }
    }

    #[test]
    fn ids_that_mean_another_process_here_are_not_waited_for() {
        let mut processes = LiveProcesses::default();
        processes.watch_reported(this_process(), |_| true);
        processes.watch_reported(ProcessId(1), |_| true);
        assert!(!processes.any_runs());
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        processes.watch_reported(pid_of(&child), |_| true);
        assert!(processes.any_runs());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_over_and_its_end_unknown() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mut processes = LiveProcesses::default();
        processes.watch(pid_of(&child));
        processes.update();
        assert!(!processes.any_runs() && processes.has_ended(pid_of(&child)));
        assert_eq!(processes.end_of(pid_of(&child)), None);
    }
}
