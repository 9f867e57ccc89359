//! On or off the processor: the states of threads by time, from what the kernel has told.

mod replay;
mod thread_states;

pub use thread_states::{StateSpan, StateTimes, ThreadStates};

use std::collections::HashMap;
use std::sync::Arc;

use ada_event::{ScheduleRecord, ThreadId};

use crate::word_enum::word_enum;

word_enum! {
    /// What a thread does.
    pub enum ThreadState {
        /// It is on a processor.
        Running = 0, "running";
        /// It could run, and another thread has the processor: it was preempted, or has just been made.
        Ready = 1, "ready";
        /// It waits for something. Until it gets a processor: when it was woken, the kernel does not tell.
        Blocked = 2, "blocked";
        /// Nothing is known.
        Unknown = 3, "unknown";
    }
}

/// The states of a process's threads.
#[derive(Default)]
pub struct ProcessStates(HashMap<ThreadId, Arc<ThreadStates>>);

impl ProcessStates {
    /// Those that the kernel's records tell, in whatever order they come.
    pub fn of(records: Vec<ScheduleRecord>) -> Self {
        Self(replay::threads_of(records).into_iter().map(|(id, states)| (id, Arc::new(states))).collect())
    }

    /// The states of a thread, by the kernel's id; nothing where it was not watched.
    pub fn of_thread(&self, id: ThreadId) -> Option<&Arc<ThreadStates>> {
        self.0.get(&id)
    }
}
