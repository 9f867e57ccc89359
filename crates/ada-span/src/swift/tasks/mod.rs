//! What became of each task, from the calls of the runtime in the order of their times.

mod cancellation;
mod creation;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use super::executors::Executors;
use super::type_name::TypeName;
use crate::NONE;
use crate::concurrency::{Context, Contexts, LogicalCall, Loss, Losses, Text, Words};
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::role::SwiftCall;
use crate::task::{State, Suspension, TaskEnd, TaskKind, TaskLife, TaskResult, TaskRuntime, TaskTables, WaitKind};
use crate::text_table::TextTable;
use crate::thread_index::ThreadIndex;

/// A task's flags and id are one word.
fn id_of(head: u64) -> u64 {
    head >> 32
}

/// Jobs that are not tasks have other kinds in the lowest byte, and no id.
fn is_task(head: u64) -> bool {
    head & 0xff == 0 && id_of(head) != 0
}

/// In a task's status: it was asked to end.
const IS_CANCELED: u64 = 0x100;
/// In a task's status: it waits in a queue to run.
const IS_ENQUEUED: u64 = 0x1000;
/// In a task's status: it has ended.
const IS_COMPLETE: u64 = 0x2000;

struct Task {
    life: TaskLife,
    /// The continuation that was made last and not resumed: its address.
    continuation: Option<u64>,
    /// The same once it is resumed, as long as the task has not gone on.
    resumed: Option<(LogicalCall, Context)>,
    /// What the continuation is for, if it is the runtime's own.
    purpose: WaitKind,
    /// The children that `async let` and groups have made for it.
    children: Vec<u32>,
    /// Whether its status has said that it was cancelled.
    has_canceled_status: bool,
    /// The executor that it was last handed over to, as long as it has not gone on.
    handed_to: Option<u32>,
    /// What it has thrown.
    error: Option<TypeName>,
}

/// What tasks need to know beside their calls.
pub(crate) struct TaskSurroundings<'a> {
    /// Finds functions by their addresses, but for the machinery's own.
    pub(crate) function_at: &'a dyn Fn(RuntimeAddr) -> Option<FunctionId>,
    /// The texts that probes have read.
    pub(crate) labels: &'a [Text],
}

/// What a task is about to wait for.
#[derive(Clone, Copy)]
struct Wait {
    kind: WaitKind,
    key: u64,
    /// The function that will go on.
    awaiting: Option<FunctionId>,
    /// Since when, and for which executor.
    time: TraceNanos,
    executor: Option<u32>,
}

/// What is known of a thread.
#[derive(Clone, Copy, Default)]
struct Thread {
    /// The task that runs on it.
    current: Option<u32>,
    /// The executor's calls that are open on it.
    jobs: u32,
    /// How many were when the task began to run.
    jobs_at_enter: u32,
    /// What the task is about to wait for.
    wait: Option<Wait>,
    /// The task that has just paused on it.
    paused: Option<u32>,
}

/// All tasks of a process.
#[derive(Default)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
    indexes: HashMap<u64, u32>,
    threads: Vec<Thread>,
    losses: Losses,
    executors: Executors,
    /// Whether somebody has asked for a result, and it is not known whose.
    has_unread_request: bool,
    /// Resumes of continuations that no task waits for.
    pub(crate) orphans: Vec<(ThreadIndex, EventSeq)>,
}

impl Tasks {
    /// No tasks yet, of a process some of whose events are missing.
    pub(crate) fn new(losses: Losses) -> Self {
        Self { losses, ..Self::default() }
    }

    fn thread(&mut self, thread: ThreadIndex) -> &mut Thread {
        let thread = thread.as_usize();
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Thread::default());
        }
        &mut self.threads[thread]
    }

    fn find_or_add(&mut self, head: u64, call: &LogicalCall) -> Option<u32> {
        if !is_task(head) {
            return None;
        }
        let next = self.tasks.len() as u32;
        let index = *self.indexes.entry(id_of(head)).or_insert(next);
        if index == next {
            let mut life = TaskLife::new(index, TaskRuntime::Swift, id_of(head), call);
            life.span.priority = head >> 8 & 0xff;
            (life.span.result, life.span.result_requests) = (TaskResult::Unknown as u64, 0);
            self.tasks.push(Task {
                life,
                continuation: None,
                resumed: None,
                purpose: WaitKind::Continuation,
                children: Vec::new(),
                has_canceled_status: false,
                handed_to: None,
                error: None,
            });
        }
        Some(index)
    }

    /// A call begins.
    pub(crate) fn begin(
        &mut self,
        call: &LogicalCall,
        swift: SwiftCall,
        contexts: &mut Contexts,
        around: &TaskSurroundings<'_>,
    ) {
        let function_at = around.function_at;
        let paused = self.thread(call.thread).paused.take();
        let head = match call.words {
            Words::Task { head, .. } | Words::New { head, .. } => head,
            _ => NONE,
        };
        let task = if head == NONE { None } else { self.find_or_add(head, call) };
        if let Some(task) = task {
            self.see(task, call);
        }
        let resumes_at = |address: u64| function_at(RuntimeAddr(address));
        match swift {
            SwiftCall::Enter => {
                if let Some(task) = task {
                    self.enter(call, task, paused == Some(task), contexts);
                }
            }
            SwiftCall::Exit => {
                if let (Some(task), Words::Task { status, .. }) = (task, call.words) {
                    self.exit(call, task, status, contexts);
                }
            }
            SwiftCall::JobRun => self.thread(call.thread).jobs += 1,
            SwiftCall::Create | SwiftCall::CreateInside => {
                if let (Some(task), Words::New { entry, .. }) = (task, call.words) {
                    self.create(call, task, (entry, head), contexts, function_at);
                }
            }
            SwiftCall::Complete => {
                self.note_result(call, around.labels);
                self.complete(call.thread, call.time, Some(call.seq), TaskEnd::Completion, contexts);
            }
            SwiftCall::ErrorInMain => self.note_result(call, around.labels),
            SwiftCall::ActorMade => self.executors.made(call, around.labels),
            SwiftCall::TakeOver => self.executors.taken_over(call),
            SwiftCall::Enqueue => {
                let [_, identity, implementation, _] = call.arguments;
                let executor = self.executors.at([identity, implementation], call.time, &self.losses);
                self.executors.hand_over(call, executor);
                if let Some(task) = task {
                    self.tasks[task as usize].handed_to = executor;
                    self.enqueue(call, task);
                }
            }
            SwiftCall::EnqueueInPool | SwiftCall::EnqueueOnMain => {
                if let Some(task) = task {
                    self.enqueue(call, task);
                }
            }
            SwiftCall::Switch => {
                let [resume, identity, implementation, _] = call.arguments;
                let executor = self.executors.at([identity, implementation], call.time, &self.losses);
                self.waits(call, WaitKind::Executor, identity, resumes_at(resume));
                if let Some(wait) = &mut self.thread(call.thread).wait {
                    wait.executor = executor;
                }
            }
            SwiftCall::ContinuationAwait => {
                let current = self.thread(call.thread).current;
                let purpose = current.map_or(WaitKind::Continuation, |task| self.tasks[task as usize].purpose);
                let awaiting = match call.words {
                    Words::Continuation { resume, caller } => resumes_at(resume).or_else(|| resumes_at(caller)),
                    _ => None,
                };
                self.waits(call, purpose, call.arguments[0], awaiting);
            }
            SwiftCall::ContinuationInit => {
                if let Some(task) = task {
                    let task = &mut self.tasks[task as usize];
                    task.continuation = Some(call.arguments[0]);
                    task.resumed = None;
                    task.purpose = WaitKind::Continuation;
                }
            }
            SwiftCall::Resume | SwiftCall::ResumeWithError => self.resume(call, task, contexts),
            SwiftCall::MainExecutor => {
                self.executors.is_main(call.result);
            }
            SwiftCall::Yield => {
                if let Some(task) = task {
                    self.tasks[task as usize].purpose = WaitKind::Yield;
                }
            }
            SwiftCall::FutureWait => {
                let awaited = if head == NONE { NONE } else { id_of(head) };
                match task {
                    Some(task) => self.tasks[task as usize].life.span.result_requests += 1,
                    None => self.has_unread_request = true,
                }
                self.waits(call, WaitKind::Task, awaited, resumes_at(call.arguments[2]));
            }
            SwiftCall::AsyncLetWait => self.waits(call, WaitKind::Task, NONE, resumes_at(call.arguments[2])),
            SwiftCall::GroupWait => {
                self.waits(call, WaitKind::Group, call.arguments[1], resumes_at(call.arguments[2]));
            }
            SwiftCall::ProcessExit => self.exit_process(call, contexts),
            SwiftCall::Cancel => {
                if let (Some(task), Words::Task { status, .. }) = (task, call.words) {
                    self.cancel(call, task, status, contexts);
                }
            }
        }
    }

    /// The task that runs has come to its end: what it was called with says whether it threw, and what.
    fn note_result(&mut self, call: &LogicalCall, labels: &[Text]) {
        let (Some(task), Words::Ended { error }) = (self.thread(call.thread).current, call.words) else { return };
        let task = &mut self.tasks[task as usize];
        let result = if error == 0 { TaskResult::Returned } else { TaskResult::Threw };
        task.life.span.result = result as u64;
        task.error = call.label.and_then(|label| labels.get(label as usize)).and_then(TypeName::of);
    }

    /// Takes note of an event about a task: of its status, and of events that may be missing since the last one.
    fn see(&mut self, index: u32, call: &LogicalCall) {
        let task = &mut self.tasks[index as usize];
        if let Words::Task { status, .. } = call.words {
            task.has_canceled_status |= status != NONE && status & IS_CANCELED != 0 && task.life.state != State::Done;
        }
        task.life.see(call.time, &self.losses);
    }

    /// Events of a thread are missing: what it ran then may have gone on anywhere.
    pub(crate) fn lose(&mut self, loss: &Loss, contexts: &mut Contexts) {
        let thread = self.thread(loss.thread);
        let current = thread.current;
        *thread = Thread::default();
        contexts.lose(loss.thread);
        if let Some(index) = current {
            let unknown = Suspension { kind: WaitKind::Unknown as u64, ..Suspension::default() };
            self.tasks[index as usize].life.lose(loss, unknown);
        }
    }

    /// A call has ended.
    pub(crate) fn end(&mut self, call: &LogicalCall, swift: SwiftCall, contexts: &mut Contexts) {
        if swift != SwiftCall::JobRun {
            return;
        }
        let thread = self.thread(call.thread);
        let is_own = thread.current.is_some() && thread.jobs_at_enter == thread.jobs;
        thread.jobs = thread.jobs.saturating_sub(1);
        if is_own {
            // It did not pause, and no completion was seen: it has completed all the same.
            self.complete(call.thread, call.end.unwrap_or(call.time), call.close_seq, TaskEnd::Inferred, contexts);
        }
    }

    /// An asynchronous `main` never completes: when it is done, it ends the process.
    fn exit_process(&mut self, call: &LogicalCall, contexts: &mut Contexts) {
        if let Some(task) = self.thread(call.thread).current
            && self.tasks[task as usize].life.span.kind() == TaskKind::Main
        {
            self.complete(call.thread, call.time, Some(call.seq), TaskEnd::Exit, contexts);
        }
    }

    /// Ends what is open, and gives the tables, and when events were lost.
    pub(crate) fn finish(self, options: &ReplayOptions, texts: &mut TextTable) -> (TaskTables, Losses) {
        let mut tables = TaskTables::default();
        // Until the process's end somebody may ask for a result.
        let is_whole = options.end != ProcessEnd::Alive && !options.is_cut_short && !self.has_unread_request;
        for Task { mut life, has_canceled_status, error, .. } in self.tasks {
            if !is_whole || self.losses.since(life.span.create_time.unwrap_or_default()) {
                life.span.result_requests = NONE;
            }
            if let Some(TypeName { name, module, case }) = error {
                life.span.error_type = texts.number_of(&name);
                life.span.error_module = texts.number_if(module.as_deref());
                life.span.error_case = texts.number_if(case.as_deref());
            }
            let is_canceled = life.span.cancel_time.is_some() || has_canceled_status;
            life.finish(is_canceled, &self.losses, options, &mut tables);
        }
        tables.executors = self.executors.finish(texts);
        (tables, self.losses)
    }
}
