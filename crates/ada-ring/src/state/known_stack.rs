//! What is known of a stack that a thread has left for another one, or has come to from another one.

use crate::state::private::{KNOWN_STACKS_AT, OPEN_FRAMES_AT};

/// A stack of the process. They are in the order of their addresses, which no two of them share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct KnownStack {
    /// From here …
    pub low: u64,
    /// … to here it is known to be this stack.
    pub high: u64,
    /// The newest frame of its shadow stack, while no thread is on it.
    pub top: u64,
    /// The stack pointer that it goes on with, if `swapcontext` has left it; else 0.
    pub left_at: u64,
    /// The number of its shadow stack.
    pub number: u32,
    /// The thread that is on it; 0 for none.
    pub user: u32,
    /// 1 where the program has said how long it is.
    pub is_exact: u64,
    /// The goroutine whose stack it is, and by which it is known wherever it is moved; 0 for none.
    pub goroutine: u64,
}

/// How many stacks can be known.
pub const MAX_KNOWN_STACKS: usize = 16_384;

const _: () = assert!(KNOWN_STACKS_AT + MAX_KNOWN_STACKS * size_of::<KnownStack>() <= OPEN_FRAMES_AT);
