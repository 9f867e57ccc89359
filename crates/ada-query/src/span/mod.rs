//! The columns of a span of any kind.

pub(crate) mod find;

use ada_event::FunctionId;
use ada_span::callback::CallbackSpan;
use ada_span::gcd::BlockSpan;
use ada_span::pthread::PthreadSpan;
use ada_span::swift::TaskSpan;
use ada_span::table::Column;
use ada_span::{NONE, Outcome, Reason};
use rusqlite::types::{Null, Value};
use rusqlite::vtab::Context;

use crate::doc::{ColumnDoc, Kind, plain, pushed};
use crate::predicate::Field;
use crate::relation::{known, maybe, number, signed, text};
use crate::scan::FrameValues;
use crate::trace::Target;
use crate::trace::plain_name;
use crate::trace::{Trace, TraceProcess};

/// The columns, in their order.
pub(crate) const COLUMNS: &[ColumnDoc] = &[
    pushed("session", Kind::Text, "the session's folder"),
    pushed("pid", Kind::Integer, "the process"),
    pushed(
        "span_id",
        Kind::Text,
        "its reference, which ada show and table functions take: frame:THREAD:N, callback:THREAD:N, thread:THREAD, task:ID, block:THREAD:N",
    ),
    pushed("type", Kind::Text, "frame: one call of a function; logical: what a runtime meant by it"),
    pushed(
        "runtime",
        Kind::Text,
        "sync (calls), pthread (threads), callback, swift (tasks), gcd (dispatched blocks), heph (imported)",
    ),
    pushed("function_id", Kind::Text, "the function as module:symbol"),
    pushed("name", Kind::Text, "the function's demangled name, or module+0xoffset"),
    pushed("module", Kind::Text, "the file name of the function's module"),
    pushed(
        "parent_span_id",
        Kind::Text,
        "the enclosing call; of a thread, the call that created it; of a callback, the call that was handed its address",
    ),
    pushed("start_ns", Kind::Integer, "when it began, on the trace's clock"),
    pushed("end_ns", Kind::Integer, "when it ended"),
    pushed("duration_ns", Kind::Integer, "end_ns - start_ns"),
    pushed("self_ns", Kind::Integer, "without the calls that it encloses; null of logical spans"),
    pushed("depth", Kind::Integer, "open calls below it; of a thread, creations that lead to it"),
    pushed("thread_id", Kind::Integer, "the thread that it began on"),
    pushed("status", Kind::Text, "completed, exited, canceled, unmatched, open, pending or entry_only"),
    pushed(
        "reason",
        Kind::Text,
        "why: tail_call, exception, unwind, canceled, crash, timeout, process_exit, dropped, attached_midway; null for nothing special",
    ),
    plain("is_uncertain", Kind::Integer, "1 where the trace also allows another reading"),
    plain("open_seq", Kind::Integer, "the position of the event that began it, among its thread's"),
    plain("close_seq", Kind::Integer, "the position of the event that ended it; null if none did"),
    plain("context", Kind::Text, "the event of the throw, longjmp or exit that ended it"),
    plain("other_span_id", Kind::Text, "of a call, the thread or callback that it is; of those, the call"),
    plain("confidence", Kind::Real, "how sure the match of a logical span with its creation is, from 0 to 1"),
];

pub(crate) mod at {
    //! Places of the columns.
    pub(crate) const SESSION: usize = 0;
    pub(crate) const PID: usize = 1;
    pub(crate) const SPAN_ID: usize = 2;
    pub(crate) const TYPE: usize = 3;
    pub(crate) const RUNTIME: usize = 4;
    pub(crate) const FUNCTION_ID: usize = 5;
    pub(crate) const NAME: usize = 6;
    pub(crate) const MODULE: usize = 7;
    pub(crate) const PARENT: usize = 8;
    pub(crate) const START: usize = 9;
    pub(crate) const END: usize = 10;
    pub(crate) const DURATION: usize = 11;
    pub(crate) const SELF: usize = 12;
    pub(crate) const DEPTH: usize = 13;
    pub(crate) const THREAD: usize = 14;
    pub(crate) const STATUS: usize = 15;
    pub(crate) const REASON: usize = 16;
    pub(crate) const UNCERTAIN: usize = 17;
    pub(crate) const OPEN_SEQ: usize = 18;
    pub(crate) const CLOSE_SEQ: usize = 19;
    pub(crate) const CONTEXT: usize = 20;
    pub(crate) const OTHER: usize = 21;
    pub(crate) const CONFIDENCE: usize = 22;
}

/// The field that conditions on a column are about.
pub(crate) fn field(column: usize) -> Option<Field> {
    Field::from_name(COLUMNS.get(column)?.name)
}

/// The column of the tables that a column needs, for frame spans.
pub(crate) fn needs(column: usize) -> &'static [Column] {
    match column {
        at::SPAN_ID | at::OPEN_SEQ | at::OTHER => &[Column::OpenSeq],
        at::FUNCTION_ID | at::NAME | at::MODULE => &[Column::Function],
        at::PARENT => &[Column::OpenSeq, Column::ParentDelta],
        at::START => &[Column::Start],
        at::END => &[Column::Start, Column::Duration],
        at::DURATION => &[Column::Duration],
        at::SELF => &[Column::SelfTime],
        at::DEPTH => &[Column::Depth],
        at::STATUS | at::REASON | at::UNCERTAIN => &[Column::Outcome],
        at::CLOSE_SEQ => &[Column::OpenSeq, Column::CloseDelta],
        at::CONTEXT => &[Column::Context],
        _ => &[],
    }
}

/// A span that is held, and not read from a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanRow {
    /// A call: process, place of the thread, values.
    Frame(usize, usize, FrameValues),
    /// A thread: process, place in the tables.
    Pthread(usize, usize),
    /// A callback: process, place in the tables.
    Callback(usize, usize),
    /// A Swift task: process, place in the tables.
    Task(usize, usize),
    /// A dispatched block: process, place in the tables.
    Block(usize, usize),
}

impl SpanRow {
    pub(crate) fn process(&self) -> usize {
        match *self {
            Self::Frame(process, ..)
            | Self::Pthread(process, _)
            | Self::Callback(process, _)
            | Self::Task(process, _)
            | Self::Block(process, _) => process,
        }
    }

    /// A number that no other span of the trace has.
    pub(crate) fn id(&self, trace: &Trace) -> i64 {
        let process = &trace.processes()[self.process()];
        let meta = process.tables.meta();
        match *self {
            Self::Frame(_, thread, values) => process.event_number(thread, values[Column::OpenSeq as usize]),
            Self::Pthread(_, place) => process.logical_number(place),
            Self::Callback(_, place) => process.logical_number(meta.pthreads.len() + place),
            Self::Task(_, place) => process.logical_number(meta.pthreads.len() + meta.callbacks.len() + place),
            Self::Block(_, place) => {
                process.logical_number(meta.pthreads.len() + meta.callbacks.len() + meta.tasks.len() + place)
            }
        }
    }

    pub(crate) fn put(&self, trace: &Trace, column: usize, out: &mut Context) -> rusqlite::Result<()> {
        let process = &trace.processes()[self.process()];
        match self {
            Self::Frame(_, thread, values) => {
                put_frame(trace, process, *thread, |column| values[column as usize], column, out)
            }
            _ => out.set_result(self.value(trace, column)),
        }
    }

    /// A value of a thread's or callback's span; calls go through [`put_frame`].
    pub(crate) fn value(&self, trace: &Trace, column: usize) -> Value {
        let process = &trace.processes()[self.process()];
        let meta = process.tables.meta();
        match *self {
            Self::Frame(_, thread, values) => frame_value(trace, process, thread, &values, column),
            Self::Pthread(_, place) => pthread_value(trace, process, &meta.pthreads[place], column),
            Self::Callback(_, place) => callback_value(trace, process, &meta.callbacks[place], column),
            Self::Task(_, place) => task_value(trace, process, &meta.tasks[place], column),
            Self::Block(_, place) => block_value(trace, process, &meta.dispatched[place], column),
        }
    }

    /// The span's reference.
    pub(crate) fn reference(&self, trace: &Trace) -> String {
        match self.value(trace, at::SPAN_ID) {
            Value::Text(text) => text,
            _ => String::new(),
        }
    }

    pub(crate) fn start(&self, trace: &Trace) -> u64 {
        let meta = trace.processes()[self.process()].tables.meta();
        match *self {
            Self::Frame(_, _, values) => values[Column::Start as usize],
            Self::Pthread(_, place) => meta.pthreads[place].start,
            Self::Callback(_, place) => meta.callbacks[place].start,
            Self::Task(_, place) => meta.tasks[place].start,
            Self::Block(_, place) => meta.dispatched[place].start,
        }
    }

    pub(crate) fn duration(&self, trace: &Trace) -> u64 {
        let meta = trace.processes()[self.process()].tables.meta();
        match *self {
            Self::Frame(_, _, values) => values[Column::Duration as usize],
            Self::Pthread(_, place) => meta.pthreads[place].end.saturating_sub(meta.pthreads[place].start),
            Self::Callback(_, place) => meta.callbacks[place].end.saturating_sub(meta.callbacks[place].start),
            Self::Task(_, place) => meta.tasks[place].end.saturating_sub(meta.tasks[place].start),
            Self::Block(_, place) => meta.dispatched[place].end.saturating_sub(meta.dispatched[place].start),
        }
    }

    pub(crate) fn name(&self, trace: &Trace) -> String {
        match self.value(trace, at::NAME) {
            Value::Text(text) => text,
            _ => String::new(),
        }
    }

    /// A value by what conditions are about.
    pub(crate) fn field(&self, trace: &Trace, field: Field) -> Value {
        let column = COLUMNS.iter().position(|it| Field::from_name(it.name) == Some(field));
        column.map_or(Value::Null, |column| self.value(trace, column))
    }
}

/// Gives a value of a call to SQLite, without making texts that are there already.
#[inline]
pub(crate) fn put_frame(
    trace: &Trace,
    process: &TraceProcess,
    thread: usize,
    of: impl Fn(Column) -> u64,
    column: usize,
    out: &mut Context,
) -> rusqlite::Result<()> {
    match column {
        at::DURATION => out.set_result(signed(of(Column::Duration))),
        at::START => out.set_result(signed(of(Column::Start))),
        at::SELF => out.set_result(signed(of(Column::SelfTime))),
        at::END => out.set_result(signed(of(Column::Start).saturating_add(of(Column::Duration)))),
        at::DEPTH => out.set_result(signed(of(Column::Depth))),
        at::THREAD => out.set_result(process.thread_id(thread)),
        at::PID => out.set_result(process.pid),
        at::OPEN_SEQ => out.set_result(signed(of(Column::OpenSeq))),
        at::SESSION => out.set_result(&*trace.session_of(process).name),
        at::TYPE => out.set_result("frame"),
        at::RUNTIME => out.set_result(process.runtime),
        at::FUNCTION_ID | at::NAME | at::MODULE => match process.labels().get(of(Column::Function) as usize) {
            Some(label) => out.set_result(match column {
                at::FUNCTION_ID => &*label.id,
                at::NAME => &*label.name,
                _ => &*label.module,
            }),
            None => out.set_result(Null),
        },
        at::STATUS => out.set_result(outcome(of(Column::Outcome)).status.word()),
        at::REASON => match outcome(of(Column::Outcome)).reason {
            Reason::None => out.set_result(Null),
            reason => out.set_result(reason.word()),
        },
        at::UNCERTAIN => out.set_result(outcome(of(Column::Outcome)).is_uncertain),
        at::CLOSE_SEQ => match of(Column::CloseDelta) {
            0 => out.set_result(Null),
            delta => out.set_result(signed(of(Column::OpenSeq).saturating_add(delta))),
        },
        at::SPAN_ID => {
            out.set_result(trace.refer(process, Target::Frame(process.thread_id(thread), of(Column::OpenSeq))))
        }
        at::PARENT => match of(Column::ParentDelta) {
            0 => out.set_result(Null),
            delta => {
                let parent = of(Column::OpenSeq).wrapping_sub(delta);
                out.set_result(trace.refer(process, Target::Frame(process.thread_id(thread), parent)))
            }
        },
        at::CONTEXT => match of(Column::Context).checked_sub(1) {
            None => out.set_result(Null),
            Some(seq) => out.set_result(trace.refer(process, Target::Event(process.thread_id(thread), seq))),
        },
        at::OTHER => match process.logical_of(thread as u32, of(Column::OpenSeq)) {
            None => out.set_result(Null),
            Some(target) => out.set_result(trace.refer(process, target)),
        },
        _ => out.set_result(Null),
    }
}

fn outcome(byte: u64) -> Outcome {
    u8::try_from(byte).ok().and_then(Outcome::from_byte).unwrap_or_default()
}

fn frame_value(trace: &Trace, process: &TraceProcess, thread: usize, values: &FrameValues, column: usize) -> Value {
    let of = |column: Column| values[column as usize];
    let id = process.thread_id(thread);
    let label = |of_label: fn(&crate::FunctionLabel) -> &String| {
        maybe(process.labels().get(of(Column::Function) as usize), |label| text(of_label(label)))
    };
    match column {
        at::SESSION => text(&trace.session_of(process).name),
        at::PID => number(process.pid.into()),
        at::SPAN_ID => text(trace.refer(process, Target::Frame(id, of(Column::OpenSeq)))),
        at::TYPE => text("frame"),
        at::RUNTIME => text(process.runtime),
        at::FUNCTION_ID => label(|it| &it.id),
        at::NAME => label(|it| &it.name),
        at::MODULE => label(|it| &it.module),
        at::START => number(of(Column::Start)),
        at::END => number(of(Column::Start).saturating_add(of(Column::Duration))),
        at::DURATION => number(of(Column::Duration)),
        at::SELF => number(of(Column::SelfTime)),
        at::DEPTH => number(of(Column::Depth)),
        at::THREAD => number(id.into()),
        at::STATUS => text(outcome(of(Column::Outcome)).status.word()),
        at::REASON => reason_value(outcome(of(Column::Outcome))),
        _ => Value::Null,
    }
}

fn reason_value(outcome: Outcome) -> Value {
    match outcome.reason {
        Reason::None => Value::Null,
        reason => text(reason.word()),
    }
}

fn pthread_value(trace: &Trace, process: &TraceProcess, span: &PthreadSpan, column: usize) -> Value {
    let id = process.thread_id(span.thread as usize);
    let other_thread = |place: u64| (place != NONE).then(|| process.thread_id(place as usize));
    let label = (span.function != NONE).then(|| process.label(FunctionId(span.function)));
    match column {
        at::SPAN_ID => text(trace.refer(process, Target::Thread(id, span.begin_seq))),
        at::RUNTIME => text("pthread"),
        at::FUNCTION_ID => maybe(label, |label| text(label.id)),
        at::NAME => text(process.thread_name(span)),
        at::MODULE => maybe(label, |label| text(label.module)),
        at::PARENT => maybe(other_thread(span.creator).filter(|_| span.create_seq != NONE), |creator| {
            text(trace.refer(process, Target::Frame(creator, span.create_seq)))
        }),
        at::DEPTH => known(span.level),
        at::OPEN_SEQ => known(if span.routine_seq == NONE { span.begin_seq } else { span.routine_seq }),
        at::CLOSE_SEQ => known(span.routine_close_seq),
        at::OTHER => match span.routine_seq {
            NONE => Value::Null,
            seq => text(trace.refer(process, Target::Frame(id, seq))),
        },
        at::CONFIDENCE => share(span.confidence),
        _ => logical_value(trace, process, id, span.start, span.end, span.outcome(), column),
    }
}

fn callback_value(trace: &Trace, process: &TraceProcess, span: &CallbackSpan, column: usize) -> Value {
    let id = process.thread_id(span.thread as usize);
    let initiator = process.thread_id(span.initiator_thread as usize);
    let label = || process.label(FunctionId(span.function));
    match column {
        at::SPAN_ID => text(trace.refer(process, Target::Callback(id, span.seq))),
        at::RUNTIME => text("callback"),
        at::FUNCTION_ID => text(label().id),
        at::NAME => text(label().name),
        at::MODULE => text(label().module),
        at::PARENT => text(trace.refer(process, Target::Frame(initiator, span.initiator_seq))),
        at::OPEN_SEQ => known(span.seq),
        at::CLOSE_SEQ => known(span.close_seq),
        at::OTHER => text(trace.refer(process, Target::Frame(id, span.seq))),
        at::CONFIDENCE => share(span.confidence),
        _ => logical_value(trace, process, id, span.start, span.end, span.outcome(), column),
    }
}

fn task_value(trace: &Trace, process: &TraceProcess, span: &TaskSpan, column: usize) -> Value {
    let thread = |place: u64| (place != NONE).then(|| process.thread_id(place as usize));
    let label = (span.function != NONE).then(|| process.label(FunctionId(span.function)));
    match column {
        at::SPAN_ID => text(trace.refer(process, Target::Task(span.id))),
        at::RUNTIME => text("swift"),
        at::FUNCTION_ID => maybe(label, |label| text(label.id)),
        at::NAME => text(label.map_or_else(|| format!("task {}", span.id), |label| plain_name(label.name))),
        at::MODULE => maybe(label, |label| text(label.module)),
        at::PARENT => {
            let create = thread(span.create_thread).filter(|_| span.create_seq != NONE);
            let create = create.map(|id| Target::Frame(id, span.create_seq));
            maybe(process.target_of(span.parent()).or(create), |target| text(trace.refer(process, target)))
        }
        at::OPEN_SEQ => known(span.begin_seq),
        at::CLOSE_SEQ => known(span.end_seq),
        _ => {
            let id = thread(span.thread).unwrap_or_default();
            logical_value(trace, process, id, span.start, span.end, span.outcome(), column)
        }
    }
}

fn block_value(trace: &Trace, process: &TraceProcess, span: &BlockSpan, column: usize) -> Value {
    let id = process.thread_id(span.thread as usize);
    let label = (span.function != NONE).then(|| process.label(FunctionId(span.function)));
    match column {
        at::SPAN_ID => text(trace.refer(process, Target::Block(id, span.seq))),
        at::RUNTIME => text("gcd"),
        at::FUNCTION_ID => maybe(label, |label| text(label.id)),
        at::NAME => text(label.map_or_else(|| "block".to_owned(), |label| plain_name(label.name))),
        at::MODULE => maybe(label, |label| text(label.module)),
        at::PARENT => {
            let submit = Target::Frame(process.thread_id(span.submit_thread as usize), span.submit_seq);
            text(trace.refer(process, process.target_of(span.parent()).unwrap_or(submit)))
        }
        at::OPEN_SEQ => known(span.seq),
        at::CLOSE_SEQ => known(span.close_seq),
        at::OTHER if span.has_run() => text(trace.refer(process, Target::Frame(id, span.seq))),
        at::CONFIDENCE => share(span.confidence),
        _ => logical_value(trace, process, id, span.start, span.end, span.outcome(), column),
    }
}

fn share(percent: u64) -> Value {
    if percent == NONE { Value::Null } else { Value::Real(percent as f64 / 100.0) }
}

fn logical_value(
    trace: &Trace,
    process: &TraceProcess,
    thread: u32,
    start: u64,
    end: u64,
    outcome: Outcome,
    column: usize,
) -> Value {
    match column {
        at::SESSION => text(&trace.session_of(process).name),
        at::PID => number(process.pid.into()),
        at::TYPE => text("logical"),
        at::START => number(start),
        at::END => number(end.max(start)),
        at::DURATION => number(end.saturating_sub(start)),
        at::THREAD => number(thread.into()),
        at::STATUS => text(outcome.status.word()),
        at::REASON => reason_value(outcome),
        at::UNCERTAIN => Value::Integer(outcome.is_uncertain.into()),
        _ => Value::Null,
    }
}

/// All threads and callbacks of a process.
pub(crate) fn logical_rows(trace: &Trace, process: usize) -> impl Iterator<Item = SpanRow> {
    let meta = trace.processes()[process].tables.meta();
    let threads = (0..meta.pthreads.len()).map(move |place| SpanRow::Pthread(process, place));
    threads
        .chain((0..meta.callbacks.len()).map(move |place| SpanRow::Callback(process, place)))
        .chain((0..meta.tasks.len()).map(move |place| SpanRow::Task(process, place)))
        .chain((0..meta.dispatched.len()).map(move |place| SpanRow::Block(process, place)))
}
