//! Tasks as logical spans, whichever runtime they are of: who made them, when they ran and where, what they waited for, how
//! they ended. Swift's are called so; Go's are its goroutines.

mod life;
mod words;

pub(crate) use life::{State, TaskLife};
pub use words::{TaskEnd, TaskKind, TaskRuntime, WaitKind};

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use crate::NONE;
use crate::concurrency::{Context, HasContext};
use crate::outcome::Outcome;
use crate::thread_index::ThreadIndex;
use crate::word_struct::word_struct;

word_struct! {
    /// The life of one task. [`crate::NONE`] where something is not known.
    pub struct TaskSpan {
        /// The runtime's id of it, which is never used again.
        pub id: u64,
        /// [`TaskRuntime`]'s number.
        pub runtime: u64,
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
        /// Where the code goes on that made it: in Go, behind the `go` statement.
        pub create_address: Option<RuntimeAddr>,
        /// The function that this is in.
        pub create_function: Option<FunctionId>,
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
        /// Its priority, as the runtime counts them.
        pub priority: u64,
        /// How many system calls it made that its runtime was told of.
        pub system_calls: u64,
        /// How long it was in them: a part of the time that it ran.
        pub system_call_ns: u64,
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
        /// The function that goes on after it.
        pub awaiting: Option<FunctionId>,
        /// Where in it, if it waits in the middle of a call.
        pub await_address: Option<RuntimeAddr>,
        /// 1 where it waits for the main thread.
        pub is_main: u64,
        /// 1 where events are missing meanwhile: the task may have run.
        pub is_cut: u64,
    }
}

/// The tables of tasks.
#[derive(Default)]
pub(crate) struct TaskTables {
    pub(crate) tasks: Vec<TaskSpan>,
    pub(crate) runs: Vec<TaskRun>,
    pub(crate) suspensions: Vec<Suspension>,
}

impl TaskTables {
    /// Adds a task with its runs and waits.
    pub(crate) fn push(&mut self, mut span: TaskSpan, runs: Vec<TaskRun>, suspensions: Vec<Suspension>) {
        (span.first_run, span.runs) = (self.runs.len() as u64, runs.len() as u64);
        (span.first_suspension, span.suspensions) = (self.suspensions.len() as u64, suspensions.len() as u64);
        self.runs.extend(runs);
        self.suspensions.extend(suspensions);
        self.tasks.push(span);
    }

    /// Has all indexes follow so many tasks, runs and waits of others.
    pub(crate) fn move_behind(&mut self, tasks: usize, runs: usize, suspensions: usize) {
        let moved = |word: u64| match Context::from_word(word) {
            Context::Task(index) => Context::Task(index + tasks as u32).to_word(),
            _ => word,
        };
        for task in &mut self.tasks {
            task.first_run += runs as u64;
            task.first_suspension += suspensions as u64;
            (task.parent, task.canceler) = (moved(task.parent), moved(task.canceler));
        }
        self.runs.iter_mut().for_each(|run| run.task += tasks as u64);
        for wait in &mut self.suspensions {
            wait.task += tasks as u64;
            wait.resumer = moved(wait.resumer);
        }
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

    /// Whose it is.
    pub fn runtime(&self) -> TaskRuntime {
        TaskRuntime::from_number(self.runtime).unwrap_or_default()
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
    /// The end of a run that has not ended.
    pub(crate) const STILL: TraceNanos = TraceNanos(NONE);

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
