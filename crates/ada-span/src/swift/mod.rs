//! Swift's tasks as logical spans: who made them, when they ran and where, what they waited for, how they ended.
//!
//! `docs/swift.md` lists the runtime's functions that each of this is taken from.

mod tasks;

pub(crate) use tasks::Tasks;

use ada_event::{EventSeq, FunctionId, TraceNanos};

use crate::concurrency::{Context, HasContext};
use crate::outcome::Outcome;
use crate::thread_index::ThreadIndex;
use crate::word_enum::word_enum;
use crate::word_struct::word_struct;

word_struct! {
    /// The life of one task. [`crate::NONE`] where something is not known.
    pub struct TaskSpan {
        /// The runtime's id of it, which is never used again.
        pub id: u64,
        /// [`TaskKind`]'s number.
        pub kind: u64,
        /// The thread that it ran on first; if it never ran, the one that made it.
        pub thread: ThreadIndex,
        /// The event that its first run begins with; if it never ran, its creation.
        pub begin_seq: EventSeq,
        /// When it ran first; if it never did, when it was made.
        pub start: TraceNanos,
        /// When it ended, or was last seen.
        pub end: TraceNanos,
        /// [`Outcome::to_byte`].
        pub outcome: u64,
        /// The function that it was made to run.
        pub function: Option<FunctionId>,
        /// The thread that made it.
        pub create_thread: Option<ThreadIndex>,
        /// The call that made it.
        pub create_seq: Option<EventSeq>,
        /// When that was.
        pub create_time: Option<TraceNanos>,
        /// The task or block that made it: a [`Context`] as a word.
        pub parent: u64,
        /// When it could run for the first time.
        pub ready_time: Option<TraceNanos>,
        /// How long it ran.
        pub running_ns: u64,
        /// How long it did not, between its start and its end.
        pub suspended_ns: u64,
        /// The index of its first run, and how many there are.
        pub first_run: u64,
        /// How often it ran.
        pub runs: u64,
        /// The index of its first suspension.
        pub first_suspension: u64,
        /// How often it was suspended.
        pub suspensions: u64,
        /// The thread that it ended on.
        pub end_thread: Option<ThreadIndex>,
        /// The event that ended it.
        pub end_seq: Option<EventSeq>,
        /// [`TaskEnd`]'s number.
        pub end_how: u64,
        /// When it was first asked to end.
        pub cancel_time: Option<TraceNanos>,
        /// The thread that asked.
        pub cancel_thread: Option<ThreadIndex>,
        /// The call that asked.
        pub cancel_seq: Option<EventSeq>,
        /// The task or block that asked.
        pub canceler: u64,
        /// The continuation that it was waiting for when it was asked.
        pub canceled_continuation: u64,
    }
}

word_struct! {
    /// A stretch of time in which a task ran.
    pub struct TaskRun {
        /// The task's index.
        pub task: u64,
        /// The thread.
        pub thread: ThreadIndex,
        /// When it began.
        pub start: TraceNanos,
        /// When it ended.
        pub end: TraceNanos,
        /// The event that it began with.
        pub start_seq: EventSeq,
        /// The event that it ended with.
        pub end_seq: Option<EventSeq>,
    }
}

word_struct! {
    /// A stretch of time in which a task waited.
    pub struct Suspension {
        /// The task's index.
        pub task: u64,
        /// When it began.
        pub start: TraceNanos,
        /// When it ended; none if it never did.
        pub end: Option<TraceNanos>,
        /// [`WaitKind`]'s number.
        pub kind: u64,
        /// What it waited for: the continuation's address, the other task's id, the group's or the executor's address.
        pub key: u64,
        /// The thread that it ran on before.
        pub thread: ThreadIndex,
        /// The event that it began with.
        pub seq: EventSeq,
        /// When what it waited for happened: the continuation was resumed.
        pub resume_time: Option<TraceNanos>,
        /// The thread that resumed it.
        pub resume_thread: Option<ThreadIndex>,
        /// The call that did.
        pub resume_seq: Option<EventSeq>,
        /// The task or block that did.
        pub resumer: u64,
        /// When it could run again.
        pub ready_time: Option<TraceNanos>,
    }
}

word_enum! {
    /// How a task came to be.
    #[derive(Default)]
    pub enum TaskKind {
        /// Its creation was not seen.
        #[default]
        Unknown = 0, "unknown";
        /// The program's asynchronous `main`.
        Main = 1, "main";
        /// `Task { … }`.
        Unstructured = 2, "task";
        /// `Task.detached { … }`.
        Detached = 3, "detached";
        /// `async let`.
        AsyncLet = 4, "async_let";
        /// A task group's child.
        Group = 5, "group";
        /// The runtime's own, as that which ends a sleep.
        Helper = 6, "helper";
    }
}

impl TaskKind {
    /// By the flags of `swift_task_create`, and those of the new task.
    pub(crate) fn of(create_flags: u64, task_flags: u32) -> Self {
        const IS_GROUP_CHILD: u32 = 1 << 26;
        const IS_ASYNC_LET: u32 = 1 << 28;
        const INHERITS: u64 = 1 << 11;
        const IS_ENQUEUED: u64 = 1 << 12;
        if task_flags & IS_ASYNC_LET != 0 {
            return Self::AsyncLet;
        }
        if task_flags & IS_GROUP_CHILD != 0 {
            return Self::Group;
        }
        match (create_flags & IS_ENQUEUED != 0, create_flags & INHERITS != 0) {
            (true, true) => Self::Unstructured,
            (true, false) => Self::Detached,
            (false, true) => Self::Main,
            (false, false) => Self::Helper,
        }
    }
}

word_enum! {
    /// What a task waits for.
    #[derive(Default)]
    pub enum WaitKind {
        /// Not known.
        #[default]
        Unknown = 0, "unknown";
        /// The resume of its continuation.
        Continuation = 1, "continuation";
        /// Another task's end.
        Task = 2, "task";
        /// A child of a group.
        Group = 3, "group";
        /// Its turn on another executor: an actor, the main thread.
        Executor = 4, "executor";
        /// Its next turn on the same.
        Yield = 5, "yield";
        /// Some time to pass.
        Sleep = 6, "sleep";
    }
}

word_enum! {
    /// How a task's end is known.
    #[derive(Default)]
    pub enum TaskEnd {
        /// It has not ended.
        #[default]
        None = 0, "none";
        /// The runtime's completion function was entered.
        Completion = 1, "completion";
        /// It ran, did not pause, and its executor went on to something else.
        Inferred = 2, "inferred";
        /// It ended the process: an asynchronous `main` does so.
        Exit = 3, "exit";
    }
}

impl TaskSpan {
    /// Whether all indexes that it names exist.
    pub(crate) fn is_consistent(&self, threads: usize, runs: usize, suspensions: usize, has: HasContext<'_>) -> bool {
        let may_exist = |thread: Option<ThreadIndex>| thread.is_none_or(|thread| thread.as_usize() < threads);
        let fits = |first: u64, count: u64, all: usize| first.checked_add(count).is_some_and(|end| end <= all as u64);
        self.thread.as_usize() < threads
            && [self.create_thread, self.end_thread, self.cancel_thread].into_iter().all(may_exist)
            && has(self.parent)
            && has(self.canceler)
            && fits(self.first_run, self.runs, runs)
            && fits(self.first_suspension, self.suspensions, suspensions)
            && Outcome::from_word(self.outcome).is_some()
    }

    /// How it came to be.
    pub fn kind(&self) -> TaskKind {
        TaskKind::from_number(self.kind).unwrap_or_default()
    }

    /// How its end is known.
    pub fn end_how(&self) -> TaskEnd {
        TaskEnd::from_number(self.end_how).unwrap_or_default()
    }

    /// How and why it ended.
    pub fn outcome(&self) -> Outcome {
        Outcome::from_word(self.outcome).unwrap_or_default()
    }

    /// Who made it.
    pub fn parent(&self) -> Context {
        Context::from_word(self.parent)
    }
}

impl TaskRun {
    pub(crate) fn is_consistent(&self, threads: usize, tasks: usize) -> bool {
        self.thread.as_usize() < threads && self.task < tasks as u64
    }
}

impl Suspension {
    pub(crate) fn is_consistent(&self, threads: usize, tasks: usize, has: HasContext<'_>) -> bool {
        self.thread.as_usize() < threads
            && self.task < tasks as u64
            && self.resume_thread.is_none_or(|thread| thread.as_usize() < threads)
            && has(self.resumer)
    }

    /// What the task waited for.
    pub fn kind(&self) -> WaitKind {
        WaitKind::from_number(self.kind).unwrap_or_default()
    }

    /// Who resumed it.
    pub fn resumer(&self) -> Context {
        Context::from_word(self.resumer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_the_flags_of_creation() {
        for (create, task, kind) in [
            (0x800, 0, TaskKind::Main),
            (0x1c15, 0, TaskKind::Unstructured),
            (0x1000, 0, TaskKind::Detached),
            (0x1000, 1 << 28 | 1 << 24, TaskKind::AsyncLet),
            (0x3100, 1 << 26 | 1 << 24, TaskKind::Group),
            (0x7100, 1 << 26 | 1 << 24, TaskKind::Group),
            (0, 0, TaskKind::Helper),
        ] {
            assert_eq!(TaskKind::of(create, task), kind, "{create:#x} {task:#x}");
        }
    }

    #[test]
    fn numbers_are_indexes_in_the_lists() {
        assert!(TaskKind::ALL.iter().enumerate().all(|(number, kind)| *kind as usize == number));
        assert!(WaitKind::ALL.iter().enumerate().all(|(number, kind)| *kind as usize == number));
        assert!(TaskEnd::ALL.iter().enumerate().all(|(number, end)| *end as usize == number));
    }
}
