//! Spans of any runtime: one type, whose columns SQL's tables and the commands' records share.

mod block;
mod callback;
mod column;
mod corrected;
mod extent;
pub(crate) mod find;
mod frame;
mod pthread;
mod record;
mod runtime_span;
mod task;
mod value;

pub(crate) use column::{COLUMNS, SpanColumn, value};
pub(crate) use extent::Extent;
pub(crate) use frame::BlockRow;
pub use frame::{Frame, FrameSpan};
pub(crate) use pthread::{join_wait, mode};
pub(crate) use value::SpanValue;

use ada_event::{FunctionId, TraceNanos};
use ada_span::concurrency::Context;
use ada_span::table::{Columns, Meta};
use ada_span::{Corrected, Outcome, ThreadIndex};

use crate::trace::{CallValues, Reference, Target, Trace, TraceProcess, Wanted};

use runtime_span::RuntimeSpan;

/// A span of any runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The index of its process in the trace.
    pub process: usize,
    /// What it is.
    pub kind: SpanKind,
}

/// What a span is. Logical spans are known by their indexes in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A call.
    Frame(FrameSpan),
    /// A thread.
    Pthread(usize),
    /// A callback.
    Callback(usize),
    /// A Swift task.
    Task(usize),
    /// A dispatched block.
    Block(usize),
}

impl SpanKind {
    /// The task or block that a context means.
    pub(crate) fn of_context(context: Context) -> Option<Self> {
        match context {
            Context::Thread => None,
            Context::Task(index) => Some(Self::Task(index as usize)),
            Context::Block(index) => Some(Self::Block(index as usize)),
        }
    }

    /// The span itself. Whatever differs between runtimes is asked of it.
    fn in_tables<'a>(&'a self, meta: &'a Meta) -> &'a dyn RuntimeSpan {
        match self {
            Self::Frame(frame) => frame,
            Self::Pthread(index) => &meta.pthreads[*index],
            Self::Callback(index) => &meta.callbacks[*index],
            Self::Task(index) => &meta.tasks[*index],
            Self::Block(index) => &meta.dispatched[*index],
        }
    }
}

impl Span {
    /// A call of a process.
    pub fn frame(process: usize, frame: FrameSpan) -> Self {
        Self { process, kind: SpanKind::Frame(frame) }
    }

    /// The call in a row of a block of which all columns were read.
    pub(crate) fn of_row(process: usize, thread: ThreadIndex, columns: &Columns, row: usize) -> Self {
        Self::frame(process, FrameSpan::of_row(thread, columns, row))
    }

    /// The logical spans of a process, runtime after runtime.
    pub fn logical(trace: &Trace, process: usize) -> impl Iterator<Item = Self> {
        let meta = trace.processes()[process].tables.meta();
        let kinds = (0..meta.pthreads.len())
            .map(SpanKind::Pthread)
            .chain((0..meta.callbacks.len()).map(SpanKind::Callback))
            .chain((0..meta.tasks.len()).map(SpanKind::Task))
            .chain((0..meta.dispatched.len()).map(SpanKind::Block));
        kinds.map(move |kind| Self { process, kind })
    }

    /// The call, if it is one.
    pub fn as_frame(&self) -> Option<&FrameSpan> {
        match &self.kind {
            SpanKind::Frame(frame) => Some(frame),
            _ => None,
        }
    }

    fn process_in<'a>(&self, trace: &'a Trace) -> &'a TraceProcess {
        &trace.processes()[self.process]
    }

    fn in_tables<'a>(&'a self, trace: &'a Trace) -> &'a dyn RuntimeSpan {
        self.kind.in_tables(self.process_in(trace).tables.meta())
    }

    /// A number that no other span of the trace has.
    pub(crate) fn id(&self, trace: &Trace) -> i64 {
        let process = self.process_in(trace);
        let meta = process.tables.meta();
        let callbacks = meta.pthreads.len();
        let tasks = callbacks + meta.callbacks.len();
        let blocks = tasks + meta.tasks.len();
        match self.kind {
            SpanKind::Frame(frame) => process.event_number(frame.thread, frame.seq()),
            SpanKind::Pthread(index) => process.logical_number(index),
            SpanKind::Callback(index) => process.logical_number(callbacks + index),
            SpanKind::Task(index) => process.logical_number(tasks + index),
            SpanKind::Block(index) => process.logical_number(blocks + index),
        }
    }

    /// A value of it.
    pub(crate) fn value<'a>(&self, trace: &'a Trace, column: SpanColumn) -> SpanValue<'a> {
        let process = self.process_in(trace);
        value(trace, process, self.kind.in_tables(process.tables.meta()), column)
    }

    /// Its record, as JSON has it.
    pub fn record(&self, trace: &Trace) -> serde_json::Value {
        record::record(trace, self.process_in(trace), self.in_tables(trace))
    }

    /// When it began.
    pub fn start(&self, trace: &Trace) -> TraceNanos {
        self.in_tables(trace).start()
    }

    /// How long it took.
    pub fn duration(&self, trace: &Trace) -> u64 {
        self.in_tables(trace).duration()
    }

    /// Its duration without what recording took, where that is known.
    pub fn corrected(&self, trace: &Trace) -> Option<Corrected> {
        corrected::corrected(trace, self.process_in(trace), self.in_tables(trace))
    }

    /// Time in it alone; logical spans have none.
    pub fn self_ns(&self, trace: &Trace) -> Option<u64> {
        self.in_tables(trace).self_ns()
    }

    /// How and why it ended.
    pub fn outcome(&self, trace: &Trace) -> Outcome {
        self.in_tables(trace).outcome()
    }

    /// The function that it ran.
    pub fn function(&self, trace: &Trace) -> Option<FunctionId> {
        self.in_tables(trace).function(self.process_in(trace))
    }

    /// Its runtime's name.
    pub fn runtime(&self, trace: &Trace) -> &'static str {
        self.in_tables(trace).runtime(self.process_in(trace))
    }

    /// The thread that it began on.
    pub fn thread(&self, trace: &Trace) -> ThreadIndex {
        self.in_tables(trace).thread()
    }

    /// What people call it.
    pub fn name(&self, trace: &Trace) -> String {
        self.value(trace, SpanColumn::Name).into_text()
    }

    /// What it was called with and gave back, if it is a call of which that is known.
    pub fn call_values(&self, trace: &Trace, wanted: Wanted) -> Option<CallValues> {
        let SpanKind::Frame(frame) = &self.kind else { return None };
        let process = self.process_in(trace);
        let function = RuntimeSpan::function(frame, process)?;
        let events = (frame.seq(), RuntimeSpan::outcome(frame).own_end(frame.close_seq()));
        CallValues::of(trace, process, function, frame.thread, events, wanted)
    }

    /// What references call it.
    pub fn target(&self, trace: &Trace) -> Target {
        self.in_tables(trace).target(self.process_in(trace))
    }

    /// Its reference.
    pub fn reference(&self, trace: &Trace) -> Reference {
        self.process_in(trace).reference(self.target(trace))
    }
}
