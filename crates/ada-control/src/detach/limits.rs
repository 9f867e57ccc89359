//! When a recording is over though its processes are not.

use std::collections::BTreeSet;
use std::time::Instant;

use ada_event::{ProcessId, TraceNanos};
use ada_process::{MemfdId, boot_time};

use super::unhook::{Unhooked, unhook};
use crate::install::sites::Site;
use crate::live::handlers::StopSwitch;
use crate::tracked::Programs;

/// When a recording is over though its processes are not.
pub(crate) struct Limits<'a> {
    pub(crate) stop: &'a StopSwitch,
    pub(crate) until: Option<Instant>,
}

impl Limits<'_> {
    pub(crate) fn are_reached(&self, programs: &Programs) -> bool {
        self.stop.is_wanted() || self.until.is_some_and(|until| Instant::now() >= until) || programs.phase.has_enough()
    }

    /// Removes the hooks from all processes of a recording, and has it end.
    pub(crate) fn leave(&self, programs: &Programs, memfd: MemfdId, first: ProcessId) -> Unhooked {
        programs.end_following();
        let (sites, known) = {
            let mut hooked = programs.lock();
            hooked.detached = Some(TraceNanos(boot_time()));
            let installers = hooked.installers.values();
            let sites: Vec<Vec<Site>> = installers.flat_map(|(installer, _)| installer.sites()).collect();
            (sites, hooked.processes.keys().copied().chain([first]).collect::<BTreeSet<ProcessId>>())
        };
        let unhooked = unhook(&sites, memfd, known);
        programs.phase.finish_detaching();
        self.stop.mark_done();
        unhooked
    }
}
