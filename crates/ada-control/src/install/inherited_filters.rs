//! The seccomp filters that a program was started under, by one that forbids itself system calls and then runs another, and
//! those of a process that runs already.

use std::mem::offset_of;

use ada_agent::bpf;
use ada_agent::own_calls::{self, CallSet, FOR_ATTACHING, FOR_CRASHES, FOR_GIVING, FOR_INSTALLING};
use ada_event::{ProcessId, RuntimeAddr, ThreadId};
use ada_process::maps::Mapping;
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::{Halted, Tracee};
use ada_process::{Remote, this_process};
use ada_ring::state::ProcessBlock;

use crate::error::ControlError;
use crate::install::open_in_target::injected;
use crate::machine;

/// What a program may not do.
pub(crate) struct InheritedFilters {
    forbidden: CallSet,
}

impl InheritedFilters {
    /// Those of a stopped process. Where the kernel does not show them, nothing is taken for forbidden. Refuses a program that
    /// would not survive being hooked.
    pub(crate) fn of(tracee: &Tracee) -> Result<Self, ControlError> {
        let mut this = Self { forbidden: CallSet::default() };
        this.add(tracee.pid(), &tracee.filters().unwrap_or_default());
        if this.allow(&FOR_INSTALLING) { Ok(this) } else { Err(ControlError::Forbidden) }
    }

    /// Those of the threads of a process that runs. What the kernel does not show is as good as what ada itself is under, as
    /// within a container; a process that has forbidden itself more could be killed for what it is to do, and is refused.
    pub(crate) fn of_running(pid: ProcessId, mappings: &[Mapping]) -> Result<Self, ControlError> {
        let mut this = Self { forbidden: CallSet::default() };
        let refused = |reason: &str| ControlError::NotAttached { pid, reason: reason.to_owned() };
        let process = ProcessDir::of(pid);
        let status = |tid: ThreadId| process.thread(tid).status().ok();
        let has_some = |tid: &ThreadId| status(*tid).is_some_and(|it| it.has_seccomp());
        let threads = process.threads().map_err(|error| refused(&error.to_string()))?;
        if !threads.iter().any(has_some) {
            return Ok(this);
        }
        let own = ProcessDir::of(this_process()).status().ok().and_then(|it| it.filter_count()).unwrap_or(0);
        let halted = Halted::all(pid, mappings).map_err(|error| refused(&machine::why_not(&error)))?;
        for thread in halted.threads().iter().filter(|thread| has_some(&thread.tid())) {
            let is_strict = status(thread.tid()).is_some_and(|it| it.field("Seccomp") == "1");
            match thread.filters() {
                Ok(filters) if !is_strict => this.add(pid, &filters),
                Err(_) if !is_strict && status(thread.tid()).and_then(|it| it.filter_count()) == Some(own) => (),
                _ => {
                    return Err(refused(
                        "a seccomp filter that ada cannot see may forbid it what ada needs to hook it",
                    ));
                }
            }
        }
        match this.allow(&FOR_ATTACHING) {
            true => Ok(this),
            false => Err(refused("a seccomp filter forbids it what ada needs to hook it")),
        }
    }

    fn add(&mut self, pid: ProcessId, filters: &[Vec<u64>]) {
        for filter in filters {
            let judge = |judged: &_| bpf::run(judged, |at| filter.get(at).copied());
            let allowed = own_calls::allowed(pid.0, 0, judge);
            self.forbidden.iter_mut().zip(allowed).for_each(|(forbidden, allowed)| *forbidden |= !allowed);
        }
    }

    fn allow(&self, calls: &[u64]) -> bool {
        calls.iter().all(|call| !own_calls::contains(&self.forbidden, *call))
    }

    /// Whether a crash can be recorded and still happens.
    pub(crate) fn allow_crash_handlers(&self) -> bool {
        self.allow(&FOR_CRASHES)
    }

    /// Whether it can be given what it cannot open.
    pub(crate) fn allow_giving(&self) -> bool {
        self.allow(&FOR_GIVING)
    }

    /// Writes them where the agent looks.
    pub(crate) fn write(&self, remote: &dyn Remote, process_block: RuntimeAddr) -> Result<(), ControlError> {
        if self.forbidden == CallSet::default() {
            return Ok(());
        }
        let bytes: Vec<u8> = self.forbidden.iter().flat_map(|word| word.to_le_bytes()).collect();
        let address = process_block + offset_of!(ProcessBlock, forbidden) as u64;
        remote.write(address, &bytes).map_err(injected("writing filters"))
    }
}
