//! Exact counts of calls that are not recorded.
//!
//! A counter that all threads share would have to be locked, at some 20 cycles a call, and more where they meet. So each
//! thread has a *block* of counters to itself and adds to it with a plain instruction; the sum over all blocks is the
//! count. A block belongs to a process for as long as it lives: of its threads one uses it at a time, and the next one
//! goes on adding where the last one stopped. The recorder takes what the blocks of ended processes hold, and frees them.
//!
//! Functions get a slot when they are first counted, so that those that are lie close together in a block: the hot ones
//! of a program fit in a few lines of the processor's cache.

/// How many blocks there can be. The first is nobody's: threads that find none free share it, and may lose counts.
pub const MAX_BLOCKS: usize = 8192;
/// How many a process has mapped from the start …
pub const FIRST_BLOCKS: usize = 512;
/// … and maps at one time beyond these, when it needs one.
pub const BLOCKS_MAPPED_AT_ONCE: usize = 256;
/// Counters of a block.
pub const SLOTS: usize = 8192;
/// Bytes of a block.
pub const BLOCK_BYTES: usize = SLOTS * size_of::<u64>();
/// The slot of all functions whose calls nobody wants to know of; slot 0 is none.
pub const UNWANTED: usize = 1;
/// The slot of all functions that would be recorded, if there were a recorder.
pub const PASSED: usize = 2;
/// The first slot that is a function's own.
pub const FIRST: usize = 3;

/// What a function's switch holds for its calls to be recorded without their values. Only what has values may have it: other
/// stubs would take it for a counter. It is no counter's place, as these are words.
pub const WITHOUT_VALUES: u32 = 1;

/// What a function's switch holds for its calls to be counted in a slot; 0 is for recording them.
pub const fn switch_word(slot: usize) -> u32 {
    (slot * size_of::<u64>()) as u32
}
