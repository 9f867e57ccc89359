//! Where things are in a region of the target's private memory, from its start: owner words, states, process block, shadow
//! stacks, the agent's stacks.

pub use crate::shadow_stack::SHADOW_BYTES;
use crate::shadow_stack::{TALL_STRIDE, TALLS_AT};

/// How many thread states a process has from the start, and gets at a time where these are not enough: a region of its
/// private memory.
pub const STATES: usize = 256;
/// How many regions a process can have.
pub const MAX_REGIONS: usize = 64;
/// Bytes from one state to the next.
pub const STATE_STRIDE: usize = 4096;
/// How far below a state its owner word lies.
pub const OWNER_DISTANCE: usize = STATES * STATE_STRIDE;

/// The states.
pub const STATES_AT: usize = OWNER_DISTANCE;
/// The process block.
pub const PROCESS_AT: usize = STATES_AT + STATES * STATE_STRIDE;
/// Bytes of the process block.
pub const PROCESS_BYTES: usize = 5 * 4096;
/// What is known of the process's stacks; only in the first region.
pub const KNOWN_STACKS_AT: usize = PROCESS_AT + PROCESS_BYTES;
/// The calls that were open when the process was attached to; only in the first region.
pub const OPEN_FRAMES_AT: usize = KNOWN_STACKS_AT + (1 << 20);
/// The shadow stacks, each at a multiple of its length: see [`crate::shadow_stack`].
pub const SHADOWS_AT: usize = (OPEN_FRAMES_AT + (1 << 20)).next_multiple_of(SHADOW_BYTES);
/// The stacks that the agent runs on.
pub const STACKS_AT: usize = SHADOWS_AT + STATES * SHADOW_BYTES;
/// Bytes of one of them.
pub const STACK_BYTES: usize = 32 << 10;
/// Bytes of a region.
pub const BYTES: usize = STACKS_AT + STATES * STACK_BYTES;
/// Bytes from one region to the next.
pub const REGION_STRIDE: usize = 1 << 29;
/// Bytes at the start of a region that a fork child finds zeroed.
pub const WIPED_BYTES: usize = OWNER_DISTANCE;

const _: () = {
    assert!(OWNER_DISTANCE <= i32::MAX as usize);
    assert!(REGION_STRIDE == TALL_STRIDE && BYTES <= TALLS_AT, "tall ones lie between regions");
};
