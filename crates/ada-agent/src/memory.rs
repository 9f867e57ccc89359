//! Typed access to the process's side of the shared layout.

use ada_ring::shadow_stack::MOST_TALLS;
use ada_ring::state::{
    KnownStack, MAX_KNOWN_STACKS, MAX_REGIONS, OpenFrame, ProcessBlock, STATE_STRIDE, STATES, private,
};
use ada_ring::{Orders, Pool, ShadowFrame, ThreadState, shadow_stack};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::config::{Item, get};

/// The shared memory.
pub fn pool() -> Pool {
    // SAFETY: the recorder maps both before any agent code runs, and nothing unmaps them.
    unsafe { Pool::at(get(Item::Pool) as *mut u8, get(Item::Orders) as *const Orders) }
}

/// The process block.
pub fn process_block() -> &'static ProcessBlock {
    region_block(0)
}

/// The threads of a region's states.
pub fn state_threads(region: usize) -> &'static [AtomicU32; STATES] {
    &region_block(region).state_threads
}

/// How many regions of states there are.
pub fn regions() -> usize {
    // Acquire pairs with Release in `growth::add_region`: who sees the number sees the region.
    1 + (process_block().further_regions.load(Ordering::Acquire) as usize).min(MAX_REGIONS - 1)
}

/// How many states there are.
pub fn states() -> usize {
    regions() * STATES
}

fn region_block(region: usize) -> &'static ProcessBlock {
    let address = region_address(region) + private::PROCESS_AT as u64;
    // SAFETY: the first is mapped before any agent code runs, and the others before they are counted; only atomics, for
    // which zeroed memory is valid.
    unsafe { &*(address as *const ProcessBlock) }
}

/// Where a region is, or will be.
pub fn region_address(region: usize) -> u64 {
    get(Item::Private) + (region * private::REGION_STRIDE) as u64
}

/// The number of the state at an address.
pub fn state_number(state: u64) -> Option<usize> {
    let distance = state.checked_sub(get(Item::Private))? as usize;
    let region = distance / private::REGION_STRIDE;
    let within = (distance % private::REGION_STRIDE).checked_sub(private::STATES_AT)? / STATE_STRIDE;
    (within < STATES && region < regions()).then_some(region * STATES + within)
}

/// The address of a state.
pub fn state_address(number: usize) -> u64 {
    region_address(number / STATES) + (private::STATES_AT + number % STATES * STATE_STRIDE) as u64
}

/// A state.
pub fn state(number: usize) -> *mut ThreadState {
    state_address(number) as *mut ThreadState
}

/// The word that says which thread, by its FS base, a state belongs to.
pub fn owner(number: usize) -> &'static AtomicU64 {
    let address = region_address(number / STATES) + (number % STATES * STATE_STRIDE) as u64;
    // SAFETY: mapped with the state; all bit patterns are valid.
    unsafe { &*(address as *const AtomicU64) }
}

/// The end of the stack that the agent runs on for a state.
pub fn agent_stack(number: usize) -> u64 {
    let within = private::STACKS_AT + (number % STATES + 1) * private::STACK_BYTES;
    region_address(number / STATES) + within as u64
}

/// The sentinel below the first frame of a shadow stack.
pub fn shadow_base(number: usize) -> *mut ShadowFrame {
    sentinel_in(tall_start(number).unwrap_or_else(|| shadow_start(number)))
}

/// The same of the one that a stack has to begin with.
pub fn first_shadow_base(number: usize) -> *mut ShadowFrame {
    sentinel_in(shadow_start(number))
}

/// The end of a shadow stack's memory.
pub fn shadow_end(number: usize) -> u64 {
    match tall_start(number) {
        Some(start) => start + shadow_stack::TALL_BYTES as u64,
        None => shadow_start(number) + private::SHADOW_BYTES as u64,
    }
}

/// The memory of the tall shadow stack that has taken the place of one, if there is any.
pub fn tall_start(number: usize) -> Option<u64> {
    let block = process_block();
    let used = (block.talls_used.load(Ordering::Relaxed) as usize).min(MOST_TALLS);
    let tall = block.tall_of[..used].iter().position(|of| of.load(Ordering::Relaxed) == number as u32);
    tall.filter(|_| number != 0).map(tall_address)
}

/// Where a tall shadow stack is, or will be.
pub fn tall_address(tall: usize) -> u64 {
    shadow_stack::tall_at(region_address(0), tall)
}

fn sentinel_in(start: u64) -> *mut ShadowFrame {
    (start + u64::from(shadow_stack::sentinel_at(start as u32))) as *mut ShadowFrame
}

fn shadow_start(number: usize) -> u64 {
    let within = private::SHADOWS_AT + number % STATES * private::SHADOW_BYTES;
    region_address(number / STATES) + within as u64
}

/// What is known of the process's stacks.
pub fn known_stacks() -> *mut [KnownStack; MAX_KNOWN_STACKS] {
    (region_address(0) + private::KNOWN_STACKS_AT as u64) as *mut _
}

/// A call that was open when the process was attached to.
pub fn open_frame(number: usize) -> &'static OpenFrame {
    let address = region_address(0) + (private::OPEN_FRAMES_AT + number * size_of::<OpenFrame>()) as u64;
    // SAFETY: mapped with the first region, and there is room for `MAX_OPEN_FRAMES`; only atomics.
    unsafe { &*(address as *const OpenFrame) }
}
