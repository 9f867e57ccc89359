//! Which code the threads of a halted process are in, or will come back to.

use std::io;
use std::ops::Range;

use ada_event::{RuntimeAddr, ThreadId};
use ada_process::Remote;
use ada_process::arch::Registers;
use ada_process::maps::Mapping;
use ada_process::ptrace::{Halted, HaltedThread};

use super::goroutine_stack;
use crate::arch::signal_frame::{INTERRUPTED, SIGRETURN};
use crate::install::sites::Site;

/// As much of a stack as is looked at.
const STACK: u64 = 256 << 10;

/// What a thread was doing when it was halted.
pub(crate) struct ThreadStack {
    pub(crate) tid: ThreadId,
    pub(crate) registers: Registers,
    /// The words from its stack pointer on.
    words: Vec<u64>,
}

impl ThreadStack {
    /// Of each thread of a process.
    pub(crate) fn all(halted: &Halted, mappings: &[Mapping]) -> io::Result<Vec<Self>> {
        let of_thread = |thread: &HaltedThread| {
            let registers = thread.registers()?;
            Ok(Self { tid: thread.tid(), registers, words: stack(halted, mappings, registers.stack_pointer()) })
        };
        halted.threads().iter().map(of_thread).collect()
    }

    /// A word of the stack.
    pub(crate) fn word(&self, address: RuntimeAddr) -> Option<u64> {
        let distance = address.checked_sub(self.registers.stack_pointer().align_down(8))?;
        self.words.get(usize::try_from(distance / 8).ok()?).copied().filter(|_| distance.is_multiple_of(8))
    }
}

/// Addresses that some thread is at, or may come back to.
pub(crate) struct CodeInUse(Vec<RuntimeAddr>);

impl CodeInUse {
    /// Looks at registers, and at everything on the stacks that could be the address of an instruction.
    pub(crate) fn of(stacks: &[ThreadStack], code: &[Range<RuntimeAddr>]) -> Self {
        let is_code = |address: &RuntimeAddr| code.iter().any(|range| range.contains(address));
        let mut addresses: Vec<RuntimeAddr> = Vec::new();
        for stack in stacks {
            addresses.push(stack.registers.instruction_pointer());
            addresses.extend(stack.words.iter().copied().map(RuntimeAddr).filter(is_code));
        }
        addresses.sort_unstable();
        addresses.dedup();
        Self(addresses)
    }

    /// Whether a hook would change an instruction behind the first that it replaces, and some thread is there.
    pub(crate) fn has(&self, site: &Site) -> bool {
        site.ranges().any(|range| {
            let first = self.0.partition_point(|&address| address <= range.start);
            self.0.get(first).is_some_and(|&address| address < range.end)
        })
    }
}

/// Whether any thread is in some code, or will be once a signal handler of its returns. As [`is_within`].
pub(crate) fn is_any_within(
    halted: &Halted,
    mappings: &[Mapping],
    code: &[Range<RuntimeAddr>],
    has_goroutines: bool,
) -> io::Result<bool> {
    for thread in halted.threads() {
        if is_within(halted, mappings, &thread.registers()?, code, has_goroutines) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a thread with these registers is in some code, or will be once a signal handler of its returns. The code is in the
/// order of its addresses. `has_goroutines` where the process is a Go program's.
pub(crate) fn is_within(
    halted: &Halted,
    mappings: &[Mapping],
    registers: &Registers,
    code: &[Range<RuntimeAddr>],
    has_goroutines: bool,
) -> bool {
    let is_code = |address: RuntimeAddr| {
        let next = code.partition_point(|range| range.start <= address);
        next.checked_sub(1).is_some_and(|last| code[last].contains(&address))
    };
    let is_handler_return = |address: RuntimeAddr| {
        let mut bytes = [0; SIGRETURN.len()];
        halted.read(address, &mut bytes).is_ok() && bytes == SIGRETURN
    };
    if is_code(registers.instruction_pointer()) {
        return true;
    }
    // A handler that has just returned is at the end of its signal: the address that led it there is the word below.
    let from = RuntimeAddr(registers.stack_pointer().0.wrapping_sub(8));
    let mut words = stack(halted, mappings, from);
    if let Some(own) = Some(registers).filter(|_| has_goroutines).and_then(|it| goroutine_stack::current(halted, it)) {
        words.truncate(usize::try_from((own.end - from) / 8).unwrap_or(usize::MAX));
    }
    words
        .windows(INTERRUPTED + 1)
        .any(|window| is_code(RuntimeAddr(window[INTERRUPTED])) && is_handler_return(RuntimeAddr(window[0])))
}

/// The words of a stack from its top, as far as they can be read.
fn stack(halted: &Halted, mappings: &[Mapping], top: RuntimeAddr) -> Vec<u64> {
    let top = top.align_down(8);
    let Some(mapping) = mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&top)) else {
        return Vec::new();
    };
    let mut bytes = vec![0; STACK.min(mapping.end - top) as usize];
    if halted.read(top, &mut bytes).is_err() {
        return Vec::new();
    }
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
