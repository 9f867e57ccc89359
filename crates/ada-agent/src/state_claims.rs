//! Which of the process's states are taken, each by a thread, or by a stack that needs only its shadow stack.

use ada_ring::state::STATES;
use core::sync::atomic::Ordering;

use crate::arch::clock;
use crate::memory::{owner, process_block, regions, state_threads, states};
use crate::{growth, syscall, tall_stacks};

/// Stands for a thread where only the shadow stack is in use.
const A_STACK: u32 = u32::MAX;
/// How often to look for states of threads that have ended, in ticks of the clock: some milliseconds.
const LOOK_EVERY: u64 = 10_000_000;
/// Of how many states to ask at one time whether their threads have ended, where none is fresh, …
const A_FEW: usize = 64;
/// … and before a fresh one is taken. Its memory costs a dozen page faults, each as much as several such questions: where
/// threads come and go, they have those states in turn that are there already.
const BEFORE_FRESH: usize = 4;

/// Claims the shadow stack of a state that no thread gets.
pub(crate) fn claim_for_stack() -> Option<usize> {
    claim(A_STACK, syscall::process())
}

/// The same, given back.
pub(crate) fn give_back(number: usize) {
    if number != 0 && number < states() {
        tall_stacks::give_back(number);
        let _ = state_threads(number / STATES)[number % STATES].compare_exchange(
            A_STACK,
            0,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }
}

/// Claims a state for a thread of this process; `None` where all belong to living ones.
pub(crate) fn claim(thread: u32, process: u32) -> Option<usize> {
    let claimed = claim_any(thread, process)?;
    tall_stacks::give_back(claimed);
    Some(claimed)
}

fn claim_any(thread: u32, process: u32) -> Option<usize> {
    let holder = |number: usize| &state_threads(number / STATES)[number % STATES];
    let take = |number: usize, from: u32| {
        holder(number).compare_exchange(from, thread, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    // A dead thread's chunks are the drain's to find: by now they may already belong to others.
    let take_over = |number: &usize| {
        let from = holder(*number).load(Ordering::Relaxed);
        from != A_STACK
            && syscall::is_no_thread_of(process, from)
            // Another process may share this memory, as after a vfork, and have states here. In a fork child, where the kernel
            // has zeroed the owner words, those of the parent's threads are nobody's.
            && (owner(*number).load(Ordering::Relaxed) == 0 || syscall::is_thread_gone(from))
            && take(*number, from)
    };
    // Those among the first `count` whose turn it is to be asked about.
    let find_ended = |few: usize, count: usize| {
        let from = process_block().look_from.fetch_add(few as u32, Ordering::Relaxed) as usize;
        (0..few.min(count)).map(|number| 1 + (from + number) % count).find(take_over)
    };
    let used = process_block().states_used.load(Ordering::Relaxed) as usize;
    if let Some(number) = find_ended(BEFORE_FRESH, used) {
        return Some(number);
    }
    loop {
        let (regions, states) = (regions(), states());
        if let Some(number) = (1..states).find(|&number| holder(number).load(Ordering::Relaxed) == 0 && take(number, 0))
        {
            process_block().states_used.fetch_max(number as u32, Ordering::Relaxed);
            return Some(number);
        }
        // Each question takes its time. Where threads come and go, one of a few is gone; where all stay, another region
        // is needed sooner or later.
        if let Some(number) = find_ended(A_FEW, states - 1) {
            return Some(number);
        }
        if growth::add_region(regions) {
            continue;
        }
        // A thread without a state comes here with every call.
        let look_again_at = &process_block().look_again_at;
        if clock() < look_again_at.load(Ordering::Relaxed) {
            return None;
        }
        let found = (1..states).find(take_over);
        if found.is_none() {
            look_again_at.store(clock() + LOOK_EVERY, Ordering::Relaxed);
        }
        return found;
    }
}
