//! Typed access to the process's side of the shared layout.

use ada_ring::state::{ProcessBlock, STATE_STRIDE, STATES, private};
use ada_ring::{Pool, ShadowFrame, ThreadState};
use core::sync::atomic::AtomicU64;

use crate::config::{Item, get};

/// The shared memory.
pub fn pool() -> Pool {
    // SAFETY: the recorder maps it before any agent code runs, and nothing unmaps it.
    unsafe { Pool::at(get(Item::Pool) as *mut u8) }
}

/// The process block.
pub fn process_block() -> &'static ProcessBlock {
    let address = get(Item::Private) + private::PROCESS_AT as u64;
    // SAFETY: mapped before any agent code runs; only atomics, for which zeroed memory is valid.
    unsafe { &*(address as *const ProcessBlock) }
}

/// The number of the state at an address.
pub fn state_number(state: u64) -> Option<usize> {
    let distance = state.checked_sub(get(Item::Private) + private::STATES_AT as u64)?;
    let number = distance as usize / STATE_STRIDE;
    (number < STATES).then_some(number)
}

/// The address of a state.
pub fn state_address(number: usize) -> u64 {
    get(Item::Private) + (private::STATES_AT + number * STATE_STRIDE) as u64
}

/// A state.
pub fn state(number: usize) -> *mut ThreadState {
    state_address(number) as *mut ThreadState
}

/// The word that says which thread, by its FS base, a state belongs to.
pub fn owner(number: usize) -> &'static AtomicU64 {
    let address = get(Item::Private) + (number * STATE_STRIDE) as u64;
    // SAFETY: mapped before any agent code runs; all bit patterns are valid.
    unsafe { &*(address as *const AtomicU64) }
}

/// The sentinel below a state's first shadow frame.
pub fn shadow_base(number: usize) -> *mut ShadowFrame {
    (get(Item::Private) + (private::SHADOWS_AT + number * private::SHADOW_BYTES) as u64) as *mut ShadowFrame
}
