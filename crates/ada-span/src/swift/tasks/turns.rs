//! When tasks run, pause and go on.

use ada_event::{EventSeq, FunctionId, TraceNanos};

use super::{IS_ENQUEUED, Task, Tasks, Wait};
use crate::NONE;
use crate::concurrency::{Context, Contexts, LogicalCall};
use crate::task::{State, Suspension, TaskEnd, WaitKind};
use crate::thread_index::ThreadIndex;

impl Tasks {
    /// The task that runs is about to wait.
    pub(super) fn waits(&mut self, call: &LogicalCall, kind: WaitKind, key: u64, awaiting: Option<FunctionId>) {
        self.settle_hop(call.thread);
        self.thread(call.thread).wait = Some(Wait { kind, key, awaiting, time: call.time, executor: None });
    }

    /// A task that was about to wait for an executor, and goes on instead, runs on it.
    pub(super) fn settle_hop(&mut self, thread: ThreadIndex) {
        let thread = self.thread(thread);
        if let (Some(Wait { executor: Some(executor), time, .. }), Some(task)) = (thread.wait.take(), thread.current) {
            self.tasks[task as usize].life.hop(time, executor);
        }
    }

    pub(super) fn enqueue(&mut self, call: &LogicalCall, task: u32) {
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

    pub(super) fn enter(&mut self, call: &LogicalCall, index: u32, has_just_paused: bool, contexts: &mut Contexts) {
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

    pub(super) fn exit(&mut self, call: &LogicalCall, index: u32, status: u64, contexts: &mut Contexts) {
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

    pub(super) fn complete(
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

    pub(super) fn resume(&mut self, call: &LogicalCall, task: Option<u32>, contexts: &mut Contexts) {
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
}
