//! Texts that a stub has no way to read itself.

use ada_ring::arch::CallRegisters;
use ada_ring::probe::{BASES, PROBE_WORDS, RawProbe, UNREADABLE};

use crate::memory::pool;
use crate::reads::{self, Sources};

/// How many arguments are in registers; the first bases are these, in the same order.
const ARGUMENTS: usize = 6;

const _: () = assert!(ARGUMENTS <= CallRegisters::WORDS);

/// Reads what a probe reads at a call, into the stub's record of it, whose registers are there already.
///
/// # Safety
/// `record` is one that the calling thread has reserved, or that nobody reads.
pub(crate) unsafe fn take(record: *mut RawProbe, probe: u64) {
    let mut bases = [0; BASES];
    // SAFETY: the caller's promise. Where nobody reads the record, others write to it too: then these are any numbers.
    let registers = unsafe { (&raw const (*record).detail.registers).read_volatile() };
    bases[..ARGUMENTS].copy_from_slice(&registers[..ARGUMENTS]);
    let sources = Sources { bases, vectors: None };
    let mut words = [UNREADABLE; PROBE_WORDS];
    let mut count = 0;
    if let Some(probe) = pool().control().probes.get(probe as usize) {
        for read in probe.reads(false) {
            let end = count + read.count();
            if end > PROBE_WORDS {
                break;
            }
            reads::take(read, &sources, &mut words[count..end]);
            count = end;
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        (&raw mut (*record).words).cast::<u64>().copy_from_nonoverlapping(words.as_ptr(), count);
        (*record).count = count as u64;
    }
}
