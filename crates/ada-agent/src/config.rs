//! Where things lie in this process. The recorder fills the table in before it copies the agent into the target.

use core::sync::atomic::{AtomicU64, Ordering};

/// The table's entries, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Item {
    /// The memory that is shared to be written: control block and chunks.
    Pool,
    /// What the recorder says, to be read.
    Orders,
    /// The private memory: thread states and shadow stacks.
    Private,
    /// The loader's `r_debug`; 0 in a static program.
    LoaderDebug,
    /// The most frames of a thread that are recorded; 0 for no limit.
    MaxDepth,
    /// 1 where a thread is known by the word at its FS base, 0 where by the base.
    OwnerByWord,
    /// Bytes of the stack that are captured with a call.
    StackWindow,
    /// Bytes of a detail record.
    DetailStride,
    /// Where vector registers are in it; 0 where they are not captured.
    DetailVectorsAt,
    /// Bytes of the stack that are captured with a probed call.
    ProbeWindow,
    /// Bytes of a probe's record.
    ProbeStride,
    /// Where vector registers are in it; 0 where they are not captured.
    ProbeVectorsAt,
    /// The number of the program that the process runs.
    Program,
    /// 1 where the agent runs on stacks of its own.
    OwnStacks,
    /// Where the stack ends that the kernel has made for the program; 0 where that is not known.
    StackEnd,
}

/// How many entries there are.
pub const ITEMS: usize = 15;

/// The table. Its memory is not writable in the target, and need not be.
#[unsafe(no_mangle)]
pub static ADA_CONFIG: [AtomicU64; ITEMS] = [const { AtomicU64::new(0) }; ITEMS];

/// An entry.
pub fn get(item: Item) -> u64 {
    ADA_CONFIG[item as usize].load(Ordering::Relaxed)
}
