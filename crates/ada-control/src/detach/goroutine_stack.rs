//! Where the stack of what a thread of a Go program runs ends.

use std::ops::Range;

use ada_event::RuntimeAddr;
use ada_process::Remote;
use ada_process::arch::Registers;

/// Where a thread has its current goroutine, from its thread pointer.
const CURRENT: u64 = 8;

/// The stack that a thread of a Go program is on, as the runtime has it: stacks of others lie right above, and those that signals
/// are handled on keep what was there before. Nothing where the thread is on another one.
pub(crate) fn current(remote: &dyn Remote, registers: &Registers) -> Option<Range<RuntimeAddr>> {
    let word = |address: u64| {
        let mut bytes = [0; 8];
        remote.read(RuntimeAddr(address), &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    };
    let goroutine = word(registers.thread_pointer().0.checked_sub(CURRENT)?)?;
    let stack = RuntimeAddr(word(goroutine)?)..RuntimeAddr(word(goroutine.checked_add(8)?)?);
    Some(stack).filter(|stack| stack.contains(&registers.stack_pointer()))
}
