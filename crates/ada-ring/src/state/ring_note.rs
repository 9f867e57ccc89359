//! What the agent remembers of a ring that the program shares with the kernel (`io_uring`).

use core::sync::atomic::AtomicU64;

/// How many rings of a process are remembered.
pub const RING_NOTES: usize = 32;

/// Words that say how a ring is set up.
pub const RING_SETUP: usize = 4;

/// A ring. All zero for none.
#[repr(C)]
pub struct RingNote {
    /// Which one: the address of liburing's structure, or its descriptor with a mark.
    pub key: AtomicU64,
    /// How the kernel has set it up; zeros where that was not seen.
    pub setup: [AtomicU64; RING_SETUP],
    /// The position behind the last completion that was seen.
    pub seen: AtomicU64,
    /// Since when looks at it are counted, in ticks of the clock, …
    pub since: AtomicU64,
    /// … and how many there were.
    pub looks: AtomicU64,
}
