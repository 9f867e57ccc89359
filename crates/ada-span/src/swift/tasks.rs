//! What became of each task, from the calls of the runtime in the order of their times.

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use super::executors::Executors;
use super::type_name::TypeName;
use crate::NONE;
use crate::concurrency::{Context, Contexts, LogicalCall, Loss, Losses, Text, Words};
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::role::SwiftCall;
use crate::task::{
    State, Suspension, TaskEnd, TaskKind, TaskLife, TaskResult, TaskRuntime, TaskSpan, TaskTables, WaitKind,
};
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

    /// The task that runs is about to wait.
    fn waits(&mut self, call: &LogicalCall, kind: WaitKind, key: u64, awaiting: Option<FunctionId>) {
        self.settle_hop(call.thread);
        self.thread(call.thread).wait = Some(Wait { kind, key, awaiting, time: call.time, executor: None });
    }

    /// A task that was about to wait for an executor, and goes on instead, runs on it.
    fn settle_hop(&mut self, thread: ThreadIndex) {
        let thread = self.thread(thread);
        if let (Some(Wait { executor: Some(executor), time, .. }), Some(task)) = (thread.wait.take(), thread.current) {
            self.tasks[task as usize].life.hop(time, executor);
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

    fn create(
        &mut self,
        call: &LogicalCall,
        task: u32,
        (entry, head): (u64, u64),
        contexts: &mut Contexts,
        function_at: &dyn Fn(RuntimeAddr) -> Option<FunctionId>,
    ) {
        let parent = contexts.now(call.thread);
        let span = &mut self.tasks[task as usize].life.span;
        // One function of the runtime calls the other; the outer one has the flags as they were meant.
        if span.create_seq.is_some() {
            return;
        }
        span.kind = TaskKind::of(call.arguments[0], head as u32) as u64;
        // What runs it may have begun before the call returned, and so before its id was known here.
        if let Some(function) = function_at(RuntimeAddr(entry)) {
            span.function = Some(function);
        }
        span.create_thread = Some(call.thread);
        span.create_seq = Some(call.seq);
        span.create_time = Some(call.time);
        span.parent = parent.to_word();
        let kind = span.kind();
        let Context::Task(parent) = parent else { return };
        match kind {
            // What a task makes of these between its continuation and its wait is what ends its sleep.
            TaskKind::Helper => self.tasks[parent as usize].purpose = WaitKind::Sleep,
            // A child of a task that is cancelled is so from the start.
            TaskKind::AsyncLet | TaskKind::Group => {
                let made_by = &mut self.tasks[parent as usize];
                made_by.children.push(task);
                let request = CancelRequest::of(&made_by.life.span);
                if let Some(request) = request {
                    self.cancel_with_children(task, &CancelRequest { time: call.time, ..request });
                }
            }
            _ => (),
        }
    }

    fn enqueue(&mut self, call: &LogicalCall, task: u32) {
        let task = &mut self.tasks[task as usize].life;
        match task.state {
            State::New if task.span.ready_time.is_none() => task.span.ready_time = Some(call.time),
            State::Suspended => {
                if let Some(wait) = task.suspensions.last_mut().filter(|wait| wait.ready_time.is_none()) {
                    wait.ready_time = Some(call.time);
                }
            }
            _ => (),
        }
    }

    fn enter(&mut self, call: &LogicalCall, index: u32, has_just_paused: bool, contexts: &mut Contexts) {
        let thread = *self.thread(call.thread);
        if thread.current == Some(index) {
            return;
        }
        if thread.current.is_some() {
            self.complete(call.thread, call.time, Some(call.seq), TaskEnd::Inferred, contexts);
        }
        let jobs = thread.jobs;
        let thread = self.thread(call.thread);
        thread.current = Some(index);
        thread.jobs_at_enter = jobs;
        contexts.push(call.thread, Context::Task(index));
        let Task { life, resumed, handed_to, .. } = &mut self.tasks[index as usize];
        let handed_to = handed_to.take();
        match life.state {
            State::New => life.span.function = life.span.function.or(call.leads_to),
            State::Suspended if has_just_paused => return life.has_not_paused(),
            State::Suspended => {
                if let (Some((resume, resumer)), Some(wait)) = (resumed.take(), life.open_wait()) {
                    wait.resume_time = Some(resume.time);
                    wait.resume_thread = Some(resume.thread);
                    wait.resume_seq = Some(resume.seq);
                    wait.resumer = resumer.to_word();
                }
            }
            State::Running | State::Done => (),
        }
        *resumed = None;
        life.run(call);
        if let Some(executor) = handed_to {
            life.hop(call.time, executor);
        }
    }

    fn exit(&mut self, call: &LogicalCall, index: u32, status: u64, contexts: &mut Contexts) {
        let thread = self.thread(call.thread);
        let wait = thread.wait.take();
        if thread.current == Some(index) {
            thread.current = None;
        }
        thread.paused = Some(index);
        contexts.leave(call.thread, Context::Task(index));
        let awaiting = wait.and_then(|wait| wait.awaiting);
        let (kind, key) = match wait {
            Some(Wait { kind: WaitKind::Executor, key, .. }) => (WaitKind::Executor, key),
            _ if status != NONE && status & IS_ENQUEUED != 0 => (WaitKind::Executor, NONE),
            Some(Wait { kind, key, .. }) => (kind, key),
            None => (WaitKind::Unknown, NONE),
        };
        let executor = wait.and_then(|wait| wait.executor).map_or(NONE, u64::from);
        let wait = Suspension { kind: kind as u64, key, awaiting, executor, ..Suspension::default() };
        self.tasks[index as usize].life.pause(call, wait);
    }

    fn complete(
        &mut self,
        thread: ThreadIndex,
        time: TraceNanos,
        seq: Option<EventSeq>,
        how: TaskEnd,
        contexts: &mut Contexts,
    ) {
        self.settle_hop(thread);
        let state = self.thread(thread);
        let Some(index) = state.current.take() else { return };
        contexts.leave(thread, Context::Task(index));
        self.tasks[index as usize].life.complete(thread, time, seq, how);
    }

    fn resume(&mut self, call: &LogicalCall, task: Option<u32>, contexts: &mut Contexts) {
        let resumer = contexts.now(call.thread);
        let Some(task) = task.map(|task| &mut self.tasks[task as usize]).filter(|task| task.continuation.is_some())
        else {
            // Where events are missing, the wait may be among them.
            if !self.losses.between(TraceNanos(0), call.time) {
                self.orphans.push((call.thread, call.seq));
            }
            return;
        };
        task.continuation = None;
        task.resumed = Some((*call, resumer));
    }

    fn cancel(&mut self, call: &LogicalCall, task: u32, status: u64, contexts: &mut Contexts) {
        let canceler = contexts.now(call.thread);
        if status != NONE && status & IS_COMPLETE != 0 {
            return;
        }
        let request =
            CancelRequest { time: call.time, thread: call.thread, seq: call.seq, canceler: canceler.to_word() };
        self.cancel_with_children(task, &request);
    }

    /// A request reaches the children that `async let` and groups have made too: the runtime marks them within the same
    /// call, and only some of them by a call of their own.
    fn cancel_with_children(&mut self, task: u32, request: &CancelRequest) {
        let mut reached = vec![task];
        while let Some(index) = reached.pop() {
            let task = &mut self.tasks[index as usize];
            let span = &mut task.life.span;
            if task.life.state == State::Done || span.cancel_time.is_some() {
                continue;
            }
            span.cancel_time = Some(request.time);
            span.cancel_thread = Some(request.thread);
            span.cancel_seq = Some(request.seq);
            span.canceler = request.canceler;
            span.canceled_continuation = task.continuation.unwrap_or(NONE);
            reached.extend(&task.children);
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

/// Who asked a task to end, and when.
#[derive(Clone, Copy)]
struct CancelRequest {
    time: TraceNanos,
    thread: ThreadIndex,
    seq: EventSeq,
    canceler: u64,
}

impl CancelRequest {
    /// The one that a task was cancelled by.
    fn of(span: &TaskSpan) -> Option<Self> {
        let (time, thread, seq) = (span.cancel_time?, span.cancel_thread?, span.cancel_seq?);
        Some(Self { time, thread, seq, canceler: span.canceler })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Outcome, Reason, Status};
    use crate::role::Role;

    const OPTIONS: ReplayOptions = ReplayOptions {
        has_drops: false,
        end: ProcessEnd::Exited,
        end_time: TraceNanos(1000),
        timeout_ns: u64::MAX,
        let_go_until: TraceNanos(0),
        attached_time: None,
        is_attached: false,
        is_imported: false,
        is_cut_short: false,
        is_incomplete: false,
    };

    const NOTHING: TaskSurroundings<'static> = TaskSurroundings { function_at: &|_| None, labels: &[] };

    #[test]
    fn children_are_cancelled_with_their_parent() {
        let made = |id: u64, time: u64, flags: u64| {
            let words = Words::New { entry: NONE, head: id << 32 | flags, completion: NONE };
            let (swift, mut call) = call(SwiftCall::Create, 0, time, words);
            call.arguments[0] = 0x1000;
            (swift, call)
        };
        const ASYNC_LET: u64 = 1 << 28 | 1 << 24;
        let (tasks, _) = feed(&[
            call(SwiftCall::Enter, 0, 10, about(1, 0)),
            made(2, 11, ASYNC_LET),
            made(3, 12, 0),
            call(SwiftCall::Cancel, 1, 20, about(1, 0)),
            made(4, 25, ASYNC_LET),
            call(SwiftCall::Enter, 1, 30, about(2, IS_CANCELED)),
            call(SwiftCall::Complete, 1, 31, Words::Nothing),
        ]);
        let made = tasks.finish(&OPTIONS, &mut TextTable::default()).0.tasks;
        // The detached one is nobody's child; a child that comes later is cancelled from its beginning.
        let times: Vec<Option<u64>> = made.iter().map(|task| task.cancel_time.map(|time| time.0)).collect();
        assert_eq!(times, [Some(20), Some(20), None, Some(25)]);
        assert_eq!(made[1].outcome(), Outcome::new(Status::Canceled, Reason::Canceled));
    }

    /// Task 1 pauses before a loss, task 2 runs on the thread that loses events, task 3 is made and never seen again.
    #[test]
    fn what_may_have_ended_among_missing_events_is_neither_pending_nor_suspended() {
        let words = Words::New { entry: NONE, head: 3 << 32, completion: NONE };
        let before = [
            call(SwiftCall::Enter, 0, 10, about(1, 0)),
            call(SwiftCall::Create, 0, 12, words),
            call(SwiftCall::Exit, 0, 16, about(1, 0)),
            call(SwiftCall::Enter, 1, 20, about(2, 0)),
        ];
        let loss = Loss { thread: ThreadIndex(1), from: TraceNanos(25), to: TraceNanos(60) };
        let (mut tasks, mut contexts) = (Tasks::new(Losses::new(vec![(loss.from, loss.to)])), Contexts::default());
        before.iter().for_each(|(swift, call)| tasks.begin(call, *swift, &mut contexts, &NOTHING));
        tasks.lose(&loss, &mut contexts);
        let late = call(SwiftCall::Exit, 1, 70, about(2, 0)).1;
        tasks.begin(&late, SwiftCall::Exit, &mut contexts, &NOTHING);
        let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
        let dropped = Outcome::new(Status::Unmatched, Reason::Dropped);
        assert_eq!((tables.tasks[0].outcome(), tables.tasks[0].end), (dropped, TraceNanos(16)));
        assert_eq!((tables.tasks[1].outcome(), tables.tasks[1].runs), (dropped, 0));
        // It was seen again, waiting, after the loss: that it still waits is known, what it did meanwhile is not.
        let again = tables.tasks[2];
        assert!(again.outcome().is_uncertain);
        assert_eq!(again.running_ns + again.suspended_ns, again.end - again.start);
        let runs: Vec<(u64, u64)> =
            tables.runs.iter().filter(|run| run.task == 2).map(|it| (it.start.0, it.end.0)).collect();
        assert_eq!(runs, [(20, 25), (70, 70)]);
    }

    /// A call on a thread at a time, which is also its event.
    fn call(swift: SwiftCall, thread: u32, time: u64, words: Words) -> (SwiftCall, LogicalCall) {
        let call = LogicalCall {
            thread: ThreadIndex(thread),
            depth: 0,
            seq: EventSeq(time),
            time: TraceNanos(time),
            end: None,
            close_seq: None,
            role: Role::Swift(swift),
            outcome: Outcome::default(),
            function: FunctionId(1),
            leads_to: None,
            arguments: [0x77, 0x88, 0, 0],
            result: NONE,
            words,
            label: None,
        };
        (swift, call)
    }

    fn about(id: u64, status: u64) -> Words {
        Words::Task { head: id << 32, context: 0, status }
    }

    fn feed(calls: &[(SwiftCall, LogicalCall)]) -> (Tasks, Contexts) {
        let (mut tasks, mut contexts) = (Tasks::default(), Contexts::default());
        for (swift, call) in calls {
            tasks.begin(call, *swift, &mut contexts, &NOTHING);
            if *swift == SwiftCall::JobRun && call.end.is_some() {
                tasks.end(call, *swift, &mut contexts);
            }
        }
        (tasks, contexts)
    }

    #[test]
    fn the_end_is_inferred_where_nothing_reports_it() {
        let mut run = call(SwiftCall::JobRun, 0, 30, Words::Nothing);
        (run.1.end, run.1.close_seq) = (Some(TraceNanos(40)), Some(EventSeq(40)));
        let (mut tasks, mut contexts) = feed(&[
            call(SwiftCall::JobRun, 0, 1, Words::Nothing),
            call(SwiftCall::Enter, 0, 10, about(1, 0)),
            // Another one begins in the same job: the first one is done.
            call(SwiftCall::Enter, 0, 20, about(2, 0)),
        ]);
        let (_, job) = run;
        tasks.end(&job, SwiftCall::JobRun, &mut contexts);
        let made = tasks.finish(&OPTIONS, &mut TextTable::default()).0.tasks;
        let ends: Vec<(TraceNanos, TaskEnd)> = made.iter().map(|task| (task.end, task.end_how())).collect();
        assert_eq!(ends, [(TraceNanos(20), TaskEnd::Inferred), (TraceNanos(40), TaskEnd::Inferred)]);
        assert!(made.iter().all(|task| task.outcome() == Outcome::default() && task.suspended_ns == 0));
    }

    #[test]
    fn a_task_that_lost_the_race_to_its_resume_has_not_paused() {
        let (tasks, _) = feed(&[
            call(SwiftCall::Enter, 0, 10, about(1, 0)),
            call(SwiftCall::ContinuationInit, 0, 12, about(1, 0)),
            call(SwiftCall::ContinuationAwait, 0, 14, Words::Nothing),
            call(SwiftCall::Exit, 0, 16, about(1, 0)),
            call(SwiftCall::Enter, 0, 18, about(1, 0)),
            call(SwiftCall::Complete, 0, 30, Words::Nothing),
        ]);
        let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
        assert_eq!((tables.suspensions.len(), tables.runs.len()), (0, 1));
        let task = tables.tasks[0];
        assert_eq!((task.running_ns, task.suspended_ns, task.end - task.start), (20, 0, 20));
    }

    #[test]
    fn a_task_has_thrown_where_its_end_was_called_with_an_error() {
        let ended = |thread, time, error| call(SwiftCall::Complete, thread, time, Words::Ended { error });
        let mut thrown = ended(0, 20, 0x55);
        thrown.1.label = Some(0);
        let calls = [
            call(SwiftCall::Enter, 0, 10, about(1, 0)),
            thrown,
            call(SwiftCall::Enter, 0, 30, about(2, 0)),
            ended(0, 40, 0),
            call(SwiftCall::Enter, 0, 50, about(3, 0)),
            call(SwiftCall::Complete, 0, 60, Words::Nothing),
            // Nobody runs: the function has jumped to another of its kind.
            ended(0, 61, 0x66),
            call(SwiftCall::Enter, 0, 70, about(4, 0)),
            call(SwiftCall::FutureWait, 0, 71, about(1, 0)),
        ];
        let (mut tasks, mut contexts) = (Tasks::default(), Contexts::default());
        let labels = [Text { bytes: b"second\0Failure\0app\0".to_vec(), is_cut: false }];
        let around = TaskSurroundings { labels: &labels, ..NOTHING };
        calls.iter().for_each(|(swift, call)| tasks.begin(call, *swift, &mut contexts, &around));
        let mut texts = TextTable::default();
        let made = tasks.finish(&OPTIONS, &mut texts).0.tasks;
        let results: Vec<TaskResult> = made.iter().map(TaskSpan::result).collect();
        assert_eq!(results, [TaskResult::Threw, TaskResult::Returned, TaskResult::Unknown, TaskResult::Unknown]);
        let words = [made[0].error_type, made[0].error_module, made[0].error_case];
        assert_eq!(words.map(|word| texts.texts[word as usize].as_str()), ["Failure", "app", "second"]);
        assert_eq!((made[0].result_requests, made[1].result_requests, made[1].error_type), (1, 0, NONE));
        // A request that may be for any of them.
        let (tasks, _) = feed(&[calls[0], calls[1], call(SwiftCall::FutureWait, 0, 80, Words::Nothing)]);
        assert_eq!(tasks.finish(&OPTIONS, &mut TextTable::default()).0.tasks[0].result_requests, NONE);
    }

    #[test]
    fn a_task_runs_where_it_was_handed_to_and_where_it_went_on() {
        let with = |it: (SwiftCall, LogicalCall), identity: u64| {
            let (swift, call) = it;
            (swift, LogicalCall { arguments: [0x77, identity, 0, 0], ..call })
        };
        let (tasks, _) = feed(&[
            with(call(SwiftCall::Enqueue, 0, 5, about(1, 0)), 0),
            call(SwiftCall::Enter, 0, 10, about(1, 0)),
            // An actor that is free, and one that is not.
            with(call(SwiftCall::Switch, 0, 12, Words::Nothing), 0xa0),
            with(call(SwiftCall::Switch, 0, 14, Words::Nothing), 0xb0),
            call(SwiftCall::Exit, 0, 16, about(1, IS_ENQUEUED)),
            with(call(SwiftCall::Enqueue, 0, 17, about(1, 0)), 0xb0),
            call(SwiftCall::Enter, 1, 20, about(1, 0)),
            call(SwiftCall::Complete, 1, 30, Words::Nothing),
        ]);
        let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
        let address = |executor: u64| tables.executors[executor as usize].address.0;
        let hops: Vec<(u64, u64)> = tables.hops.iter().map(|hop| (hop.time.0, address(hop.executor))).collect();
        assert_eq!(hops, [(10, 0), (12, 0xa0), (20, 0xb0)]);
        assert_eq!(address(tables.suspensions[0].executor), 0xb0);
    }

    #[test]
    fn a_resume_that_nobody_waits_for_is_an_orphan() {
        let (tasks, _) = feed(&[
            call(SwiftCall::Enter, 0, 10, about(1, 0)),
            call(SwiftCall::ContinuationInit, 0, 12, about(1, 0)),
            call(SwiftCall::ContinuationAwait, 0, 14, Words::Nothing),
            call(SwiftCall::Exit, 0, 16, about(1, 0)),
            call(SwiftCall::Resume, 1, 20, about(1, 0)),
            call(SwiftCall::Resume, 1, 22, about(1, 0)),
            call(SwiftCall::Resume, 1, 24, about(9, 0)),
            call(SwiftCall::Enter, 1, 30, about(1, 0)),
            call(SwiftCall::Complete, 1, 40, Words::Nothing),
        ]);
        assert_eq!(tasks.orphans, [(ThreadIndex(1), EventSeq(22)), (ThreadIndex(1), EventSeq(24))]);
        let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
        let wait = tables.suspensions[0];
        assert_eq!((wait.kind(), wait.key, wait.resume_seq), (WaitKind::Continuation, 0x77, Some(EventSeq(20))));
        assert_eq!((tables.tasks[0].running_ns, tables.tasks[0].suspended_ns), (16, 14));
    }

    #[test]
    fn cancellation_notes_what_was_waited_for_and_only_the_first_counts() {
        let (tasks, _) = feed(&[
            call(SwiftCall::Enter, 0, 10, about(1, 0)),
            call(SwiftCall::ContinuationInit, 0, 12, about(1, 0)),
            call(SwiftCall::ContinuationAwait, 0, 14, Words::Nothing),
            call(SwiftCall::Exit, 0, 16, about(1, 0)),
            call(SwiftCall::Cancel, 1, 20, about(1, 0)),
            call(SwiftCall::Cancel, 1, 22, about(1, 0)),
            call(SwiftCall::Enter, 1, 30, about(2, 0)),
            call(SwiftCall::Complete, 1, 31, Words::Nothing),
            call(SwiftCall::Cancel, 0, 32, about(2, IS_COMPLETE)),
        ]);
        let made = tasks.finish(&OPTIONS, &mut TextTable::default()).0.tasks;
        assert_eq!(made[0].outcome(), Outcome::new(Status::Canceled, Reason::Canceled));
        assert_eq!((made[0].cancel_time, made[0].canceled_continuation), (Some(TraceNanos(20)), 0x77));
        assert_eq!((made[1].outcome(), made[1].cancel_time), (Outcome::default(), None));
    }

    #[test]
    fn a_task_seen_on_two_threads_at_once_is_in_doubt() {
        let (tasks, _) =
            feed(&[call(SwiftCall::Enter, 0, 10, about(1, 0)), call(SwiftCall::Enter, 1, 20, about(1, 0))]);
        let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
        assert!(tables.tasks[0].outcome().is_uncertain);
        let runs: Vec<(u64, u64)> = tables.runs.iter().map(|run| (run.start.0, run.end.0)).collect();
        assert_eq!(runs, [(10, 20), (20, 1000)]);
    }
}
