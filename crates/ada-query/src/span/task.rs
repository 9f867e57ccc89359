//! Swift tasks.

use std::borrow::Cow;

use ada_span::concurrency::Context;
use ada_span::swift::{Suspension, TaskEnd, TaskSpan, WaitKind};
use serde_json::{Map, Value, json};

use super::runtime_span::{Basics, RuntimeSpan, hex};
use super::value::known;
use crate::trace::{Target, TraceProcess, plain_name};

impl RuntimeSpan for TaskSpan {
    fn runtime(&self, _process: &TraceProcess) -> &'static str {
        "swift"
    }

    fn target(&self, _process: &TraceProcess) -> Target {
        Target::Task(self.id)
    }

    fn basics(&self) -> Basics {
        let &Self { thread, start, end, function, .. } = self;
        Basics { thread, start, end, outcome: self.outcome(), function }
    }

    fn name<'a>(&self, process: &'a TraceProcess) -> Option<Cow<'a, str>> {
        Some(match self.label(process) {
            Some(label) => plain_name(label.into_owned().name).into(),
            None => format!("task {}", self.id).into(),
        })
    }

    fn open_seq(&self) -> Option<u64> {
        known(self.begin_seq)
    }

    fn close_seq(&self) -> Option<u64> {
        known(self.end_seq)
    }

    /// A task runs in many pieces, and no call holds them.
    fn other(&self, _process: &TraceProcess) -> Option<Target> {
        None
    }

    fn cause(&self, process: &TraceProcess) -> Option<Target> {
        process.target_of(self.parent()).or_else(|| creation(self, process))
    }

    fn parent(&self, process: &TraceProcess) -> Option<Target> {
        let thread = || process.thread_around(self.create_thread, self.create_seq);
        process.target_of(self.parent()).or_else(thread).or_else(|| creation(self, process))
    }

    fn end_thread(&self) -> usize {
        known(self.end_thread).map_or(self.thread(), |thread| thread as usize)
    }

    fn thread_ids(&self, process: &TraceProcess) -> Vec<u32> {
        process.threads_of(self)
    }

    fn correlation_key(&self, _process: &TraceProcess) -> Option<String> {
        Some(format!("task {}", self.id))
    }

    fn evidence(&self, process: &TraceProcess) -> Vec<Target> {
        let events = [
            (self.create_thread, self.create_seq),
            (self.thread, self.begin_seq),
            (self.cancel_thread, self.cancel_seq),
            (self.end_thread, self.end_seq),
        ];
        let known_event =
            |(thread, seq)| process.known_thread_id(thread).zip(known(seq)).map(|(id, seq)| Target::Event(id, seq));
        events.into_iter().filter_map(known_event).collect()
    }

    fn attributes(&self, process: &TraceProcess) -> Map<String, Value> {
        let refer = |target: Option<Target>| Value::from(target.map(|target| process.refer(target)));
        let mut attributes = Map::new();
        let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        put("task_id", self.id.into());
        put("kind", self.kind().word().into());
        put("create_ns", known(self.create_time).into());
        put("create_span_id", refer(creation(self, process)));
        put("creator_thread_id", process.known_thread_id(self.create_thread).into());
        put("ready_ns", known(self.ready_time).into());
        let latency = known(self.create_time).filter(|_| self.runs > 0).map(|time| self.start.saturating_sub(time));
        put("start_latency_ns", latency.into());
        put("running_ns", self.running_ns.into());
        put("suspended_ns", self.suspended_ns.into());
        put("run_count", self.runs.into());
        put("suspension_count", self.suspensions.into());
        if self.end_how() != TaskEnd::None {
            put("end_by", self.end_how().word().into());
        }
        if let Some(time) = known(self.cancel_time) {
            put("cancel_ns", time.into());
            put("canceler_span_id", refer(process.target_of(Context::from_word(self.canceler))));
            put("canceler_thread_id", process.known_thread_id(self.cancel_thread).into());
            put("canceled_continuation", known(self.canceled_continuation).map_or(Value::Null, hex));
        }
        let runs = process.runs_of(self).iter().map(
            |run| json!({ "thread_id": process.known_thread_id(run.thread), "start_ns": run.start, "end_ns": run.end }),
        );
        put("runs", runs.collect());
        put("suspensions", process.suspensions_of(self).iter().map(|wait| suspension(wait, process)).collect());
        attributes
    }

    /// What hooks took on the threads that a task runs on is not what they took of its waits.
    fn run(&self) -> Option<(u64, Option<u64>)> {
        None
    }
}

/// The call that made the task.
fn creation(task: &TaskSpan, process: &TraceProcess) -> Option<Target> {
    let seq = known(task.create_seq)?;
    process.known_thread_id(task.create_thread).map(|thread| Target::Frame(thread, seq))
}

/// A wait: what for, and who ended it.
fn suspension(wait: &Suspension, process: &TraceProcess) -> Value {
    let mut record = json!({
        "kind": wait.kind().word(),
        "start_ns": wait.start,
        "end_ns": known(wait.end),
        "duration_ns": known(wait.end).map(|end| end.saturating_sub(wait.start)),
        "ready_ns": known(wait.ready_time),
    });
    if let Some(key) = known(wait.key) {
        let (name, value) = match wait.kind() {
            WaitKind::Task => ("task_span_id", process.refer(Target::Task(key)).into()),
            WaitKind::Group => ("group", hex(key)),
            WaitKind::Executor => ("executor", executor(key)),
            _ => ("continuation", hex(key)),
        };
        record[name] = value;
    }
    if let Some(thread) = process.known_thread_id(wait.resume_thread) {
        let by_thread = || process.thread_around(wait.resume_thread, wait.resume_seq);
        let resumer = process.target_of(wait.resumer()).or_else(by_thread);
        record["resume_ns"] = wait.resume_time.into();
        record["resume_event"] = process.refer(Target::Event(thread, wait.resume_seq)).into();
        record["resumer_thread_id"] = thread.into();
        record["resumer_span_id"] = resumer.map(|target| process.refer(target)).into();
    }
    record
}

/// An executor: nothing is the pool of threads, anything else an actor, or the main thread.
fn executor(identity: u64) -> Value {
    if identity == 0 { "pool".into() } else { hex(identity) }
}
