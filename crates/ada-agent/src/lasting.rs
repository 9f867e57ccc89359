//! Memory that cannot go away while it is read, and so need not be asked of the kernel.
//!
//! A read that faults would go to the program's handler, or end the program. What another thread may unmap at any time, heap and
//! mappings of the program's own, is never read this way. Three kinds of memory are:
//!
//! - What was mapped read-only, when the program had been loaded, of the files that it was started with: its own, and those of
//!   the libraries that it needs. `dlclose` unmaps only what `dlopen` has brought, and these were there before anybody could call
//!   it. A program that takes its own constants away, or cuts off the file that they are in, has its fault where its next line
//!   of code reads one. Writable data is left out: there a program may well have a guard page of its own.
//! - What Go's runtime keeps for itself, see [`crate::go_memory`].
//! - The thread's own stack from the stack pointer up, as long as the stack pointer is in it: frames that are in use. How far it
//!   goes the C library says in the thread's descriptor, and the recorder of the stack that the kernel made. The stack of a
//!   coroutine, or of signal handlers, may have an end that nobody knows of; of these only the page of the stack pointer is
//!   read, which the stub has just written to.
//!
//! A `userfaultfd` may make any memory wait for the program: with the first one all this ends.

use ada_ring::ThreadState;
use ada_ring::lasting::{LASTING_RANGES, LastingRange};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::go_memory;

/// The list, which the recorder fills in: see [`ada_ring::lasting`]. Not writable in the target.
#[unsafe(no_mangle)]
pub(crate) static ADA_LASTING: [[AtomicU64; 2]; LASTING_RANGES + 1] =
    [const { [const { AtomicU64::new(LastingRange::END.start) }; 2] }; LASTING_RANGES + 1];

/// The address and length of what is to be read, in parts of which each follows the one before, where all of it is certain to be
/// there for a thread that has this stack pointer.
///
/// # Safety
/// `state` is the calling thread's own, and its stub has just written to the stack.
pub(crate) unsafe fn unasked(state: *mut ThreadState, stack_pointer: u64, remote: &[[u64; 2]]) -> Option<[u64; 2]> {
    in_page_of(stack_pointer, remote).or_else(|| {
        let address = remote.first()?[0];
        let length = remote.iter().map(|part| part[1]).sum();
        // SAFETY: the caller's promise.
        unsafe { holds(state, stack_pointer, address, length) }.then_some([address, length])
    })
}

/// The address and length of what is to be read, where it is in the page of a stack pointer.
fn in_page_of(stack: u64, remote: &[[u64; 2]]) -> Option<[u64; 2]> {
    const PAGE: u64 = 4096;
    let (&[address, length], rest) = remote.split_first()?;
    let distance = address.wrapping_sub(stack & !(PAGE - 1));
    let is_there = distance < PAGE && length <= PAGE - distance && rest.iter().all(|part| part[1] == 0);
    is_there.then_some([address, length])
}

/// Whether memory can be read without asking, by a thread that has this stack pointer.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn holds(state: *mut ThreadState, stack_pointer: u64, address: u64, length: u64) -> bool {
    let Some(end) = address.checked_add(length) else { return false };
    // SAFETY: the caller's promise.
    let (low, high, lasting) = unsafe { ((*state).own_stack_low, (*state).own_stack_high, (*state).lasting) };
    let is_on_stack = end <= high && address >= stack_pointer && stack_pointer >= low;
    // SAFETY: the caller's promise. The list is the whole one, or its end.
    is_on_stack
        || unsafe { go_memory::holds(state, stack_pointer, &(address..end)) }
        || lasting == &raw const ADA_LASTING as u64 && is_listed(address..end)
}

fn is_listed(memory: Range<u64>) -> bool {
    ADA_LASTING.iter().any(|range| {
        let [start, end] = range.each_ref().map(|word| word.load(Ordering::Relaxed));
        start <= memory.start && memory.start < end && memory.end <= end
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    #[test]
    fn only_the_page_of_the_stack_pointer_is_there_unasked() {
        let is_there = |address, length| in_page_of(0x7008, &[[address, length], [0x9000, 0]]).is_some();
        assert!(is_there(0x7000, 4096) && is_there(0x7ff8, 8) && is_there(0x7fff, 1));
        assert!(!is_there(0x7ff9, 8) && !is_there(0x6fff, 1) && !is_there(0x6ff8, 16) && !is_there(0x8000, 1));
        assert!(!is_there(0x7000, u64::MAX) && !is_there(u64::MAX, 2));
        assert!(in_page_of(0x7008, &[[0x7ff0, 16], [0x8000, 8]]).is_none() && in_page_of(0x7008, &[]).is_none());
    }

    #[test]
    fn the_stack_is_there_from_the_stack_pointer_up() {
        // SAFETY: all fields are integers, for which zeroes are valid.
        let mut state: Box<ThreadState> = unsafe { Box::new_zeroed().assume_init() };
        let mut is_there = |low, high, address, length| {
            (state.own_stack_low, state.own_stack_high) = (low, high);
            // SAFETY: the test's own.
            unsafe { holds(&raw mut *state, 0x7008, address, length) }
        };
        for (address, length) in [(0x7008, 8), (0x8ff8, 8), (0x7008, 0x1ff8)] {
            assert!(is_there(0x6000, 0x9000, address, length), "{address:#x}");
            assert!(!is_there(0, 0, address, length), "nothing is known");
            assert!(!is_there(0x8000, 0x9000, address, length), "the stack pointer is on another");
        }
        for (address, length) in [(0x7000, 8), (0x8ff9, 8), (u64::MAX - 3, 8), (0x7008, u64::MAX)] {
            assert!(!is_there(0x6000, 0x9000, address, length), "{address:#x}");
        }
    }
}
