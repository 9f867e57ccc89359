//! What became of each task, from the calls of the runtime in the order of their times.

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use super::{Suspension, TaskEnd, TaskKind, TaskRun, TaskSpan, WaitKind};
use crate::NONE;
use crate::concurrency::{Context, Contexts, LogicalCall, Words};
use crate::outcome::{Outcome, Reason, Status};
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::role::SwiftCall;
use crate::thread_index::ThreadIndex;

/// A task's flags and id are one word.
fn id_of(head: u64) -> u64 {
    head >> 32
}

/// Jobs that are not tasks have other kinds in the lowest byte, and no id.
fn is_task(head: u64) -> bool {
    head & 0xff == 0 && id_of(head) != 0
}

/// The end of a run that has not ended.
const STILL_RUNNING: TraceNanos = TraceNanos(NONE);

/// In a task's status: it waits in a queue to run.
const IS_ENQUEUED: u64 = 0x1000;
/// In a task's status: it has ended.
const IS_COMPLETE: u64 = 0x2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Running,
    Suspended,
    Done,
}

struct Task {
    span: TaskSpan,
    state: State,
    runs: Vec<TaskRun>,
    suspensions: Vec<Suspension>,
    /// The continuation that was made last and not resumed: its address.
    continuation: Option<u64>,
    /// The same once it is resumed, as long as the task has not gone on.
    resumed: Option<(LogicalCall, Context)>,
    /// What the continuation is for, if it is the runtime's own.
    purpose: WaitKind,
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
    wait: Option<(WaitKind, u64)>,
    /// The task that has just paused on it.
    paused: Option<u32>,
}

/// All tasks of a process.
#[derive(Default)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
    indexes: HashMap<u64, u32>,
    threads: Vec<Thread>,
    /// Resumes of continuations that no task waits for.
    pub(crate) orphans: Vec<(ThreadIndex, EventSeq)>,
}

/// The tables of tasks.
#[derive(Default)]
pub(crate) struct TaskTables {
    pub(crate) tasks: Vec<TaskSpan>,
    pub(crate) runs: Vec<TaskRun>,
    pub(crate) suspensions: Vec<Suspension>,
}

impl Tasks {
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
            self.tasks.push(Task {
                span: TaskSpan {
                    id: id_of(head),
                    kind: TaskKind::Unknown as u64,
                    thread: call.thread,
                    begin_seq: call.seq,
                    start: call.time,
                    end: call.time,
                    end_how: TaskEnd::None as u64,
                    running_ns: 0,
                    suspended_ns: 0,
                    ..TaskSpan::default()
                },
                state: State::New,
                runs: Vec::new(),
                suspensions: Vec::new(),
                continuation: None,
                resumed: None,
                purpose: WaitKind::Continuation,
            });
        }
        Some(index)
    }

    /// A call begins. `function_at` finds functions by their addresses, but for the machinery's own.
    pub(crate) fn begin(
        &mut self,
        call: &LogicalCall,
        swift: SwiftCall,
        contexts: &mut Contexts,
        function_at: &dyn Fn(RuntimeAddr) -> Option<FunctionId>,
    ) {
        let paused = self.thread(call.thread).paused.take();
        let head = match call.words {
            Words::Task { head, .. } | Words::New { head, .. } => head,
            _ => NONE,
        };
        let task = if head == NONE { None } else { self.find_or_add(head, call) };
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
            SwiftCall::Complete => self.complete(call.thread, call.time, Some(call.seq), TaskEnd::Completion, contexts),
            SwiftCall::Enqueue | SwiftCall::EnqueueInPool | SwiftCall::EnqueueOnMain => {
                if let Some(task) = task {
                    self.enqueue(call, task);
                }
            }
            SwiftCall::Switch => self.thread(call.thread).wait = Some((WaitKind::Executor, call.arguments[1])),
            SwiftCall::ContinuationAwait => {
                let current = self.thread(call.thread).current;
                let purpose = current.map_or(WaitKind::Continuation, |task| self.tasks[task as usize].purpose);
                self.thread(call.thread).wait = Some((purpose, call.arguments[0]));
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
            SwiftCall::Yield => {
                if let Some(task) = task {
                    self.tasks[task as usize].purpose = WaitKind::Yield;
                }
            }
            SwiftCall::FutureWait => {
                self.thread(call.thread).wait = Some((WaitKind::Task, if head == NONE { NONE } else { id_of(head) }));
            }
            SwiftCall::AsyncLetWait => self.thread(call.thread).wait = Some((WaitKind::Task, NONE)),
            SwiftCall::GroupWait => self.thread(call.thread).wait = Some((WaitKind::Group, call.arguments[1])),
            SwiftCall::ProcessExit => self.exit_process(call, contexts),
            SwiftCall::Cancel => {
                if let (Some(task), Words::Task { status, .. }) = (task, call.words) {
                    self.cancel(call, task, status, contexts);
                }
            }
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
        let span = &mut self.tasks[task as usize].span;
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
        if span.kind() == TaskKind::Helper
            && let Context::Task(parent) = parent
        {
            // What a task makes of these between its continuation and its wait is what ends its sleep.
            self.tasks[parent as usize].purpose = WaitKind::Sleep;
        }
    }

    fn enqueue(&mut self, call: &LogicalCall, task: u32) {
        let task = &mut self.tasks[task as usize];
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
        let task = &mut self.tasks[index as usize];
        match task.state {
            State::New => {
                task.span.thread = call.thread;
                task.span.begin_seq = call.seq;
                task.span.start = call.time;
                task.span.function = task.span.function.or(call.leads_to);
            }
            // It was about to wait when what it waited for had happened: it has not paused at all.
            State::Suspended if has_just_paused => {
                task.suspensions.pop();
                if let Some(run) = task.runs.last_mut() {
                    (run.end, run.end_seq) = (STILL_RUNNING, None);
                    task.span.running_ns -= task.span.end.since(run.start);
                }
                task.state = State::Running;
                return;
            }
            State::Suspended => {
                if let Some(wait) = task.suspensions.last_mut() {
                    wait.end = Some(call.time.max(wait.start));
                    task.span.suspended_ns += call.time.since(wait.start);
                    if let Some((resume, resumer)) = task.resumed.take() {
                        wait.resume_time = Some(resume.time);
                        wait.resume_thread = Some(resume.thread);
                        wait.resume_seq = Some(resume.seq);
                        wait.resumer = resumer.to_word();
                    }
                }
            }
            // Its pause was not seen, or it is said to have ended: events are missing.
            State::Running | State::Done => {
                if let Some(run) = task.runs.last_mut().filter(|run| run.end == STILL_RUNNING) {
                    (run.end, run.end_seq) = (call.time.max(run.start), Some(call.seq));
                    task.span.running_ns += run.end - run.start;
                } else {
                    task.span.suspended_ns += call.time.since(task.span.end);
                }
                mark_uncertain(&mut task.span);
            }
        }
        task.state = State::Running;
        task.resumed = None;
        task.runs.push(TaskRun {
            task: index.into(),
            thread: call.thread,
            start: call.time,
            end: STILL_RUNNING,
            start_seq: call.seq,
            end_seq: None,
        });
    }

    fn exit(&mut self, call: &LogicalCall, index: u32, status: u64, contexts: &mut Contexts) {
        let thread = self.thread(call.thread);
        let wait = thread.wait.take();
        if thread.current == Some(index) {
            thread.current = None;
        }
        thread.paused = Some(index);
        contexts.leave(call.thread, Context::Task(index));
        let task = &mut self.tasks[index as usize];
        if task.state == State::New {
            // It began before the recording.
            task.span.thread = call.thread;
            (task.span.begin_seq, task.span.start) = (call.seq, call.time);
        }
        if let Some(run) = task.runs.last_mut().filter(|run| run.end == STILL_RUNNING) {
            (run.end, run.end_seq) = (call.time, Some(call.seq));
            task.span.running_ns += call.time - run.start;
        }
        let (kind, key) = match wait {
            Some((WaitKind::Executor, key)) => (WaitKind::Executor, key),
            _ if status != NONE && status & IS_ENQUEUED != 0 => (WaitKind::Executor, NONE),
            Some(wait) => wait,
            None => (WaitKind::Unknown, NONE),
        };
        task.span.end = call.time;
        task.span.end_thread = Some(call.thread);
        task.span.end_seq = Some(call.seq);
        task.state = State::Suspended;
        task.suspensions.push(Suspension {
            task: index.into(),
            start: call.time,
            kind: kind as u64,
            key,
            thread: call.thread,
            seq: call.seq,
            ..Suspension::default()
        });
    }

    fn complete(
        &mut self,
        thread: ThreadIndex,
        time: TraceNanos,
        seq: Option<EventSeq>,
        how: TaskEnd,
        contexts: &mut Contexts,
    ) {
        let state = self.thread(thread);
        state.wait = None;
        let Some(index) = state.current.take() else { return };
        contexts.leave(thread, Context::Task(index));
        let task = &mut self.tasks[index as usize];
        task.state = State::Done;
        if let Some(run) = task.runs.last_mut().filter(|run| run.end == STILL_RUNNING) {
            (run.end, run.end_seq) = (time.max(run.start), seq);
            task.span.running_ns += run.end - run.start;
        }
        task.span.end = time.max(task.span.start);
        task.span.end_thread = Some(thread);
        task.span.end_seq = seq;
        task.span.end_how = how as u64;
    }

    fn resume(&mut self, call: &LogicalCall, task: Option<u32>, contexts: &mut Contexts) {
        let resumer = contexts.now(call.thread);
        let Some(task) = task.map(|task| &mut self.tasks[task as usize]).filter(|task| task.continuation.is_some())
        else {
            self.orphans.push((call.thread, call.seq));
            return;
        };
        task.continuation = None;
        task.resumed = Some((*call, resumer));
    }

    fn cancel(&mut self, call: &LogicalCall, task: u32, status: u64, contexts: &mut Contexts) {
        let canceler = contexts.now(call.thread);
        let task = &mut self.tasks[task as usize];
        let is_over = task.state == State::Done || status != NONE && status & IS_COMPLETE != 0;
        if is_over || task.span.cancel_time.is_some() {
            return;
        }
        task.span.cancel_time = Some(call.time);
        task.span.cancel_thread = Some(call.thread);
        task.span.cancel_seq = Some(call.seq);
        task.span.canceler = canceler.to_word();
        task.span.canceled_continuation = task.continuation.unwrap_or(NONE);
    }

    /// An asynchronous `main` never completes: when it is done, it ends the process.
    fn exit_process(&mut self, call: &LogicalCall, contexts: &mut Contexts) {
        if let Some(task) = self.thread(call.thread).current
            && self.tasks[task as usize].span.kind() == TaskKind::Main
        {
            self.complete(call.thread, call.time, Some(call.seq), TaskEnd::Exit, contexts);
        }
    }

    /// Ends what is open, and gives the tables.
    pub(crate) fn finish(self, options: &ReplayOptions) -> TaskTables {
        let mut tables = TaskTables::default();
        for mut task in self.tasks {
            let span = &mut task.span;
            let is_certain = span.outcome == NONE;
            let mut outcome = match (task.state, options.end) {
                (State::Done, _) => Outcome::new(Status::Completed, Reason::None),
                (State::New, ProcessEnd::Alive) => Outcome::new(Status::Pending, Reason::None),
                (State::New, _) => Outcome::new(Status::Pending, Reason::ProcessExit),
                (_, end) => end.outcome(),
            };
            let creation = span.create_thread.zip(span.create_seq).zip(span.create_time);
            if let Some(((thread, seq), time)) = creation.filter(|_| task.state == State::New) {
                (span.thread, span.begin_seq, span.start, span.end) = (thread, seq, time, time);
            } else if task.state != State::New && task.state != State::Done {
                span.end = options.end_time.max(span.end).max(span.start);
                if let Some(run) = task.runs.last_mut().filter(|run| run.end == STILL_RUNNING) {
                    run.end = span.end.max(run.start);
                    span.running_ns += run.end - run.start;
                } else if let Some(wait) = task.suspensions.last() {
                    span.suspended_ns += span.end.since(wait.start);
                }
            }
            if span.cancel_time.is_some() && task.state != State::New {
                outcome = Outcome::new(Status::Canceled, Reason::Canceled);
            }
            let is_slow = span.end - span.start > options.timeout_ns && outcome.reason == Reason::None;
            if is_slow {
                outcome.reason = Reason::Timeout;
            }
            span.outcome = Outcome { is_uncertain: !is_certain, ..outcome }.to_byte().into();
            span.first_run = tables.runs.len() as u64;
            span.runs = task.runs.len() as u64;
            span.first_suspension = tables.suspensions.len() as u64;
            span.suspensions = task.suspensions.len() as u64;
            tables.runs.extend(task.runs);
            tables.suspensions.extend(task.suspensions);
            tables.tasks.push(task.span);
        }
        tables
    }
}

/// Until its end is known, a span's outcome only says whether anything is in doubt.
fn mark_uncertain(span: &mut TaskSpan) {
    span.outcome = 0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::Role;

    const OPTIONS: ReplayOptions =
        ReplayOptions { has_drops: false, end: ProcessEnd::Exited, end_time: TraceNanos(1000), timeout_ns: u64::MAX };

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
            tasks.begin(call, *swift, &mut contexts, &|_| None);
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
        let made = tasks.finish(&OPTIONS).tasks;
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
        let tables = tasks.finish(&OPTIONS);
        assert_eq!((tables.suspensions.len(), tables.runs.len()), (0, 1));
        let task = tables.tasks[0];
        assert_eq!((task.running_ns, task.suspended_ns, task.end - task.start), (20, 0, 20));
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
        let tables = tasks.finish(&OPTIONS);
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
        let made = tasks.finish(&OPTIONS).tasks;
        assert_eq!(made[0].outcome(), Outcome::new(Status::Canceled, Reason::Canceled));
        assert_eq!((made[0].cancel_time, made[0].canceled_continuation), (Some(TraceNanos(20)), 0x77));
        assert_eq!((made[1].outcome(), made[1].cancel_time), (Outcome::default(), None));
    }

    #[test]
    fn a_task_seen_on_two_threads_at_once_is_in_doubt() {
        let (tasks, _) =
            feed(&[call(SwiftCall::Enter, 0, 10, about(1, 0)), call(SwiftCall::Enter, 1, 20, about(1, 0))]);
        let tables = tasks.finish(&OPTIONS);
        assert!(tables.tasks[0].outcome().is_uncertain);
        let runs: Vec<(u64, u64)> = tables.runs.iter().map(|run| (run.start.0, run.end.0)).collect();
        assert_eq!(runs, [(10, 20), (20, 1000)]);
    }
}
