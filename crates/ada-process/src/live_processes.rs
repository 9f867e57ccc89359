//! Which of the traced processes still live, and how the others have ended.
//!
//! Most of them are not ada's children, so nobody tells ada how they ended. A descriptor of the process does, on a kernel
//! of 6.15 or later, once somebody has waited for it; before that, `/proc` does. For a process that was gone before a
//! descriptor could be had, what it called `_exit` with has to do.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::os::fd::OwnedFd;

use crate::end::End;
use crate::pidfd::{open, wait, waited_status};
use crate::procfs::{age, zombie_status};

/// Processes by their id, each held by a descriptor of ada's so that an id that is used again means nobody else.
#[derive(Default)]
pub struct LiveProcesses {
    processes: HashMap<u32, Process>,
}

enum Process {
    Running(OwnedFd),
    /// Nobody has told yet how.
    Ended(OwnedFd),
    Told(End),
    /// It was gone when it was first heard of.
    Missed,
}

impl LiveProcesses {
    /// Takes note of a process that was heard of.
    pub fn saw(&mut self, pid: u32) {
        self.processes.entry(pid).or_insert_with(|| open(pid).map_or(Process::Missed, Process::Running));
    }

    /// The same for a process that has told its id itself. In a namespace of its own that may be the id of somebody else
    /// here: this process, or one that is older and so was not started by anybody whom this one traces. Of one that is
    /// neither older nor younger, as far as can be known, `is_traced` says whether it is.
    pub fn heard_of(&mut self, pid: u32, is_traced: impl Fn(u32) -> bool) {
        if self.processes.contains_key(&pid) {
            return;
        }
        let is_somebody_else = match age(pid) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => pid == std::process::id() || !is_traced(pid),
            Some(Ordering::Greater) | None => false,
        };
        if is_somebody_else {
            self.processes.insert(pid, Process::Missed);
        }
        self.saw(pid);
    }

    /// Takes note of a process that somebody holds already.
    pub fn holds(&mut self, pid: u32, descriptor: OwnedFd) {
        self.processes.insert(pid, Process::Running(descriptor));
    }

    /// Looks which have ended meanwhile, and how; lets go of the descriptors of those that have told.
    pub fn look(&mut self) {
        for (&pid, process) in &mut self.processes {
            *process = match std::mem::replace(process, Process::Missed) {
                Process::Running(descriptor) if !has_ended(&descriptor) => Process::Running(descriptor),
                Process::Running(descriptor) | Process::Ended(descriptor) => match end_of(pid, &descriptor) {
                    Some(end) => Process::Told(end),
                    None => Process::Ended(descriptor),
                },
                known => known,
            };
        }
    }

    /// Whether any process that was seen still lived at the last look.
    pub fn any(&self) -> bool {
        self.processes.values().any(|process| matches!(process, Process::Running(_)))
    }

    /// Whether a process has ended, or was never seen to live.
    pub fn is_over(&self, pid: u32) -> bool {
        !matches!(self.processes.get(&pid), Some(Process::Running(_)))
    }

    /// Whether a process was ever seen.
    pub fn knows(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    /// How a process ended, if the kernel has told.
    pub fn end_of(&self, pid: u32) -> Option<End> {
        match self.processes.get(&pid) {
            Some(Process::Told(end)) => Some(*end),
            _ => None,
        }
    }
}

fn has_ended(process: &OwnedFd) -> bool {
    wait(process, 0)
}

/// How a process that has ended did so: asked before and after somebody has waited for it, since that may happen just now.
fn end_of(pid: u32, process: &OwnedFd) -> Option<End> {
    let status = waited_status(process).or_else(|| zombie_status(pid)).or_else(|| waited_status(process))?;
    Some(End::of_status(status))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn watched(script: &str) -> (Child, LiveProcesses) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let mut living = LiveProcesses::default();
        living.saw(child.id());
        (child, living)
    }

    fn look_until_over(living: &mut LiveProcesses, pid: u32) {
        while !living.is_over(pid) {
            living.look();
        }
    }

    #[test]
    fn the_end_is_known_before_anybody_has_waited_and_afterwards() {
        for (script, end) in [("exit 7", End::Exited(7)), ("exit 0", End::Exited(0)), ("kill -9 $$", End::Killed(9))] {
            let (mut child, mut living) = watched(script);
            look_until_over(&mut living, child.id());
            assert_eq!(living.end_of(child.id()), Some(end), "{script}, a zombie");
            child.wait().unwrap();

            let (mut child, mut living) = watched(script);
            child.wait().unwrap();
            living.look();
            assert!(living.is_over(child.id()) && !living.any());
            // Kernels before 6.15 cannot say.
            if waited_status(&open(std::process::id()).unwrap()).is_none() {
                assert!([Some(end), None].contains(&living.end_of(child.id())), "{script}, waited for");
            }
        }
    }

    #[test]
    fn ids_that_are_somebody_elses_here_are_not_waited_for() {
        let mut living = LiveProcesses::default();
        living.heard_of(std::process::id(), |_| true);
        living.heard_of(1, |_| true);
        assert!(!living.any());
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        living.heard_of(child.id(), |_| true);
        assert!(living.any());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_over_and_its_end_unknown() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mut living = LiveProcesses::default();
        living.saw(child.id());
        living.look();
        assert!(!living.any() && living.is_over(child.id()));
        assert_eq!(living.end_of(child.id()), None);
    }
}
