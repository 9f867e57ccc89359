//! The doors: what the stubs' common code calls, with the return slot and the value of rcx.
//!
//! All vector registers are saved by then; errno, signals and the stack's other frames are never touched.

use ada_ring::state::OWNER_DISTANCE;
use ada_ring::{RawDetail, ThreadState};

use crate::registers::{gs_base, owner_mark};
use crate::{chunks, details, frames, loader, threads};

/// Gives the thread a state. 0 where none is to be had; the call then goes unrecorded.
#[unsafe(no_mangle)]
extern "C" fn ada_thread(slot: *mut u64, _position: u64) -> u64 {
    u64::from(threads::acquire(slot as u64).is_some())
}

/// Gives a place for a record.
#[unsafe(no_mangle)]
extern "C" fn ada_chunk(_slot: *mut u64, _position: u64) -> u64 {
    // SAFETY: the stub has checked that the state is this thread's.
    unsafe { chunks::place(gs_base() as *mut ThreadState) }
}

/// Puts the shadow stack in order before a call.
#[unsafe(no_mangle)]
extern "C" fn ada_fix(slot: *mut u64, _position: u64) -> u64 {
    // SAFETY: as above; the stub passes its own return slot.
    unsafe { frames::prepare_entry(gs_base() as *mut ThreadState, slot) };
    0
}

/// Finishes a return that the fast path could not.
#[unsafe(no_mangle)]
extern "C" fn ada_returned(slot: *mut u64, _position: u64) -> u64 {
    let state = gs_base() as *mut ThreadState;
    // SAFETY: GS always points at a state, and its owner word lies below it.
    let owner = unsafe { *((state as u64 - OWNER_DISTANCE as u64) as *const u64) };
    let owned = owner_mark() == Some(owner);
    let state = if owned { Some(state) } else { threads::acquire(slot as u64) };
    // Without a state of its own the thread borrows nobody's: state 0 has no frames, and its records go nowhere.
    let state = state.unwrap_or_else(|| crate::memory::state(0));
    // SAFETY: the thread's own state, and the slot that its return path has made again.
    unsafe { frames::finish_return(state, slot) };
    0
}

/// Makes the stack readable for an unwinder.
#[unsafe(no_mangle)]
extern "C" fn ada_unwind(slot: *mut u64, _position: u64) -> u64 {
    // SAFETY: as in `ada_fix`.
    unsafe { frames::begin_unwinding(gs_base() as *mut ThreadState, slot) };
    0
}

/// Waits until new libraries are hooked.
#[unsafe(no_mangle)]
extern "C" fn ada_loader(_slot: *mut u64, _position: u64) -> u64 {
    loader::libraries_changed();
    0
}

/// Gives a place for a detail record.
#[unsafe(no_mangle)]
extern "C" fn ada_detail_chunk(_slot: *mut u64, _position: u64) -> u64 {
    // SAFETY: as in `ada_chunk`.
    unsafe { details::place(gs_base() as *mut ThreadState) }
}

/// Copies a stack window into the detail record at `record`.
#[unsafe(no_mangle)]
extern "C" fn ada_stack(_slot: *mut u64, record: u64) -> u64 {
    // SAFETY: the stub has reserved the record and filled in its stack pointer.
    unsafe { details::copy_stack(gs_base() as *mut ThreadState, record as *mut RawDetail) };
    0
}
