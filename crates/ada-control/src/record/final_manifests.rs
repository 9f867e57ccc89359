//! Completes the manifests of a finished session.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use ada_event::ProcessId;
use ada_format::atf::{LaneFigures, PoolFigures, RingFigures, SessionWriter};
use ada_process::{CpuTime, End, LiveProcesses, ProcConnector};

use super::ending::KnownEnd;
use super::manifest;
use crate::drain::Drain;
use crate::drain::session::Gone;
use crate::overhead::Calibrated;
use crate::switches::Switchboard;
use crate::tracked::HookedPrograms;

/// What they are made of.
pub(super) struct FinalManifests<'a> {
    /// The first process, and how it ended.
    pub(super) pid: ProcessId,
    pub(super) end: End,
    pub(super) cpu_time: Option<CpuTime>,
    pub(super) drain: &'a Drain,
    pub(super) drops: &'a [(&'static str, u64)],
    pub(super) figures: (BTreeMap<String, LaneFigures>, PoolFigures),
    /// What was let go of each process, if only the newest part was kept.
    pub(super) let_go: HashMap<ProcessId, RingFigures>,
    /// Processes of which nothing was kept.
    pub(super) gone: Gone,
    pub(super) living: &'a LiveProcesses,
    pub(super) proc_connector: Option<&'a ProcConnector>,
    pub(super) switches: &'a Switchboard,
    pub(super) hook_cost: Option<&'a Calibrated>,
    pub(super) max_overhead: Option<f64>,
    pub(super) over_budget: Option<Duration>,
}

impl FinalManifests<'_> {
    /// Completes that of a process.
    pub(super) fn complete(&self, hooked: &mut HookedPrograms, process: ProcessId, writer: &mut SessionWriter) {
        let drops = self.drain.drops_by_lane(self.drops);
        manifest::complete(self.end_of(process), &hooked.modules_by_program(process), drops, &self.figures, writer);
        manifest::add_facts(hooked, process, self.pid, writer);
        manifest::add_switches(self.switches, hooked, process, writer);
        manifest::add_windows(self.drain.windows(process), writer);
        let manifest = writer.manifest_mut();
        manifest.ring = self.let_go.get(&process).cloned();
        if let Some(ring) = manifest.ring.as_mut().filter(|_| process == self.pid) {
            (ring.gone_processes, ring.gone_events) = (self.gone.processes, self.gone.events);
        }
        manifest.crashes = self.drain.crashes(process);
        manifest.gaps = self.drain.gaps(process);
        manifest.hook_cost_ns = self.hook_cost.cloned();
        manifest.max_overhead = self.max_overhead;
        manifest.over_budget_ns = self.over_budget.map(|time| time.as_nanos() as u64);
        let folder = writer.process_path().to_owned();
        manifest::write_lists(hooked, &folder, process);
    }

    /// How a process ended; none for one that lives on.
    fn end_of(&self, process: ProcessId) -> Option<KnownEnd> {
        match self.end {
            End::Exited(_) | End::Killed(_) if process == self.pid => {
                let alive = self.living.last_seen(process);
                Some(KnownEnd { end: Some(self.end), known_by: "wait", alive, cpu_time: self.cpu_time })
            }
            End::Detached if process == self.pid => None,
            _ => self.end_of_other(process),
        }
    }

    /// The same for a process that is not ada's child. The exit status comes from the kernel, or the argument of `_exit`.
    fn end_of_other(&self, process: ProcessId) -> Option<KnownEnd> {
        let Self { drain, living, proc_connector, .. } = self;
        let was_only_heard_of = !living.knows(process) && proc_connector.is_some_and(|kernel| kernel.runs(process));
        if !living.has_ended(process) || was_only_heard_of {
            return None;
        }
        let by_crash = || drain.crashes(process).last().map(|crash| (Some(End::Killed(crash.signal)), "crash"));
        let by_call = || drain.exit_call(process).map(|status| (Some(End::Exited(status)), "exit_call"));
        let by_kernel = living.end_of(process).or_else(|| proc_connector.as_ref()?.end_of(process));
        let by_kernel = by_kernel.map(|end| (Some(end), "kernel"));
        let (end, known_by) = by_kernel.or_else(by_crash).or_else(by_call).unwrap_or((None, "nobody"));
        Some(KnownEnd { end, known_by, alive: living.last_seen(process), cpu_time: None })
    }
}
