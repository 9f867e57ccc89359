//! Tells the agent what it has to know of Go's runtime in a program.

use std::io;
use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_image::Sources;
use ada_patch::{SkipReason, Verdict};
use ada_process::Remote;
use ada_ring::state::ProcessBlock;

use crate::plan::module::Module;

/// What an image has of the runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoRuntime {
    /// Where signal handlers return to, in the image. Programs with C code use that of the C library.
    signal_return: Option<RuntimeAddr>,
}

impl GoRuntime {
    /// Nothing for an image without functions of Go.
    pub(crate) fn of(module: &Module) -> Option<Self> {
        let functions = module.functions.functions().iter().zip(&*module.verdicts);
        let mut of_go = functions.filter(|(function, _)| function.sources.contains(Sources::GO)).peekable();
        of_go.peek()?;
        let is_signal_return = |verdict: &Verdict| *verdict == Verdict::Skipped(SkipReason::SignalTrampoline);
        let signal_return = of_go.find(|(_, verdict)| is_signal_return(verdict));
        Some(Self { signal_return: signal_return.map(|(function, _)| function.start.at_bias(module.bias)) })
    }

    pub(crate) fn announce(&self, remote: &dyn Remote, process_block: RuntimeAddr) -> io::Result<()> {
        let write = |offset: usize, value: u64| remote.write(process_block + offset as u64, &value.to_le_bytes());
        write(offset_of!(ProcessBlock, goroutines), 1)?;
        self.signal_return.map_or(Ok(()), |address| write(offset_of!(ProcessBlock, signal_return), address.0))
    }
}
