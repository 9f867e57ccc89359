//! Threads as logical spans: who created them, what they ran, how they ended, who waited for them.

mod call;
mod correlate;
mod creations;
mod ending;
mod life;
mod matching;

pub(crate) use call::ThreadCall;
pub(crate) use correlate::correlate;
pub(crate) use creations::Creations;
pub(crate) use life::{Routine, ThreadLife, ThreadMark};

use ada_event::{EventSeq, FunctionId, RuntimeAddr, ThreadId, TraceNanos};

use crate::outcome::Outcome;
use crate::thread_index::ThreadIndex;
use crate::word_enum::word_enum;
use crate::word_struct::word_struct;

/// The confidence, in percent, from which on a match is no guess.
const SURE: u64 = 90;

word_struct! {
    /// The life of one thread. [`crate::NONE`] where something is not known.
    pub struct PthreadSpan {
        /// The thread.
        pub thread: ThreadIndex,
        /// The event that it begins with: 0, or later where the trace has several threads under one id.
        pub begin_seq: EventSeq,
        /// When its start routine was entered, or its first event.
        pub start: TraceNanos,
        /// When its start routine ended, or its last event.
        pub end: TraceNanos,
        /// [`Outcome::to_byte`].
        pub outcome: u64,
        /// The program's own function or closure that it ran.
        pub function: Option<FunctionId>,
        /// The opening event of the start routine's frame span.
        pub routine_seq: Option<EventSeq>,
        /// The event that ended it.
        pub routine_close_seq: Option<EventSeq>,
        /// The start routine, as it was entered.
        pub routine_function: Option<FunctionId>,
        /// The start routine's address, as it was handed to `pthread_create`.
        pub routine_address: Option<RuntimeAddr>,
        /// The argument that was handed over with it.
        pub argument: u64,
        /// The thread's handle, a `pthread_t`.
        pub handle: u64,
        /// The operating system's id of the thread.
        pub tid: Option<ThreadId>,
        /// The thread that created it.
        pub creator: Option<ThreadIndex>,
        /// The call of `pthread_create`.
        pub create_seq: Option<EventSeq>,
        /// When that was.
        pub create_time: Option<TraceNanos>,
        /// How sure it is that this call made this thread, in percent.
        pub confidence: u64,
        /// [`ThreadEnd`]'s number.
        pub end_how: u64,
        /// What it returned, or handed to `pthread_exit`.
        pub exit_value: u64,
        /// The call of `pthread_exit`.
        pub exit_seq: Option<EventSeq>,
        /// 1 if it was detached, 0 if it can be, or was, joined.
        pub is_detached: u64,
        /// The thread that waited for its end.
        pub joiner: Option<ThreadIndex>,
        /// The call that waited.
        pub join_seq: Option<EventSeq>,
        /// When the wait began.
        pub join_time: Option<TraceNanos>,
        /// When it ended.
        pub join_end: Option<TraceNanos>,
        /// The thread that cancelled it.
        pub canceler: Option<ThreadIndex>,
        /// The call that did.
        pub cancel_seq: Option<EventSeq>,
        /// When that was.
        pub cancel_time: Option<TraceNanos>,
        /// The name that the program gave it: the first eight bytes.
        pub name_low: u64,
        /// The next eight.
        pub name_high: u64,
        /// How many creations lead from the first thread to it.
        pub level: u64,
    }
}

word_struct! {
    /// A call of `pthread_create` that made no thread.
    pub struct FailedCreation {
        /// The thread that called.
        pub thread: ThreadIndex,
        /// The call.
        pub seq: EventSeq,
        /// When it was.
        pub time: TraceNanos,
        /// What it returned, an `errno`.
        pub error: u64,
        /// The start routine's address.
        pub routine_address: Option<RuntimeAddr>,
    }
}

word_enum! {
    /// How a thread ended.
    pub enum ThreadEnd {
        /// Its start routine returned.
        Return = 0, "return";
        /// It called `pthread_exit`.
        Exit = 1, "pthread_exit";
        /// It was cancelled.
        Cancel = 2, "canceled";
        /// The process ended first.
        ProcessEnd = 3, "process_end";
        /// It was alive when the recording ended.
        Alive = 4, "alive";
        /// Nothing says how: taken from its last event, or from what waited for it.
        Inferred = 5, "inferred";
    }
}

impl PthreadSpan {
    pub(crate) fn is_consistent(&self, threads: usize) -> bool {
        let exists = |thread: ThreadIndex| thread.as_usize() < threads;
        let may_exist = |thread: Option<ThreadIndex>| thread.is_none_or(exists);
        exists(self.thread)
            && may_exist(self.creator)
            && may_exist(self.joiner)
            && may_exist(self.canceler)
            && Outcome::from_word(self.outcome).is_some()
    }

    /// How and why it ended.
    pub fn outcome(&self) -> Outcome {
        Outcome::from_word(self.outcome).unwrap_or_default()
    }

    /// How it ended, as threads do.
    pub fn end_how(&self) -> ThreadEnd {
        ThreadEnd::from_number(self.end_how).unwrap_or(ThreadEnd::Inferred)
    }

    /// The name that the program gave it.
    pub fn given_name(&self) -> Option<String> {
        if self.name_low == crate::NONE {
            return None;
        }
        let bytes = [self.name_low.to_le_bytes(), self.name_high.to_le_bytes()];
        let name = bytes.as_flattened().split(|&byte| byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(name).replace(char::is_control, "?"))
    }

    /// From the call of `pthread_create` to the start routine.
    pub fn spawn_latency(&self) -> Option<u64> {
        self.create_time.map(|created| self.start.since(created))
    }
}
