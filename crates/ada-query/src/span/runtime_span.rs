//! What spans of all runtimes have in common.

use std::borrow::Cow;

use ada_event::{EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_span::{Outcome, ThreadIndex};
use serde_json::{Map, Value};

use crate::trace::{FunctionLabel, Target, TraceProcess};

/// What the tables keep of the spans of every runtime.
#[derive(Clone, Copy)]
pub(crate) struct Basics {
    /// The thread that it began on.
    pub(crate) thread: ThreadIndex,
    pub(crate) start: TraceNanos,
    pub(crate) end: TraceNanos,
    pub(crate) outcome: Outcome,
    /// The function that it ran, where that is known.
    pub(crate) function: Option<FunctionId>,
}

/// A span of some runtime. To add a runtime, implement this for its spans and give [`super::SpanKind`] a variant.
pub(crate) trait RuntimeSpan {
    /// The runtime's name.
    fn runtime(&self, process: &TraceProcess) -> &'static str;

    /// Whether it is what a runtime meant, and not a call.
    fn is_logical(&self) -> bool {
        true
    }

    /// What references call it.
    fn target(&self, process: &TraceProcess) -> Target;

    fn basics(&self) -> Basics;

    /// The thread that it began on.
    fn thread(&self) -> ThreadIndex {
        self.basics().thread
    }

    fn start(&self) -> TraceNanos {
        self.basics().start
    }

    fn duration(&self) -> u64 {
        let Basics { start, end, .. } = self.basics();
        end.since(start)
    }

    /// Time in it alone; logical spans have none.
    fn self_ns(&self) -> Option<u64> {
        None
    }

    /// How deep it is, in calls or creations.
    fn depth(&self) -> Option<u64> {
        None
    }

    fn outcome(&self) -> Outcome {
        self.basics().outcome
    }

    /// The function that it ran.
    fn function(&self, _process: &TraceProcess) -> Option<FunctionId> {
        self.basics().function
    }

    fn label<'a>(&self, process: &'a TraceProcess) -> Option<Cow<'a, FunctionLabel>> {
        self.function(process).map(|function| process.label(function))
    }

    /// What people call it.
    fn name<'a>(&self, process: &'a TraceProcess) -> Option<Cow<'a, str>>;

    /// The event that began it, by its position on the thread.
    fn open_seq(&self) -> Option<EventSeq>;

    /// The event that ended it.
    fn close_seq(&self) -> Option<EventSeq>;

    /// The event of the throw, longjmp or exit that ended it.
    fn context_seq(&self) -> Option<EventSeq> {
        None
    }

    /// Of a call, the logical span that it is; of that, the call.
    fn other(&self, process: &TraceProcess) -> Option<Target>;

    /// Of a task: whether it returned or threw.
    fn task_outcome(&self) -> Option<&'static str> {
        None
    }

    /// Of a task: what it threw.
    fn task_error(&self, _process: &TraceProcess) -> Option<String> {
        None
    }

    /// How sure the match with its creation is, in percent.
    fn confidence(&self) -> Option<u64> {
        None
    }

    /// What led to it: the call around it or that created it, or the task or block that did.
    fn cause(&self, process: &TraceProcess) -> Option<Target>;

    /// The nearest span of any runtime that it belongs to. In records that is the parent.
    fn parent(&self, process: &TraceProcess) -> Option<Target> {
        self.cause(process)
    }

    /// The thread that it ended on.
    fn end_thread(&self) -> ThreadIndex {
        self.thread()
    }

    /// Whether it has its thread to itself from its start to its end, as far as calls around it and inside it do not.
    fn stays_on_thread(&self, _process: &TraceProcess) -> bool {
        true
    }

    /// The ids of the threads that it ran on, in their order.
    fn thread_ids(&self, process: &TraceProcess) -> Vec<ThreadId> {
        vec![process.thread_id(self.thread())]
    }

    /// By what the runtime knows it.
    fn correlation_key(&self, _process: &TraceProcess) -> Option<String> {
        None
    }

    /// The events that say all this.
    fn evidence(&self, process: &TraceProcess) -> Vec<Target>;

    /// What only spans of this runtime have.
    fn attributes(&self, process: &TraceProcess) -> Map<String, Value>;

    /// The events that its run on one thread begins and ends with; nothing where it has no such run.
    fn run(&self) -> Option<(EventSeq, Option<EventSeq>)>;
}

/// An address or handle, as records have it.
pub(super) fn hex(value: u64) -> Value {
    Value::String(format!("{value:#x}"))
}
