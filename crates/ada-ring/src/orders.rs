//! What the recorder says to the programs. They have this memory to read only: one that has given up its rights could give
//! orders to another that has not.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::chunk::CHUNK_SIZE;
use crate::code_edits::CodeEdits;
use crate::marks::Marks;
use crate::probe::{MAX_PROBES, Probe};

/// What happens to registers and stack windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DetailMode {
    /// They are not captured.
    Off = 0,
    /// Each thread keeps its newest ones in two chunks of its own, which it overwrites in turn.
    Windows = 1,
    /// All are written.
    All = 2,
}

/// What a thread does when there is no chunk for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OnFull {
    /// Wait, as long as the recorder lives.
    Wait = 0,
    /// Give the oldest records up.
    Drop = 1,
}

/// How many users' processes can have rings of their own.
pub const MAX_RINGS: usize = 64;

/// All orders. All zero is a valid start.
#[repr(C)]
pub struct Orders {
    /// How many chunks all threads share.
    pub chunk_count: AtomicU32,
    /// How many chunks there can be, with those beyond them.
    pub most_chunks: AtomicU32,
    /// How many blocks of counters there can be.
    pub most_blocks: AtomicU32,
    /// [`OnFull`] as a number.
    pub on_full: AtomicU32,
    /// [`DetailMode`] as a number.
    pub detail_mode: AtomicU32,
    /// Grows for as long as the recorder lives, whatever it is busy with: a wait during which it stands still is a wait
    /// for a dead one.
    pub heartbeats: AtomicU64,
    /// Grows with every round in which the drain has looked for the chunks of threads that have ended.
    pub looks_for_ended: AtomicU64,
    /// What is asked of the thread that waits for its new libraries.
    pub loader: LoaderOrder,
    /// Which functions the triggers are about.
    pub marks: Marks,
    /// What is to be changed in the program's code.
    pub code_edits: CodeEdits,
    /// What runtime probes read.
    pub probes: [Probe; MAX_PROBES],
}

/// What is asked of a thread that waits until its new libraries are hooked ([`crate::control::LoaderCall`]).
#[repr(C)]
pub struct LoaderOrder {
    /// Changes with everything that the recorder says. The thread sleeps on this word.
    pub said: AtomicU32,
    /// Grows whenever the recorder is done with whom it has served, for each of the session's rings. Until then the thread stays,
    /// whatever others say.
    pub releases: [AtomicU32; MAX_RINGS],
    /// The process that is to make the system call; 0 for none.
    pub process: AtomicU32,
    /// The number of the newest system call that is wanted.
    pub wanted: AtomicU32,
    /// Its number in the kernel, and its arguments.
    pub call: [AtomicU64; 7],
    /// A path for calls that take one, with a NUL.
    pub path: UnsafeCell<[u8; 128]>,
}

/// Bytes of the orders, in whole pages.
pub const ORDERS_BYTES: usize = size_of::<Orders>().next_multiple_of(CHUNK_SIZE);
