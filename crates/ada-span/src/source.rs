//! What the analysis reads: a process's threads, their events, and the detail of some.

use std::ops::Range;

use ada_event::{EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_format::atf::EventVisitor;

use crate::detail::{DetailSource, EventDetail};
use crate::thread_index::ThreadIndex;

/// A thread, as far as it is known without its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its id, unique in the process.
    pub id: ThreadId,
    /// How many events it has.
    pub events: u64,
    /// Its `pthread_t`, if that was recorded.
    pub handle: Option<u64>,
    /// The operating system's id, which may be used again after its end.
    pub tid: Option<ThreadId>,
    /// The first 16 bytes of the name that it had when the recording began, if that is known.
    pub name: Option<[u64; 2]>,
    /// What was in its descriptor when it, or its process, was about to end.
    pub exit_value: Option<u64>,
    /// Whether its process ran already when the recording began: then the thread may have, too, even at depth 0.
    pub is_attached: bool,
    /// Whether it is the one that the process began with.
    pub is_first: bool,
}

/// The trace of a process. Threads are asked for by their index; several may be read at once.
pub trait ProcessSource: Sync {
    /// The threads, by id.
    fn threads(&self) -> Vec<ThreadInfo>;

    /// A thread's events in their order. `has_processor`: one is free to read ahead.
    fn visit(&self, thread: ThreadIndex, has_processor: bool, visitor: &mut impl EventVisitor)
    where
        Self: Sized;

    /// A thread's detail, if there is any.
    fn details(&self, thread: ThreadIndex) -> Option<Box<dyn DetailSource + '_>>;

    /// Losses of events that no gap in the positions shows: the time of the first event after each, in order.
    fn losses(&self, _thread: ThreadIndex) -> Vec<TraceNanos> {
        Vec::new()
    }

    /// What a thread was in when it was attached to, newest first.
    fn open_calls(&self, _thread: ThreadIndex) -> Vec<FunctionId> {
        Vec::new()
    }

    /// Addresses with locks that were looked at, each with whether they are shared with other processes.
    fn shared_memory(&self) -> Vec<(Range<u64>, bool)> {
        Vec::new()
    }

    /// The detail of one event.
    fn event_detail(&self, thread: ThreadIndex, seq: EventSeq) -> Option<EventDetail>;
}
