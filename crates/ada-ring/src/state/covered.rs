//! The table that says which pages hold code with unwind information. A return address elsewhere belongs to generated
//! code, which may read its callee's return slot (node's V8 and Java's HotSpot do), so the return is not caught there.
//!
//! ```text
//! 0           a leaf that is all zero: nothing is covered
//! FIRST_LEVEL one u32 for each 256 MiB of the address space: the byte offset of its leaf from the table's start
//! LEAVES      leaves: one byte a page, not 0 where the page is covered
//! ```

use crate::arch::ADDRESS_BITS;

/// Address bits below a first-level entry.
pub const LEAF_SHIFT: u32 = 28;
/// Bytes of a leaf.
pub const LEAF_BYTES: usize = 1 << (LEAF_SHIFT - 12);
/// Where the first level starts.
pub const FIRST_LEVEL: usize = LEAF_BYTES;
/// Entries of the first level.
pub const ENTRIES: usize = 1 << (ADDRESS_BITS - LEAF_SHIFT);
/// Where the leaves start.
pub const LEAVES: usize = FIRST_LEVEL + ENTRIES * 4;
/// How many leaves there is room for.
pub const LEAF_COUNT: usize = 128;
/// Bytes of the whole.
pub const BYTES: usize = LEAVES + LEAF_COUNT * LEAF_BYTES;
