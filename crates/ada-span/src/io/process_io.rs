//! A process, as far as its input and output go.

use ada_event::{ProcessId, TraceNanos};
use ada_format::atf::SeenDescriptor;

use crate::io_calls::IoCalls;
use crate::thread_index::ThreadIndex;
use crate::wait::WaitSpan;

/// What is known of a process.
pub struct ProcessIo<'a> {
    /// Its id.
    pub pid: ProcessId,
    /// Who made it.
    pub parent: Option<ProcessId>,
    /// Its first event's time.
    pub start: TraceNanos,
    /// Its last one's.
    pub end: TraceNanos,
    /// The thread that it began with.
    pub first_thread: Option<ThreadIndex>,
    /// Its calls.
    pub io: &'a IoCalls,
    /// Its waits.
    pub waits: &'a [WaitSpan],
    /// What its descriptors were seen to stand for.
    pub seen: Vec<SeenDescriptor>,
    /// Whether a thread certainly slept between two moments.
    pub has_slept: Box<dyn Fn(ThreadIndex, TraceNanos, TraceNanos) -> bool + 'a>,
    /// The thread that had a handle at a moment.
    pub thread_of_handle: Box<dyn Fn(u64, TraceNanos) -> Option<ThreadIndex> + 'a>,
    /// Until when all of its calls are known; nothing where they are not known from its beginning.
    pub known_until: Option<TraceNanos>,
}
