//! Tasks: Swift's, and goroutines.

use std::borrow::Cow;

use ada_event::{EventSeq, ThreadId, TraceNanos};
use ada_span::concurrency::Context;
use ada_span::gcd::qos_word;
use ada_span::task::{ExecutorEntry, ExecutorKind, Suspension, TaskEnd, TaskResult, TaskRuntime, TaskSpan, WaitKind};
use ada_span::{Reason, ThreadIndex};
use serde_json::{Map, Value, json};

use super::runtime_span::{Basics, RuntimeSpan, hex};
use super::value::known;
use crate::trace::{Target, TraceProcess, plain_name};

impl RuntimeSpan for TaskSpan {
    fn runtime(&self, _process: &TraceProcess) -> &'static str {
        TaskSpan::runtime(self).word()
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
            None => numbered(self).into(),
        })
    }

    fn open_seq(&self) -> Option<EventSeq> {
        Some(self.begin_seq)
    }

    fn close_seq(&self) -> Option<EventSeq> {
        self.end_seq
    }

    /// A task runs in many pieces, and no call holds them.
    fn other(&self, _process: &TraceProcess) -> Option<Target> {
        None
    }

    fn cause(&self, process: &TraceProcess) -> Option<Target> {
        process.target_of(self.parent()).or_else(|| creation(self, process))
    }

    fn parent(&self, process: &TraceProcess) -> Option<Target> {
        let creation_call = self.create_thread.zip(self.create_seq);
        let thread = || creation_call.and_then(|(thread, seq)| process.thread_around(thread, seq));
        process.target_of(self.parent()).or_else(thread).or_else(|| creation(self, process))
    }

    fn end_thread(&self) -> ThreadIndex {
        self.end_thread.unwrap_or(self.thread)
    }

    fn stays_on_thread(&self, _process: &TraceProcess) -> bool {
        false
    }

    fn thread_ids(&self, process: &TraceProcess) -> Vec<ThreadId> {
        process.threads_of(self)
    }

    fn correlation_key(&self, _process: &TraceProcess) -> Option<String> {
        Some(numbered(self))
    }

    fn task_outcome(&self) -> Option<&'static str> {
        Some(self.result()).filter(|result| *result != TaskResult::Unknown).map(TaskResult::word)
    }

    fn task_error(&self, process: &TraceProcess) -> Option<String> {
        process.thrown(self)
    }

    fn evidence(&self, process: &TraceProcess) -> Vec<Target> {
        let events = [
            (self.create_thread, self.create_seq),
            (Some(self.thread), Some(self.begin_seq)),
            (self.cancel_thread, self.cancel_seq),
            (self.end_thread, self.end_seq),
        ];
        let known_event = |(thread, seq): (Option<ThreadIndex>, Option<EventSeq>)| {
            process.known_thread_id(thread).zip(seq).map(|(id, seq)| Target::Event(id, seq))
        };
        events.into_iter().filter_map(known_event).collect()
    }

    fn attributes(&self, process: &TraceProcess) -> Map<String, Value> {
        let refer = |target: Option<Target>| Value::from(target.map(|target| process.refer(target)));
        let time = |time: Option<TraceNanos>| Value::from(time.map(|time| time.0));
        let mut attributes = Map::new();
        let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        put("task_id", self.id.into());
        put("kind", self.kind().word().into());
        put("priority", priority(self.priority));
        put("create_ns", time(self.create_time));
        put("create_span_id", refer(creation(self, process)));
        if let Some(function) = self.create_function {
            put("create_function", process.names.name(function).into());
            put("create_function_id", refer(Some(Target::Function(function))));
        }
        put("creator_thread_id", process.known_thread_id(self.create_thread).map(|id| id.0).into());
        put("ready_ns", time(self.ready_time));
        let latency = self.create_time.filter(|_| self.runs > 0).map(|time| self.start.since(time));
        put("start_latency_ns", latency.into());
        put("running_ns", self.running_ns.into());
        put("suspended_ns", self.suspended_ns.into());
        if let Some(count) = known(self.system_calls) {
            put("system_calls", count.into());
            put("system_call_ns", self.system_call_ns.into());
        }
        put("run_count", self.runs.into());
        put("suspension_count", self.suspensions.into());
        if self.end_how() != TaskEnd::None {
            put("end_by", self.end_how().word().into());
        }
        if let Some(time) = self.cancel_time {
            put("cancel_ns", time.0.into());
            put("canceler_span_id", refer(process.target_of(Context::from_word(self.canceler))));
            put("canceler_thread_id", process.known_thread_id(self.cancel_thread).map(|id| id.0).into());
            put("canceled_continuation", known(self.canceled_continuation).map_or(Value::Null, hex));
        }
        let is_of_go = TaskSpan::runtime(self) == TaskRuntime::Go;
        if !is_of_go {
            put_result(self, process, &mut attributes);
        }
        let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        let runs = process.runs_of(self).iter().map(
            |run| json!({ "thread_id": process.thread_id(run.thread).0, "start_ns": run.start.0, "end_ns": run.end.0 }),
        );
        put("runs", runs.collect());
        let hops = process.hops_of(self).iter().filter_map(|hop| {
            let mut record = json!({ "start_ns": hop.time.0 });
            put_executor(process.executor(hop.executor)?, process, &mut record);
            Some(record)
        });
        let hops: Vec<Value> = hops.collect();
        if !hops.is_empty() {
            put("hops", hops.into());
        }
        let waits = process.suspensions_of(self).iter();
        put("suspensions", waits.map(|wait| suspension(wait, is_of_go, process)).collect());
        attributes
    }

    /// What hooks took on the threads that a task runs on is not what they took of its waits.
    fn run(&self) -> Option<(EventSeq, Option<EventSeq>)> {
        None
    }
}

/// What a task is called that has no better name.
fn numbered(task: &TaskSpan) -> String {
    match TaskSpan::runtime(task) {
        TaskRuntime::Swift => format!("task {}", task.id),
        TaskRuntime::Go => format!("goroutine {}", task.id),
    }
}

/// The call that made the task.
fn creation(task: &TaskSpan, process: &TraceProcess) -> Option<Target> {
    let seq = task.create_seq?;
    process.known_thread_id(task.create_thread).map(|thread| Target::Frame(thread, seq))
}

/// A wait: what for, and who ended it.
fn suspension(wait: &Suspension, is_of_go: bool, process: &TraceProcess) -> Value {
    let mut record = json!({
        "kind": wait.kind().word(),
        "start_ns": wait.start.0,
        "end_ns": wait.end.map(|time| time.0),
        "duration_ns": wait.end.map(|end| end.since(wait.start)),
        "ready_ns": wait.ready_time.map(|time| time.0),
    });
    if let Some(key) = known(wait.key).filter(|key| !is_of_go || *key != 0) {
        let (name, value) = match wait.kind() {
            WaitKind::Task => ("task_span_id", process.refer(Target::Task(key)).into()),
            WaitKind::Group => ("group", hex(key)),
            WaitKind::Executor => ("executor", executor(key)),
            WaitKind::Continuation | WaitKind::Yield | WaitKind::Sleep if !is_of_go => ("continuation", hex(key)),
            _ => ("object", hex(key)),
        };
        record[name] = value;
    }
    if let Some(executor) = process.executor(wait.executor) {
        put_executor(executor, process, &mut record);
    }
    if let Some(function) = wait.awaiting {
        record["awaiting"] = plain_name(process.names.name(function)).into();
        record["awaiting_function"] = process.refer(Target::Function(function)).into();
    }
    if wait.is_cut == 1 {
        record["uncertain"] = true.into();
    }
    if let Some((thread, seq)) = wait.resume_thread.zip(wait.resume_seq) {
        let id = process.thread_id(thread);
        let by_thread = || process.thread_around(thread, seq);
        let resumer = process.target_of(wait.resumer()).or_else(by_thread);
        record["resume_ns"] = wait.resume_time.map(|time| time.0).into();
        record["resume_event"] = process.refer(Target::Event(id, seq)).into();
        record["resumer_thread_id"] = id.0.into();
        record["resumer_span_id"] = resumer.map(|target| process.refer(target)).into();
    }
    record
}

/// Whether a task returned or threw, and what; or why that is not known.
fn put_result(task: &TaskSpan, process: &TraceProcess, attributes: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
    let why = match (task.result(), task.end_how()) {
        (TaskResult::Returned | TaskResult::Threw, _) => None,
        (_, TaskEnd::None) if task.outcome().reason == Reason::Dropped => Some("events are missing"),
        (_, TaskEnd::None) => Some("its end was not seen"),
        (_, TaskEnd::Exit) => Some("it ended the process"),
        (_, TaskEnd::Inferred) => Some("its end was inferred"),
        _ => Some("what it ended with was not recorded"),
    };
    match why {
        None => drop(put("outcome", task.result().word().into())),
        Some(why) => {
            put("outcome", Value::Null);
            put("outcome_unknown", why.into());
        }
    }
    if task.result() == TaskResult::Threw {
        put("error", process.text(task.error_type).into());
        put("error_module", process.text(task.error_module).into());
        put("error_case", process.text(task.error_case).into());
    }
    put("result_requests", known(task.result_requests).into());
}

/// An executor's name, and where it is, if it is an object.
fn put_executor(executor: &ExecutorEntry, process: &TraceProcess, record: &mut Value) {
    record["executor"] = process.executor_name(executor).into();
    if matches!(executor.kind(), ExecutorKind::Actor | ExecutorKind::Custom) {
        record["executor_address"] = hex(executor.address.0);
    }
}

/// A priority by the name that Swift has for it, or as a number.
fn priority(value: u64) -> Value {
    match qos_word(value) {
        Some(word) => word.into(),
        None => known(value).filter(|value| *value > 0).into(),
    }
}

/// An executor of which no more is known: nothing is the pool of threads, anything else an actor, or the main thread.
fn executor(identity: u64) -> Value {
    if identity == 0 { "pool".into() } else { hex(identity) }
}
