//! Calls that were open when the process was attached to.

use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::state::private::{OPEN_FRAMES_AT, SHADOWS_AT};

/// Such a call. The recorder lists those of a thread one after the other, the oldest first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct OpenFrame {
    /// Where its return address lies.
    pub slot: AtomicU64,
    /// Where it returns to.
    pub return_address: AtomicU64,
    /// The thread; 0 once it has its frames.
    pub thread: AtomicU32,
    /// The function's number in its process.
    pub function: AtomicU32,
}

/// How many there can be.
pub const MAX_OPEN_FRAMES: usize = 32_768;

const _: () = assert!(OPEN_FRAMES_AT + MAX_OPEN_FRAMES * size_of::<OpenFrame>() <= SHADOWS_AT);
