//! The processes that have recorded something, as their chunks say.

use std::collections::{BTreeSet, HashMap};

use ada_event::ProcessId;

use super::pending_chunk::PendingChunk;
use crate::program_id::ProgramId;

/// What is known of them.
#[derive(Default)]
pub(super) struct SeenProcesses {
    programs: HashMap<ProcessId, BTreeSet<ProgramId>>,
    /// Those of them that nobody has asked for.
    newcomers: Vec<ProcessId>,
    /// Who forked each process, as it knows itself.
    forks: HashMap<ProcessId, ProcessId>,
    /// The exit statuses that processes were last seen to pass to `_exit`.
    exit_calls: HashMap<ProcessId, i32>,
}

impl SeenProcesses {
    /// Takes note of whose chunk this is.
    pub(super) fn saw(&mut self, pending: &PendingChunk) {
        let programs = self.programs.entry(pending.pid).or_default();
        if programs.is_empty() {
            self.newcomers.push(pending.pid);
        }
        programs.insert(pending.program);
        if let Some(parent) = pending.forked_by {
            self.forks.insert(pending.pid, parent);
        }
    }

    /// Takes note of what a process has called `_exit` with.
    pub(super) fn saw_exit_call(&mut self, pid: ProcessId, status: i32) {
        self.exit_calls.insert(pid, status);
    }

    /// Whether a process runs another program by now, and has abandoned this one's chunks.
    pub(super) fn has_abandoned_program_of(&self, pending: &PendingChunk) -> bool {
        self.programs[&pending.pid].last().is_some_and(|&newest| newest > pending.program)
    }

    pub(super) fn programs(&self) -> &HashMap<ProcessId, BTreeSet<ProgramId>> {
        &self.programs
    }

    /// The processes that are new since the last call.
    pub(super) fn take_newcomers(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.newcomers)
    }

    pub(super) fn forks(&self) -> &HashMap<ProcessId, ProcessId> {
        &self.forks
    }

    pub(super) fn exit_call(&self, pid: ProcessId) -> Option<i32> {
        self.exit_calls.get(&pid).copied()
    }
}
