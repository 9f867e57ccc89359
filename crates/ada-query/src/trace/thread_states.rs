//! On or off the processor: what is known of a process's threads.

use std::sync::Arc;

use ada_event::{EventSeq, ThreadId, TraceNanos};
use ada_span::ThreadIndex;
use ada_span::concurrency::Context;
use ada_span::state::{StateTimes, ThreadState, ThreadStates};

use super::process::TraceProcess;

/// Thread ids have 22 bits on Linux; the bits above number the threads that had the same id.
const KERNEL_ID: u32 = (1 << 22) - 1;

impl TraceProcess {
    /// When a thread ran, where the kernel has told.
    pub fn thread_states(&self, thread: ThreadIndex) -> Option<&Arc<ThreadStates>> {
        self.states.read().of_thread(ThreadId(self.thread_id(thread).0 & KERNEL_ID))
    }

    /// How long a thread was in each state between two moments, where that is known of all the time.
    pub fn known_state_times(&self, thread: ThreadIndex, start: TraceNanos, end: TraceNanos) -> Option<StateTimes> {
        let times = self.thread_states(thread)?.between(start, end);
        (times.of(ThreadState::Unknown) == 0).then_some(times)
    }

    /// How long a call was in each state, from its start to its end. Nothing is known of those of tasks.
    pub fn state_times(&self, thread: ThreadIndex, seq: EventSeq, start: TraceNanos, end: TraceNanos) -> StateTimes {
        match self.thread_states(thread) {
            Some(states) if !self.is_of_task(thread, seq) => states.between(start, end),
            _ => StateTimes::new([0, 0, 0, end.since(start)]),
        }
    }

    /// Whether a call belongs to a task, which shares its thread with others.
    pub(crate) fn is_of_task(&self, thread: ThreadIndex, seq: EventSeq) -> bool {
        !self.tables.meta().task_runs.is_empty() && matches!(self.context_at(thread, seq), Context::Task(_))
    }
}
