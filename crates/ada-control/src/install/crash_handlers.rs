//! Puts the agent's handler where a program leaves a fatal signal to its default action.
//!
//! A program must not find the handler when it asks for a signal's action: some behave otherwise where somebody has
//! installed one already. The agent hides it while functions run that ask, so it is put in place only where these are
//! known and hooked.

use std::io;
use std::mem::offset_of;

use ada_agent::crash::FLAGS;
use ada_event::RuntimeAddr;
use ada_image::Sources;
use ada_patch::Verdict;
use ada_process::{Remote, SystemCall};
use ada_ring::state::ProcessBlock;

use crate::error::ControlError;
use crate::install::memory_layout::MemoryLayout;
use crate::install::open_in_target::injected;
use crate::install::target_memory::TargetMemory;
use crate::plan::module::Module;
use crate::plan::probes;

const SIGNALS: [i32; 7] =
    [libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS];
/// Bytes of the kernel's signal mask.
const MASK_BYTES: u64 = 8;
/// Bytes of a signal's action, as the kernel has it.
const ACTION: usize = 32;

/// What an image has to do with signal actions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SignalFacts {
    /// The function that asks for them is in it, and hooked.
    is_seen_asking: bool,
    is_go: bool,
}

impl SignalFacts {
    pub(crate) fn of(module: &Module) -> Self {
        let mut verdicts = module.verdicts.iter().enumerate();
        let is_seen_asking = verdicts.any(|(index, verdict)| {
            !matches!(verdict, Verdict::Skipped(_)) && probes::is_signal_action(&module.functions, index)
        });
        let is_go = module.functions.functions().iter().any(|function| function.sources.contains(Sources::GO));
        Self { is_seen_asking, is_go }
    }
}

/// Why fatal signals are not recorded in this process, if they are not; it would notice.
pub(crate) fn obstacle(
    images: impl Iterator<Item = SignalFacts> + Clone,
    has_depth_limit: bool,
) -> Option<&'static str> {
    if has_depth_limit {
        Some("calls below --max-depth are not seen")
    } else if images.clone().any(|image| image.is_go) {
        Some("Go asks for signal actions by system calls of its own")
    } else if !images.clone().any(|image| image.is_seen_asking) {
        Some("the program's function for signal actions is not known")
    } else {
        None
    }
}

/// Puts the handler in place for each fatal signal that has its default action.
pub(crate) fn install(remote: &dyn Remote, memory: &TargetMemory) -> Result<(), ControlError> {
    let scratch = memory.process_block + offset_of!(ProcessBlock, scratch) as u64;
    let saved = |signal: i32| {
        memory.process_block + offset_of!(ProcessBlock, default_actions) as u64 + (ACTION * signal as usize) as u64
    };
    let sigaction = |signal: i32, new: u64, old: u64| SystemCall {
        number: libc::SYS_rt_sigaction,
        arguments: [signal as u64, new, old, MASK_BYTES, 0, 0],
    };
    let call = |calls: &[SystemCall]| {
        let made = remote.system_calls(calls).and_then(|made| made.into_iter().collect::<io::Result<Vec<_>>>());
        made.map(drop).map_err(injected("catching fatal signals"))
    };
    call(&SIGNALS.map(|signal| sigaction(signal, 0, saved(signal).0)))?;
    let mut actions = [0; ACTION * 32];
    remote.read(saved(0), &mut actions).map_err(injected("reading signal actions"))?;
    // Handlers that there are already return to where the next ones will.
    let words: Vec<u64> = actions.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    if let Some(action) = words.chunks_exact(ACTION / 8).find(|action| action[0] > libc::SIG_IGN as u64) {
        let address = memory.process_block + offset_of!(ProcessBlock, signal_return) as u64;
        remote.write(address, &action[2].to_le_bytes()).map_err(injected("noting where handlers return to"))?;
    }
    let is_default = |signal: &i32| actions[ACTION * *signal as usize..][..8] == (libc::SIG_DFL as u64).to_le_bytes();
    let caught = SIGNALS.into_iter().filter(is_default);
    // As the kernel has it: handler, flags, restorer, mask.
    let action = [memory.crash.handler.0, FLAGS, memory.crash.restorer.0, u64::MAX].map(u64::to_le_bytes);
    remote.write(scratch, action.as_flattened()).map_err(injected("writing signal actions"))?;
    call(&caught.clone().map(|signal| sigaction(signal, scratch.0, 0)).collect::<Vec<_>>())?;
    let caught = caught.fold(0_u64, |caught, signal| caught | 1 << signal);
    let address = memory.process_block + offset_of!(ProcessBlock, crash_signals) as u64;
    remote.write(address, &caught.to_le_bytes()).map_err(injected("noting the handlers"))
}

/// Gives the signals back whose default action the handler stands for.
pub(crate) fn remove(remote: &dyn Remote, layout: MemoryLayout) -> io::Result<()> {
    let process_block = layout.process_block();
    let scratch = process_block + offset_of!(ProcessBlock, scratch) as u64;
    let address = process_block + offset_of!(ProcessBlock, crash_signals) as u64;
    let mut caught = [0; 8];
    remote.read(address, &mut caught)?;
    for signal in SIGNALS {
        let mut handler = [0; 8];
        remote.system_call(libc::SYS_rt_sigaction, [signal as u64, 0, scratch.0, MASK_BYTES, 0, 0])?;
        remote.read(scratch, &mut handler)?;
        if u64::from_le_bytes(caught) >> signal & 1 == 1
            && layout.all().contains(&RuntimeAddr(u64::from_le_bytes(handler)))
        {
            let saved = process_block + offset_of!(ProcessBlock, default_actions) as u64 + 32 * signal as u64;
            remote.system_call(libc::SYS_rt_sigaction, [signal as u64, saved.0, 0, MASK_BYTES, 0, 0])?;
        }
    }
    Ok(())
}
