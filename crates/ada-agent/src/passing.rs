//! Lets calls pass unrecorded while the recorder is gone: every switch that says to record says to count instead, in a
//! counter that stands for all functions. Handlers of signals are the exception: what they see is put right at their entry.
//!
//! The pages with the switches are the recorder's, and the first write makes them this process's own. A recorder that was taken for
//! gone, and is not, has calls recorded again from outside; the first thread that comes by afterwards gives the pages up, so
//! that the recorder's switches count again.

use ada_ring::Control;
use ada_ring::arena_front::{SWITCH_COUNT_AT, SWITCHES_AT};
use ada_ring::counters::{PASSED, switch_word};
use ada_ring::handler_functions::HandlerFunctions;
use ada_ring::origins::ListedArena;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::arch::number::{MADVISE, MPROTECT};
use crate::memory::process_block;
use crate::syscall;

const READ_AND_RUN: u64 = 1 | 4;
const WRITE: u64 = 2;
const PAGE: u64 = 4096;
const RECORDED: u32 = 0;
const GIVE_UP: u64 = 4;

/// Lets the calls of this process pass, unless another of its threads is at it. Called with signals blocked.
pub(crate) fn let_calls_pass(control: &Control) {
    with_switches(|| {
        process_block().has_own_switches.store(1, Ordering::Relaxed);
        for arena in listed() {
            // SAFETY: the recorder lists an arena once it is written, and nothing unmaps it before the hooks are gone.
            unsafe { let_pass(arena, &control.handlers) };
        }
        // SeqCst pairs with that of the recorder's heartbeat: one that is there after all sees these switches, or is seen here.
        if control.recorder_gone.load(Ordering::SeqCst) == 0 {
            give_switches_up();
        }
    });
}

/// Goes back to the recorder's switches, where this process has its own. Called with signals blocked, while the recorder lives.
pub(crate) fn record_again() {
    if process_block().has_own_switches.load(Ordering::Relaxed) != 0 {
        with_switches(give_switches_up);
    }
}

/// Does something unless another thread of the process is at its switches, or edits code: that makes pages unwritable, too.
fn with_switches(change: impl FnOnce()) {
    let busy = &process_block().edits_busy;
    if busy.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        change();
        busy.store(0, Ordering::Release);
    }
}

fn listed() -> impl Iterator<Item = &'static ListedArena> {
    process_block().arenas.iter().filter(|arena| arena.start.load(Ordering::Acquire) != 0)
}

fn give_switches_up() {
    for arena in listed() {
        // SAFETY: as in `let_calls_pass`. What these pages hold is in the file, too.
        unsafe {
            let (start, switches) = switches_of(arena);
            syscall::call(MADVISE, [start, length_of(switches), GIVE_UP, 0, 0, 0]);
        }
    }
    process_block().has_own_switches.store(0, Ordering::Relaxed);
}

/// # Safety
/// The arena is there.
unsafe fn let_pass(arena: &ListedArena, handlers: &HandlerFunctions) {
    // SAFETY: the caller's promise.
    let (start, switches) = unsafe { switches_of(arena) };
    let numbers = arena.first_function.load(Ordering::Relaxed) as u32..;
    let recorded = || {
        let numbered = switches.iter().zip(numbers.clone());
        numbered.filter(|(switch, number)| switch.load(Ordering::Relaxed) == RECORDED && !handlers.has(*number))
    };
    if recorded().next().is_none() {
        return;
    }
    let protect = |rights: u64| {
        // SAFETY: pages of ada's own, which stay as readable and executable as they are.
        unsafe { syscall::call(MPROTECT, [start, length_of(switches), rights, 0, 0, 0]) }
    };
    if protect(READ_AND_RUN | WRITE) == 0 {
        recorded().for_each(|(switch, _)| switch.store(switch_word(PASSED), Ordering::SeqCst));
        protect(READ_AND_RUN);
    }
}

/// Where an arena starts, and its switches.
///
/// # Safety
/// The arena is there.
unsafe fn switches_of(arena: &ListedArena) -> (u64, &'static [AtomicU32]) {
    let start = arena.start.load(Ordering::Acquire);
    // SAFETY: the caller's promise; both lie in the arena's first pages.
    unsafe {
        let count = *((start + SWITCH_COUNT_AT as u64) as *const u64);
        (start, core::slice::from_raw_parts((start + SWITCHES_AT as u64) as *const AtomicU32, count as usize))
    }
}

/// Bytes of the pages that hold an arena's switches.
fn length_of(switches: &[AtomicU32]) -> u64 {
    ((SWITCHES_AT + size_of_val(switches)) as u64).next_multiple_of(PAGE)
}
