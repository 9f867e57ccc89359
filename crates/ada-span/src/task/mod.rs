//! Tasks as logical spans, whichever runtime they are of: who made them, when they ran and where, what they waited for, how
//! they ended. Swift's are called so; Go's are its goroutines.

mod life;
mod words;

pub(crate) use life::{State, TaskLife};
pub use words::{ExecutorKind, TaskEnd, TaskKind, TaskResult, TaskRuntime, WaitKind};

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
        /// [`TaskResult`]'s number.
        pub result: u64,
        /// The name of the type that it threw: its number in [`crate::table::Meta::texts`].
        pub error_type: u64,
        /// The module of that type, the same way.
        pub error_module: u64,
        /// The case, of an enum.
        pub error_case: u64,
        /// How often its result was asked for; [`crate::NONE`] where that may not be all.
        pub result_requests: u64,
        /// The index of its first change of executors, and how many there are.
        pub first_hop: u64,
        /// How many there are.
        pub hops: u64,
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
        /// The executor that it waited for: its index in [`crate::table::Meta::executors`].
        pub executor: u64,
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
        /// 1 where events are missing meanwhile: the task may have run.
        pub is_cut: u64,
    }
}

word_struct! {
    /// From when on a task runs on an executor.
    pub struct TaskHop {
        /// The task's index.
        pub task: u64,
        /// When.
        pub time: TraceNanos,
        /// The executor's index in [`crate::table::Meta::executors`].
        pub executor: u64,
    }
}

word_struct! {
    /// Where tasks run.
    pub struct ExecutorEntry {
        /// [`ExecutorKind`]'s number.
        pub kind: u64,
        /// Its address, which others may have had before and after.
        pub address: RuntimeAddr,
        /// Its type: the number of a name in [`crate::table::Meta::texts`].
        pub type_name: u64,
        /// The module of that type, the same way.
        pub module: u64,
        /// The function by which it takes tasks over, whose name has its type.
        pub witness: Option<FunctionId>,
        /// Its place among those of its type; 0 where there is only one.
        pub number: u64,
        /// When it was made, if that was seen.
        pub create_time: Option<TraceNanos>,
    }
}

/// The tables of tasks.
#[derive(Default)]
pub(crate) struct TaskTables {
    pub(crate) hops: Vec<TaskHop>,
    pub(crate) executors: Vec<ExecutorEntry>,
    pub(crate) tasks: Vec<TaskSpan>,
    pub(crate) runs: Vec<TaskRun>,
    pub(crate) suspensions: Vec<Suspension>,
}

impl TaskTables {
    /// Adds a task with its runs, waits and changes of executors.
    pub(crate) fn push(
        &mut self,
        mut span: TaskSpan,
        runs: Vec<TaskRun>,
        suspensions: Vec<Suspension>,
        hops: Vec<TaskHop>,
    ) {
        (span.first_hop, span.hops) = (self.hops.len() as u64, hops.len() as u64);
        self.hops.extend(hops);
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
            // Only Swift's have any.
            task.first_hop = 0;
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
    pub(crate) fn is_consistent(
        &self,
        threads: usize,
        [runs, suspensions, hops, texts]: [usize; 4],
        has: HasContext<'_>,
    ) -> bool {
        let is_text = |word: u64| word == NONE || word < texts as u64;
        let may_exist = |thread: Option<ThreadIndex>| thread.is_none_or(|thread| thread.as_usize() < threads);
        let fits = |first: u64, count: u64, all: usize| first.checked_add(count).is_some_and(|end| end <= all as u64);
        self.thread.as_usize() < threads
            && [self.create_thread, self.end_thread, self.cancel_thread].into_iter().all(may_exist)
            && has(self.parent)
            && has(self.canceler)
            && fits(self.first_run, self.runs, runs)
            && fits(self.first_suspension, self.suspensions, suspensions)
            && fits(self.first_hop, self.hops, hops)
            && [self.error_type, self.error_module, self.error_case].into_iter().all(is_text)
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

    /// Whether it returned or threw.
    pub fn result(&self) -> TaskResult {
        TaskResult::from_number(self.result).unwrap_or_default()
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

impl TaskHop {
    pub(crate) fn is_consistent(&self, tasks: usize, executors: usize) -> bool {
        self.task < tasks as u64 && self.executor < executors as u64
    }
}

impl ExecutorEntry {
    pub(crate) fn is_consistent(&self, texts: usize) -> bool {
        [self.type_name, self.module].into_iter().all(|word| word == NONE || word < texts as u64)
    }

    /// What it is.
    pub fn kind(&self) -> ExecutorKind {
        ExecutorKind::from_number(self.kind).unwrap_or_default()
    }
}

impl Suspension {
    pub(crate) fn is_consistent(&self, threads: usize, tasks: usize, executors: usize, has: HasContext<'_>) -> bool {
        self.thread.as_usize() < threads
            && (self.executor == NONE || self.executor < executors as u64)
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
