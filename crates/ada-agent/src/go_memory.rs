//! Memory of Go's runtime, which need not be asked of the kernel: see [`crate::lasting`].
//!
//! The runtime never unmaps where it has its goroutines, its threads and their stacks: what it does not need it keeps for others, and
//! at most lets the kernel have the pages' contents. Each time that it goes from one goroutine to another, all of these are looked
//! at, and three system calls would take longer than that.
//!
//! What is taken for a goroutine is one if it fits together: its stack is the one that the thread is on, its thread has a goroutine
//! for the runtime's own work, and that one has the same thread. Such a description is read by a system call the first time, and
//! the pages that it lies in are remembered.

use ada_ring::ThreadState;
use ada_ring::state::RUNTIME_PAGES;
use core::ops::Range;
use core::sync::atomic::Ordering;

use crate::memory::process_block;

const PAGE: u64 = 4096;

/// Whether memory is certain to be there, for a thread that has this stack pointer.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn holds(state: *const ThreadState, stack_pointer: u64, memory: &Range<u64>) -> bool {
    // SAFETY: the caller's promise.
    let (stack, pages) =
        unsafe { (!(*state).floor_complement..(*state).goroutine_stack_high, &(*state).runtime_pages) };
    // A place that is not taken has the number of the first page, where nothing is.
    if memory.is_empty() || memory.start < PAGE {
        return false;
    }
    let is_on_stack = stack.contains(&stack_pointer) && memory.start >= stack_pointer && memory.end <= stack.end;
    if !is_on_stack && !pages_of(memory).all(|page| pages[place(page)] == page) {
        return false;
    }
    process_block().faults_are_watched.load(Ordering::Relaxed) == 0
}

/// Takes note of the pages of what was found to be the runtime's.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn learn(state: *mut ThreadState, memory: &Range<u64>) {
    // SAFETY: the caller's promise.
    pages_of(memory).for_each(|page| unsafe { (*state).runtime_pages[place(page)] = page });
}

/// The numbers of the pages.
fn pages_of(memory: &Range<u64>) -> impl Iterator<Item = u64> {
    memory.start / PAGE..=(memory.end - 1) / PAGE
}

fn place(page: u64) -> usize {
    // Pages that are used one after the other have places of their own, and so have the same pages of two arenas.
    (page ^ page >> 14) as usize % RUNTIME_PAGES
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;

    #[test]
    fn pages_are_remembered_until_others_take_their_places() {
        // SAFETY: all fields are integers, for which zeroes are valid.
        let mut state: Box<ThreadState> = unsafe { Box::new_zeroed().assume_init() };
        let known = |state: &ThreadState, memory: Range<u64>| {
            pages_of(&memory).all(|page| state.runtime_pages[place(page)] == page)
        };
        let both = 0xc00_0000_0ff8..0xc00_0000_1008;
        assert!(!known(&state, both.clone()));
        // SAFETY: the test's own.
        assert!(unsafe {
            !holds(&raw const *state, 0, &(8..16)) && !holds(&raw const *state, 0, &(both.start..both.start))
        });
        // SAFETY: the test's own.
        unsafe { learn(&raw mut *state, &both) };
        assert!(known(&state, both) && known(&state, 0xc00_0000_0000..0xc00_0000_2000));
        assert!(!known(&state, 0xc00_0000_1ff8..0xc00_0000_2008));
        let same_place = 0xc00_0000_0000 + RUNTIME_PAGES as u64 * PAGE;
        // SAFETY: the test's own.
        unsafe { learn(&raw mut *state, &(same_place..same_place + 8)) };
        assert!(!known(&state, 0xc00_0000_0000..0xc00_0000_0008));
    }
}
