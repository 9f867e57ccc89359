//! The first traced process, and those that descend from it, as the kernel's events report them.

use std::collections::HashMap;

use ada_event::ProcessId;

use super::process_event::ProcessEvent;
use crate::end::End;

/// The traced processes, and their children.
pub(super) struct ProcessTree {
    processes: HashMap<ProcessId, Process>,
    /// Those that nobody has asked for yet.
    new: Vec<Child>,
    /// Those that have become another user's, and nobody has asked for yet.
    changed_users: Vec<ProcessId>,
}

#[derive(Default)]
struct Process {
    threads: u32,
    /// How many programs it has run since it is known …
    programs: u32,
    /// … and how many of these are traced, the first ones.
    followed: u32,
    /// The exit status of the last of its threads that has ended.
    status: Option<i32>,
}

/// A process that a traced one has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its id.
    pub pid: ProcessId,
    /// The process that made it.
    pub parent: ProcessId,
}

/// Threads of the first process: how many it has is not known, and its end is known by other means.
const MANY: u32 = u32::MAX / 2;

impl ProcessTree {
    pub(super) fn new(first: ProcessId) -> Self {
        let first = (first, Process { threads: MANY, ..Process::default() });
        Self { processes: HashMap::from([first]), new: Vec::new(), changed_users: Vec::new() }
    }

    pub(super) fn take(&mut self, event: ProcessEvent) {
        match event {
            ProcessEvent::Forked { parent, child } => {
                let is_traced = |parent: &Process| parent.programs <= parent.followed;
                if self.processes.get(&parent).is_some_and(is_traced) {
                    self.processes.insert(child, Process { threads: 1, ..Process::default() });
                    self.new.push(Child { pid: child, parent });
                } else {
                    // An id that is used again.
                    self.processes.remove(&child);
                }
            }
            ProcessEvent::ThreadStarted { process } => self.change(process, |it| it.threads += 1),
            ProcessEvent::Exec { process } => self.change(process, |it| it.programs += 1),
            ProcessEvent::UserChanged { process } => {
                // Each of its threads says so.
                if self.knows(process) && !self.changed_users.contains(&process) {
                    self.changed_users.push(process);
                }
            }
            ProcessEvent::ThreadExited { process, status } => self.change(process, |it| {
                it.threads = it.threads.saturating_sub(1);
                it.status = Some(status);
            }),
            ProcessEvent::Acknowledged(_) | ProcessEvent::Other => {}
        }
    }

    /// The process runs a program that is traced. The event of its exec may come before or after this.
    pub(super) fn note_followed(&mut self, pid: ProcessId) {
        self.change(pid, |it| it.followed += 1);
    }

    fn change(&mut self, pid: ProcessId, change: impl FnOnce(&mut Process)) {
        if let Some(process) = self.processes.get_mut(&pid) {
            change(process);
        }
    }

    pub(super) fn take_new_children(&mut self) -> Vec<Child> {
        std::mem::take(&mut self.new)
    }

    pub(super) fn take_changed_users(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.changed_users)
    }

    pub(super) fn knows(&self, pid: ProcessId) -> bool {
        self.processes.contains_key(&pid)
    }

    pub(super) fn runs_untraced_program(&self, pid: ProcessId) -> bool {
        self.processes.get(&pid).is_some_and(|it| it.programs > it.followed)
    }

    pub(super) fn running(&self) -> Vec<ProcessId> {
        self.processes.iter().filter(|(_, it)| (1..MANY / 2).contains(&it.threads)).map(|(pid, _)| *pid).collect()
    }

    pub(super) fn runs(&self, pid: ProcessId) -> bool {
        self.processes.get(&pid).is_some_and(|it| it.threads > 0)
    }

    /// A process has ended with its last thread.
    pub(super) fn end_of(&self, pid: ProcessId) -> Option<End> {
        let status = self.processes.get(&pid).filter(|it| it.threads == 0)?.status?;
        Some(End::of_status(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ProcessId = ProcessId(1);
    const TWO: ProcessId = ProcessId(2);

    #[test]
    fn a_process_has_ended_with_its_last_thread() {
        let mut tree = ProcessTree::new(ONE);
        tree.take(ProcessEvent::Forked { parent: ONE, child: TWO });
        tree.take(ProcessEvent::ThreadStarted { process: TWO });
        tree.take(ProcessEvent::ThreadExited { process: TWO, status: 0 });
        assert!(tree.runs(TWO) && tree.end_of(TWO).is_none());
        tree.take(ProcessEvent::ThreadExited { process: TWO, status: 9 });
        assert_eq!((tree.runs(TWO), tree.end_of(TWO)), (false, Some(End::Killed(9))));
        assert_eq!(tree.take_new_children(), [Child { pid: TWO, parent: ONE }]);
    }

    #[test]
    fn a_process_that_becomes_another_users_is_told_of_once() {
        let mut tree = ProcessTree::new(ONE);
        for process in [ONE, ONE, TWO] {
            tree.take(ProcessEvent::UserChanged { process });
        }
        assert_eq!(tree.take_changed_users(), [ONE], "nobody knows the other");
        assert!(tree.take_changed_users().is_empty());
    }

    #[test]
    fn children_of_a_program_that_is_not_traced_are_left_out() {
        let mut tree = ProcessTree::new(ONE);
        for child in [2, 3].map(ProcessId) {
            tree.take(ProcessEvent::Forked { parent: ONE, child });
        }
        // The event of a traced exec may come late.
        tree.note_followed(TWO);
        tree.take(ProcessEvent::Exec { process: TWO });
        tree.take(ProcessEvent::Exec { process: ProcessId(3) });
        tree.take(ProcessEvent::Forked { parent: TWO, child: ProcessId(4) });
        tree.take(ProcessEvent::Forked { parent: ProcessId(3), child: ProcessId(5) });
        tree.take(ProcessEvent::Forked { parent: ProcessId(77), child: ProcessId(78) });
        let news =
            [(2, 1), (3, 1), (4, 2)].map(|(pid, parent)| Child { pid: ProcessId(pid), parent: ProcessId(parent) });
        assert_eq!(tree.take_new_children(), news);
        assert_eq!([2, 3, 4].map(|pid| tree.runs_untraced_program(ProcessId(pid))), [false, true, false]);
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let mut tree = ProcessTree::new(ONE);
        tree.take(ProcessEvent::Forked { parent: ONE, child: TWO });
        tree.take(ProcessEvent::ThreadExited { process: TWO, status: 9 });
        tree.take(ProcessEvent::Forked { parent: ProcessId(77), child: TWO });
        assert_eq!((tree.runs(TWO), tree.end_of(TWO)), (false, None));
        assert!(tree.running().is_empty());
    }
}
