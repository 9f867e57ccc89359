//! The seccomp filters that a program was started under, by one that forbids itself system calls and then runs another.

use std::mem::offset_of;

use ada_agent::bpf;
use ada_agent::own_calls::{self, CallSet, FOR_CRASHES, FOR_INSTALLING};
use ada_event::RuntimeAddr;
use ada_process::Remote;
use ada_process::ptrace::Tracee;
use ada_ring::state::ProcessBlock;

use crate::error::ControlError;
use crate::install::open_in_target::injected;

/// What a program may not do.
pub(crate) struct InheritedFilters {
    forbidden: CallSet,
}

impl InheritedFilters {
    /// Those of a stopped process. Where the kernel does not show them, nothing is taken for forbidden. Refuses a program that
    /// would not survive being hooked.
    pub(crate) fn of(tracee: &Tracee) -> Result<Self, ControlError> {
        let mut forbidden = CallSet::default();
        for filter in tracee.filters().unwrap_or_default() {
            let judge = |judged: &_| bpf::run(judged, |at| filter.get(at).copied());
            let allowed = own_calls::allowed(tracee.pid().0, 0, judge);
            forbidden.iter_mut().zip(allowed).for_each(|(forbidden, allowed)| *forbidden |= !allowed);
        }
        let this = Self { forbidden };
        if this.allow(&FOR_INSTALLING) { Ok(this) } else { Err(ControlError::Forbidden) }
    }

    fn allow(&self, calls: &[u64]) -> bool {
        calls.iter().all(|call| !own_calls::contains(&self.forbidden, *call))
    }

    /// Whether a crash can be recorded and still happens.
    pub(crate) fn allow_crash_handlers(&self) -> bool {
        self.allow(&FOR_CRASHES)
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
