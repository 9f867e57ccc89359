//! The doors: what the stubs' common code calls, with the return slot and the value of rcx.
//!
//! All vector registers are saved by then; errno, signals and the stack's other frames are never touched.

use ada_ring::state::{OWNER_DISTANCE, StackChange};
use ada_ring::{RawDetail, RawRecord, ThreadState};

use crate::x86_64::registers::{Saved, gs_base, owner_mark};
use crate::{chunks, details, frames, jumps, loader, probes, threads, unwinding};

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
    // SAFETY: the thread's own state, and the slot that its return path has made again.
    unsafe { frames::finish_return(state_on_return(slot), slot) };
    0
}

/// The state of a thread that returns. Without one of its own it borrows nobody's: state 0 has no frames, and its records
/// go nowhere.
fn state_on_return(slot: *mut u64) -> *mut ThreadState {
    let state = gs_base() as *mut ThreadState;
    // SAFETY: GS always points at a state, and its owner word lies below it.
    let owner = unsafe { *((state as u64 - OWNER_DISTANCE as u64) as *const u64) };
    let owned = owner_mark() == Some(owner);
    let state = if owned { Some(state) } else { threads::acquire(slot as u64) };
    state.unwrap_or_else(|| crate::memory::state(0))
}

/// Keeps what a runtime probe sees of a call.
#[unsafe(no_mangle)]
extern "C" fn ada_probe_call(slot: *mut u64, record: u64, probe: u64) -> u64 {
    // SAFETY: as in `ada_fix`; the stub has reserved the record and filled it in but for the time.
    unsafe { probes::call(gs_base() as *mut ThreadState, slot, record as *mut RawRecord, probe) };
    0
}

/// The same for a return.
#[unsafe(no_mangle)]
extern "C" fn ada_probe_returned(slot: *mut u64, _position: u64) -> u64 {
    // SAFETY: as in `ada_returned`.
    unsafe { probes::returned(state_on_return(slot), slot) };
    0
}

/// Hears that the function about to run changes the stack.
#[unsafe(no_mangle)]
extern "C" fn ada_stack_change(slot: *mut u64, change: u64) -> u64 {
    let state = gs_base() as *mut ThreadState;
    // SAFETY: as in `ada_fix`; the stubs of such functions pass the change.
    unsafe {
        match StackChange::from_number(change) {
            Some(StackChange::Unwind) => unwinding::begin(state, slot, false),
            Some(StackChange::Walk) => unwinding::begin(state, slot, true),
            Some(StackChange::LongJump) => jumps::long_jump(state, slot as u64, Saved::below(slot).rdi),
            Some(StackChange::SwapContext) => jumps::switch_context(state, Saved::below(slot).rsi),
            Some(StackChange::SetContext) => jumps::switch_context(state, Saved::below(slot).rdi),
            None => {}
        }
    }
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

/// Copies the stack window at `from` into the detail record at `record`.
#[unsafe(no_mangle)]
extern "C" fn ada_stack(_slot: *mut u64, record: u64, from: u64) -> u64 {
    // SAFETY: the stub has reserved the record, and passes the address of its own return slot.
    unsafe { details::copy_stack(gs_base() as *mut ThreadState, record as *mut RawDetail, from) };
    0
}
