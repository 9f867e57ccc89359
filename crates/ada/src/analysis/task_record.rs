//! The record of a Swift task.

use ada_event::FunctionId;
use ada_span::NONE;
use ada_span::concurrency::Context;
use ada_span::swift::{Suspension, TaskEnd, TaskRun, TaskSpan, WaitKind};
use serde_json::{Map, Value, json};

use super::opened::{OpenedProcess, OpenedSession};
use super::record::{Told, hex, refer};
use ada_query::{Target, plain_name};

/// A task's logical span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskView {
    pub(crate) process: usize,
    pub(crate) span: TaskSpan,
}

impl TaskView {
    /// What the task was made to run.
    pub(crate) fn name(&self, process: &OpenedProcess) -> String {
        match self.span.function {
            NONE => format!("task {}", self.span.id),
            function => plain_name(process.names.name(FunctionId(function))),
        }
    }

    pub(crate) fn runs<'a>(&self, process: &'a OpenedProcess) -> &'a [TaskRun] {
        let (first, count) = (self.span.first_run as usize, self.span.runs as usize);
        &process.tables.meta().task_runs[first..first + count]
    }

    pub(crate) fn suspensions<'a>(&self, process: &'a OpenedProcess) -> &'a [Suspension] {
        let (first, count) = (self.span.first_suspension as usize, self.span.suspensions as usize);
        &process.tables.meta().suspensions[first..first + count]
    }

    /// The ids of the threads that it ran on, in their order.
    pub(crate) fn threads(&self, process: &OpenedProcess) -> Vec<u32> {
        let threads = &process.tables.meta().threads;
        let mut ids: Vec<u32> = self.runs(process).iter().map(|run| threads[run.thread as usize].id).collect();
        ids.dedup();
        ids
    }

    pub(super) fn tell(&self, opened: &OpenedSession) -> Told {
        let process = &opened.processes[self.process];
        let span = &self.span;
        let threads = &process.tables.meta().threads;
        let id = |place: u64| threads.get(place as usize).map(|thread| thread.id);
        let to = |target: Target| Value::from(refer(opened, self.process, target).to_string());
        let maybe = |target: Option<Target>| target.map_or(Value::Null, to);
        let known = |value: u64| (value != NONE).then_some(value);
        let create = id(span.create_thread).map(|thread| Target::Frame(thread, span.create_seq));
        // Without a task or block around it: the thread that somebody created, or the call alone.
        let thread = || {
            let creator = process.pthread(span.create_thread, span.create_seq)?;
            Some(Target::Thread(id(span.create_thread)?, creator.begin_seq))
        };
        let parent = process.target_of(span.parent()).or_else(thread).or(create);
        let mut evidence = Vec::new();
        let mut event = |thread: u64, seq: u64| {
            evidence.extend(id(thread).filter(|_| seq != NONE).map(|thread| to(Target::Event(thread, seq))));
        };
        event(span.create_thread, span.create_seq);
        event(span.thread, span.begin_seq);
        event(span.cancel_thread, span.cancel_seq);
        event(span.end_thread, span.end_seq);
        let mut attributes = Map::new();
        let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        put("task_id", span.id.into());
        put("kind", span.kind().word().into());
        put("create_ns", known(span.create_time).into());
        put("create_span_id", maybe(create));
        put("creator_thread_id", id(span.create_thread).into());
        put("ready_ns", known(span.ready_time).into());
        let latency = known(span.create_time).filter(|_| span.runs > 0).map(|time| span.start.saturating_sub(time));
        put("start_latency_ns", latency.into());
        put("running_ns", span.running_ns.into());
        put("suspended_ns", span.suspended_ns.into());
        put("run_count", span.runs.into());
        put("suspension_count", span.suspensions.into());
        if span.end_how() != TaskEnd::None {
            put("end_by", span.end_how().word().into());
        }
        if span.cancel_time != NONE {
            put("cancel_ns", span.cancel_time.into());
            put("canceler_span_id", maybe(process.target_of(Context::from_word(span.canceler))));
            put("canceler_thread_id", id(span.cancel_thread).into());
            put("canceled_continuation", known(span.canceled_continuation).map_or(Value::Null, hex));
        }
        let runs = self
            .runs(process)
            .iter()
            .map(|run| json!({ "thread_id": id(run.thread), "start_ns": run.start, "end_ns": run.end }));
        put("runs", runs.collect());
        let waits = self.suspensions(process).iter().map(|wait| {
            let mut told = json!({
                "kind": wait.kind().word(),
                "start_ns": wait.start,
                "end_ns": known(wait.end),
                "duration_ns": known(wait.end).map(|end| end.saturating_sub(wait.start)),
                "ready_ns": known(wait.ready_time),
            });
            if let Some(key) = known(wait.key) {
                let (name, value) = match wait.kind() {
                    WaitKind::Task => ("task_span_id", to(Target::Task(key))),
                    WaitKind::Group => ("group", hex(key)),
                    WaitKind::Executor => ("executor", executor(key)),
                    _ => ("continuation", hex(key)),
                };
                told[name] = value;
            }
            if let Some(thread) = id(wait.resume_thread) {
                let life = || process.pthread(wait.resume_thread, wait.resume_seq);
                let by_thread = || life().map(|life| Target::Thread(thread, life.begin_seq));
                let resumer = process.target_of(wait.resumer()).or_else(by_thread);
                told["resume_ns"] = wait.resume_time.into();
                told["resume_event"] = to(Target::Event(thread, wait.resume_seq));
                told["resumer_thread_id"] = thread.into();
                told["resumer_span_id"] = maybe(resumer);
            }
            told
        });
        put("suspensions", waits.collect());
        Told { parent, key: format!("task {}", span.id).into(), evidence, attributes, threads: self.threads(process) }
    }
}

/// An executor: nothing is the pool of threads, anything else an actor, or the main thread.
fn executor(identity: u64) -> Value {
    if identity == 0 { "pool".into() } else { hex(identity) }
}
