//! A thread as the correlator sees it.

use ada_event::{EventSeq, FunctionId, RuntimeAddr, ThreadId, TraceNanos};

use crate::outcome::Outcome;
use crate::thread_index::ThreadIndex;

/// A call by which the C library begins or ends a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadMark {
    /// The thread.
    pub(crate) thread: ThreadIndex,
    pub(crate) seq: EventSeq,
    pub(crate) time: TraceNanos,
}

/// A thread's start routine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routine {
    /// Its call, if that is recorded.
    pub(crate) seq: Option<EventSeq>,
    pub(crate) depth: u64,
    pub(crate) close_seq: Option<EventSeq>,
    pub(crate) start: TraceNanos,
    pub(crate) end: TraceNanos,
    /// The call's; [`crate::Status::EntryOnly`] if only its beginning is known.
    pub(crate) outcome: Outcome,
    pub(crate) function: Option<FunctionId>,
    pub(crate) address: Option<RuntimeAddr>,
    pub(crate) argument: Option<u64>,
    pub(crate) result: Option<u64>,
    /// The program's own function that it led to.
    pub(crate) user_function: Option<FunctionId>,
}

/// A thread's life. The system uses ids again, and a trace may have several under one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadLife {
    /// Which thread.
    pub(crate) thread: ThreadIndex,
    /// The event that it begins with.
    pub(crate) begin_seq: EventSeq,
    pub(crate) first_time: TraceNanos,
    pub(crate) last_time: TraceNanos,
    /// When the C library had made the thread ready to run its start routine.
    pub(crate) ready_time: TraceNanos,
    /// The first call that the C library makes once a thread has ended.
    pub(crate) teardown: Option<ThreadMark>,
    pub(crate) handle: Option<u64>,
    pub(crate) tid: Option<ThreadId>,
    /// The name that it had when it was first seen.
    pub(crate) name: Option<[u64; 2]>,
    /// What was in its descriptor when it, or the process, was about to end.
    pub(crate) exit_value: Option<u64>,
    pub(crate) routine: Option<Routine>,
    /// Whether it was there before the recording, so that its creation is not in the trace.
    pub(crate) is_midway: bool,
    /// Whether its first events were lost.
    pub(crate) is_cut: bool,
}
