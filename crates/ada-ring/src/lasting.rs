//! Memory that is there for as long as the program: what is mapped read-only of the files that it was started with.
//!
//! The list is in memory that the target cannot write to. It has [`LASTING_RANGES`] entries in the order of their addresses, and
//! one more that ends it; entries that are not used are as that one.

/// A stretch of such memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct LastingRange {
    /// Where it begins.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
}

impl LastingRange {
    /// Ends a list: nothing is in it, and nothing comes behind it.
    pub const END: Self = Self { start: u64::MAX, end: u64::MAX };
}

/// How many stretches are listed; a file has two or three.
pub const LASTING_RANGES: usize = 128;

/// The name under which the agent exports the list.
pub const LASTING: &str = "ADA_LASTING";
