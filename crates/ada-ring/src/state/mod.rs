//! What a thread of the target carries: its state behind the GS base, and its shadow stack.
//!
//! These live in the target's private memory, so that a fork copies them; the stubs address the fields by the offsets
//! of [`ThreadState`]. The owner word lies [`OWNER_DISTANCE`] below the state, in pages that the kernel zeroes in a fork
//! child: the child's first event then fails the owner check and takes a state of its own.

mod known_stack;
mod open_frame;
pub mod private;
mod process_block;
mod ring_note;
mod thread_state;

pub use known_stack::{KnownStack, MAX_KNOWN_STACKS};
pub use open_frame::{MAX_OPEN_FRAMES, OpenFrame};
pub use private::{MAX_REGIONS, OWNER_DISTANCE, STATE_STRIDE, STATES};
pub use process_block::ProcessBlock;
pub use ring_note::{RING_NOTES, RING_SETUP, RingNote};
pub use thread_state::{
    HANDLER_FRAMES, INTERRUPTIONS, Interruption, NO_CHUNK, PROBE_CALLS, ProbeCall, RUNTIME_PAGES, SLOW_CALLS, SlowCall,
    ThreadState,
};
