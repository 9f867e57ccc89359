//! Where threads of all processes note that they have found a mutex contended, so that all calls about it are of interest for a while.
//!
//! What a mutex says when a call begins may change before the call takes it or lets go of it. Whoever finds one contended therefore
//! leaves a mark, and who comes next keeps its call as well, whatever the mutex says by then. A mutex has its mark by where it lies in
//! its page, which is the same in all processes. Those that share a mark cost each other a little, and nothing else.

use core::sync::atomic::AtomicU64;

/// A mark for each place in a page where a mutex can begin: the stretch of time in which one that begins there was last found contended.
pub type ContentionMarks = [AtomicU64; PAGE / WORD];

const PAGE: usize = 4096;
const WORD: usize = size_of::<u64>();

/// The bits of a mutex's address that are its mark's distance from the first one.
pub const MARK_BITS: u32 = (PAGE - WORD) as u32;
/// So many ticks of the time-stamp counter are a stretch, as a power of two. `ada-span` counts on it that it lasts for 0.1 s at least.
pub const STRETCH_SHIFT: u32 = 29;
/// What was found in so many stretches before the present one still counts.
pub const STRETCHES: u32 = 1;
