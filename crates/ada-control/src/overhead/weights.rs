//! What captured values cost beside an event.

use std::collections::HashSet;
use std::time::Instant;

use ada_event::FunctionId;
use ada_patch::AgentPart;

use crate::overhead::Calibrated;
use crate::overhead::budget::Recorded;
use crate::tracked::HookedPrograms;

/// An event whose registers are kept, in plain events: measured with bench/values/pair.
const WITH_REGISTERS: f64 = 1.25;

/// How many plain events one with values costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// Where the agent reads memory.
    with_agent: f64,
    /// How many it costs more where the stub has the kernel read memory.
    read: f64,
}

impl Weights {
    /// Most of what the agent takes are system calls; these are measured here, on the same machine.
    pub(super) fn measure(cost: &Calibrated) -> Self {
        let plain = (cost.pair / 2.0).max(1.0);
        let with = |system_calls: f64| WITH_REGISTERS + system_calls / plain;
        Self { with_agent: with(best_ns(one_end)), read: best_ns(one_read) / plain }
    }

    /// What was recorded of a function, with what its values cost.
    /// `without_values`: those that are recorded without them now.
    pub(super) fn recorded(
        self,
        hooked: &HookedPrograms,
        without_values: &HashSet<FunctionId>,
        function: FunctionId,
        events: u64,
    ) -> Recorded {
        let module = hooked.modules.with_id(function.module());
        let probed = module.and_then(|module| module.captured.probed(function.symbol_index() as usize));
        let probed = probed.filter(|_| !without_values.contains(&function));
        let weight = probed.map_or(1.0, |probed| match probed.part {
            AgentPart::BothEnds => self.with_agent,
            AgentPart::Call | AgentPart::CallOnly => (self.with_agent + WITH_REGISTERS) / 2.0,
            AgentPart::Nothing | AgentPart::Seldom => WITH_REGISTERS,
            AgentPart::CallRegisters | AgentPart::CallWords => f64::midpoint(WITH_REGISTERS, 1.0),
            // Most of it is on the heap.
            AgentPart::Reads { in_memory, .. } => WITH_REGISTERS + f64::from(in_memory) * self.read / 2.0,
        });
        // Those that are kept seldom cost no more than that, and the analysis of waits lives on them.
        let has_values = probed.is_some_and(|probed| probed.part != AgentPart::Seldom);
        let of_agent = match probed.map(|probed| probed.part) {
            Some(AgentPart::BothEnds | AgentPart::Call | AgentPart::CallOnly) => (weight - WITH_REGISTERS).max(0.0),
            _ => 0.0,
        };
        Recorded { function, events, weight, of_agent, has_values }
    }
}

/// How long something takes that takes less than a microsecond or two.
pub(super) fn best_ns(work: fn()) -> f64 {
    const ROUNDS: usize = 20;
    const CALLS: u32 = 20;
    let best = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        (0..CALLS).for_each(|_| work());
        begun.elapsed().as_nanos() as f64 / f64::from(CALLS)
    });
    best.fold(f64::INFINITY, f64::min)
}

/// The system calls of one end of a call that the agent sees: signals are blocked and let in, and memory is read once.
fn one_end() {
    way_into_agent();
    one_read();
}

/// The system calls on the way to the agent and back.
pub(super) fn way_into_agent() {
    for _ in 0..2 {
        // SAFETY: nothing is added to the signals that are blocked.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), std::ptr::null_mut()) };
    }
}

fn one_read() {
    let (from, mut to) = ([0_u8; 32], [0_u8; 32]);
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: from.len() };
    // SAFETY: the bytes that are read and written are local.
    unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
}
