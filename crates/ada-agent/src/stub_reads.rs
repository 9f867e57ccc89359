//! Reads that a stub, or the code at an exit, has no way to make itself.

use ada_ring::arch::{CallRegisters, RETURN_POPS};
use ada_ring::probe::{AT_RETURN, BASES, BASES_AT_CALL, Base, PROBE_WORDS, RawProbe, UNREADABLE};
use ada_ring::{ShadowFrame, ThreadState};

use crate::memory::pool;
use crate::reads::{self, Sources};
use crate::{arch, open_probes, probes};

/// How many arguments are in registers; the first bases are these, in the same order.
const ARGUMENTS: usize = 6;

const _: () = assert!(ARGUMENTS <= CallRegisters::WORDS);

/// Makes the reads of a probe at a call, or with [`AT_RETURN`] at a return, into the record of it, whose registers are there
/// already.
///
/// # Safety
/// `state` is the calling thread's own; `record` is one that the thread has reserved, or that nobody reads.
pub(crate) unsafe fn take(state: *mut ThreadState, record: *mut RawProbe, probe: u32) {
    let is_return = probe & AT_RETURN != 0;
    let mut bases = [0; BASES];
    // SAFETY: the caller's promise. Where nobody reads the record, others write to it too: then these are any numbers.
    let (registers, stack_pointer, vectors) = unsafe {
        let detail = &raw const (*record).detail;
        let registers = (&raw const (*detail).registers).read_volatile();
        (registers, (&raw const (*detail).stack_pointer).read_volatile(), arch::saved_vectors(state))
    };
    if is_return {
        [bases[Base::Result as usize], bases[Base::SecondResult as usize]] = [registers[0], registers[1]];
        bases[Base::Errno as usize] = probes::errno();
        // SAFETY: the caller's promise. The call's frame has just been taken out.
        unsafe {
            let frame = (*state).shadow_top + ShadowFrame::SIZE as u64;
            if let Some(number) = open_probes::of(state, frame, stack_pointer.wrapping_sub(RETURN_POPS)) {
                bases[..BASES_AT_CALL].copy_from_slice(&(*state).open_probes[number].registers);
            }
        }
    } else {
        bases[..ARGUMENTS].copy_from_slice(&registers[..ARGUMENTS]);
        bases[Base::Slot as usize] = stack_pointer;
    }
    let sources = Sources { bases, vectors };
    let mut words = [UNREADABLE; PROBE_WORDS];
    let mut count = 0;
    if let Some(probe) = pool().orders().probes.get((probe & !AT_RETURN) as usize) {
        for read in probe.reads(is_return) {
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
