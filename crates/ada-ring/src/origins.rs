//! Where an arena's code comes from: a table behind the arena, by which the agent shows signal handlers the addresses
//! that the program has, and not those of its displaced instructions and stubs.
//!
//! ```text
//! 0    how many origins there are, and how many depths
//! 8    the origins, in the order of the arena's code
//! …    the depths of all kinds of stubs
//! ```

/// A stretch of an arena's code. Addresses are distances from the arena's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Origin {
    /// Where it begins.
    pub at: u32,
    /// What it stands for: where its first instruction was, or the first instruction of a stub's function.
    pub original: i32,
    /// The bytes of displaced instructions, each as far from the first as it was; or [`Self::STUB`] or [`Self::CALLED`], and
    /// the number of the list that says how much is on the stack.
    pub what: u32,
}

impl Origin {
    /// In `what`: a stub.
    pub const STUB: u32 = 1 << 31;
    /// In `what`: code that a stub calls. It stands for what the stub does, whose address is on the stack.
    pub const CALLED: u32 = 1 << 30;
    /// Bytes of an entry.
    pub const SIZE: usize = size_of::<Self>();
}

/// From some distance on, a stub has so many bytes more on the stack than the function would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct StubDepth {
    /// Which list it belongs to.
    pub list: u16,
    /// The distance from the start of the stub's part.
    pub from: u16,
    /// The bytes; [`Self::UNKNOWN`] where nothing is known.
    pub depth: u32,
}

impl StubDepth {
    /// Bytes of an entry.
    pub const SIZE: usize = size_of::<Self>();
    /// The stack is not known.
    pub const UNKNOWN: u32 = u32::MAX;
}

/// Bytes before the first origin.
pub const HEADER: usize = 8;

/// An arena of a process that has such a table.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ListedArena {
    /// Where the arena starts; 0 for none.
    pub start: core::sync::atomic::AtomicU64,
    /// Where its code ends, and its table begins.
    pub table: core::sync::atomic::AtomicU64,
}

/// How many arenas of a process are listed. Handlers see the addresses of others as they are.
pub const ARENAS: usize = 96;
