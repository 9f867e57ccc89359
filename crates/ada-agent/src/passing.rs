//! Lets calls pass unrecorded while the recorder is gone: every switch that says to record says to count instead, in a
//! counter that stands for all functions. A recorder that was taken for gone, and is not, finds them by that and sets them
//! back.

use ada_ring::Control;
use ada_ring::arena_front::{SWITCH_COUNT_AT, SWITCHES_AT};
use ada_ring::counters::{PASSED, switch_word};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::arch::number::MPROTECT;
use crate::memory::process_block;
use crate::syscall;

const READ_AND_RUN: u64 = 1 | 4;
const WRITE: u64 = 2;
const PAGE: u64 = 4096;
const RECORDED: u32 = 0;

/// Lets the calls of this process pass, unless another of its threads is at it. Called with signals blocked.
pub(crate) fn let_calls_pass(control: &Control) {
    let block = process_block();
    // A thread that edits code makes pages unwritable again, too.
    if block.edits_busy.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return;
    }
    set_all(RECORDED, switch_word(PASSED));
    // SeqCst pairs with that of the recorder's heartbeat: one that is there after all sees these switches, or is seen here.
    if control.recorder_gone.load(Ordering::SeqCst) == 0 {
        set_all(switch_word(PASSED), RECORDED);
    }
    block.edits_busy.store(0, Ordering::Release);
}

fn set_all(from: u32, to: u32) {
    for arena in &process_block().arenas {
        let start = arena.start.load(Ordering::Acquire);
        if start != 0 {
            // SAFETY: the recorder lists an arena once it is written, and nothing unmaps it before the hooks are gone.
            unsafe { set(start, from, to) };
        }
    }
}

/// # Safety
/// There is an arena at `start`.
unsafe fn set(start: u64, from: u32, to: u32) {
    // SAFETY: the caller's promise; both lie in the arena's first pages.
    let switches = unsafe {
        let count = *((start + SWITCH_COUNT_AT as u64) as *const u64);
        core::slice::from_raw_parts((start + SWITCHES_AT as u64) as *const AtomicU32, count as usize)
    };
    if switches.iter().all(|switch| switch.load(Ordering::Relaxed) != from) {
        return;
    }
    let length = (SWITCHES_AT + size_of_val(switches)) as u64;
    let protect = |rights: u64| {
        let arguments = [start, length.next_multiple_of(PAGE), rights, 0, 0, 0];
        // SAFETY: pages of ada's own, which stay as readable and executable as they are.
        unsafe { syscall::call(MPROTECT, arguments) }
    };
    if protect(READ_AND_RUN | WRITE) == 0 {
        for switch in switches {
            // The recorder may set it, too.
            let _ = switch.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed);
        }
        protect(READ_AND_RUN);
    }
}
