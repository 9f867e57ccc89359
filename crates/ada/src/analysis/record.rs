//! One record for spans of all kinds.

use ada_event::FunctionId;
use ada_image::SourcePlace;
use ada_span::callback::CallbackSpan;
use ada_span::pthread::PthreadSpan;
use ada_span::table::{Column, Columns};
use ada_span::{NONE, Outcome, Reason, SpanError, Status};
use serde_json::{Map, Value, json};

use super::block_record::BlockView;
use super::opened::{OpenedProcess, OpenedSession};
use super::source_files::put_place;
use super::task_record::TaskView;
use ada_query::{Reference, Target, closure_name};

/// The name of a thread whose start routine is not known.
const PLACEHOLDER: &str = "pthread_start_routine";

/// A span of any kind, and the place of its process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row {
    Frame(FrameView),
    Pthread(PthreadView),
    Callback(CallbackView),
    Task(TaskView),
    Block(BlockView),
}

/// A frame span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameView {
    pub(crate) process: usize,
    /// The thread's place.
    pub(crate) thread: u32,
    pub(crate) seq: u64,
    pub(crate) start: u64,
    pub(crate) duration: u64,
    pub(crate) self_ns: u64,
    pub(crate) function: FunctionId,
    pub(crate) depth: u32,
    pub(crate) parent: Option<u64>,
    pub(crate) close_seq: Option<u64>,
    pub(crate) outcome: Outcome,
    pub(crate) context: Option<u64>,
}

/// A thread's logical span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PthreadView {
    pub(crate) process: usize,
    pub(crate) span: PthreadSpan,
}

/// A callback's logical span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallbackView {
    pub(crate) process: usize,
    pub(crate) span: CallbackSpan,
}

impl FrameView {
    /// The span in a row of a block of which all columns were read.
    pub(crate) fn from_row(process: usize, opened: &OpenedProcess, thread: u32, columns: &Columns, row: usize) -> Self {
        let at = |column: Column| columns.at(column, row);
        let seq = at(Column::OpenSeq);
        let some = |value: u64, to: u64| (value > 0).then_some(to);
        Self {
            process,
            thread,
            seq,
            start: at(Column::Start),
            duration: at(Column::Duration),
            self_ns: at(Column::SelfTime),
            function: opened.function(at(Column::Function) as usize),
            depth: at(Column::Depth) as u32,
            parent: some(at(Column::ParentDelta), seq.wrapping_sub(at(Column::ParentDelta))),
            close_seq: some(at(Column::CloseDelta), seq.wrapping_add(at(Column::CloseDelta))),
            outcome: Outcome::from_byte(at(Column::Outcome) as u8).unwrap_or_default(),
            context: at(Column::Context).checked_sub(1),
        }
    }
}

/// The frame span with an opening event, if there is one.
pub(crate) fn read_frame(
    opened: &OpenedSession,
    process: usize,
    thread: usize,
    seq: u64,
) -> Result<Option<FrameView>, SpanError> {
    let it = &opened.processes[process];
    let Some(block) = it.tables.block_of(thread, seq) else { return Ok(None) };
    let mut columns = Columns::new();
    it.tables.read(block, |_| true, &mut columns)?;
    let row = columns.get(Column::OpenSeq).binary_search(&seq).ok();
    Ok(row.map(|row| FrameView::from_row(process, it, thread as u32, &columns, row)))
}

/// What a thread ran, as people know it.
pub(crate) fn thread_name(opened: &OpenedProcess, span: &PthreadSpan) -> String {
    match span.function {
        NONE => PLACEHOLDER.to_owned(),
        function => closure_name(&opened.names.name(FunctionId(function))),
    }
}

impl Row {
    pub(crate) fn process(&self) -> usize {
        match self {
            Self::Frame(it) => it.process,
            Self::Pthread(it) => it.process,
            Self::Callback(it) => it.process,
            Self::Task(it) => it.process,
            Self::Block(it) => it.process,
        }
    }

    pub(crate) fn start(&self) -> u64 {
        match self {
            Self::Frame(it) => it.start,
            Self::Pthread(it) => it.span.start,
            Self::Callback(it) => it.span.start,
            Self::Task(it) => it.span.start,
            Self::Block(it) => it.span.start,
        }
    }

    pub(crate) fn duration(&self) -> u64 {
        match self {
            Self::Frame(it) => it.duration,
            Self::Pthread(it) => it.span.end.saturating_sub(it.span.start),
            Self::Callback(it) => it.span.end.saturating_sub(it.span.start),
            Self::Task(it) => it.span.end.saturating_sub(it.span.start),
            Self::Block(it) => it.span.end.saturating_sub(it.span.start),
        }
    }

    /// Time in the span alone; logical spans have none.
    pub(crate) fn self_ns(&self) -> Option<u64> {
        match self {
            Self::Frame(it) => Some(it.self_ns),
            _ => None,
        }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Frame(it) => it.outcome,
            Self::Pthread(it) => it.span.outcome(),
            Self::Callback(it) => it.span.outcome(),
            Self::Task(it) => it.span.outcome(),
            Self::Block(it) => it.span.outcome(),
        }
    }

    pub(crate) fn function(&self) -> Option<FunctionId> {
        let function = match self {
            Self::Frame(it) => it.function.0,
            Self::Pthread(it) => it.span.function,
            Self::Callback(it) => it.span.function,
            Self::Task(it) => it.span.function,
            Self::Block(it) => it.span.function,
        };
        (function != NONE).then_some(FunctionId(function))
    }

    pub(crate) fn runtime(&self, opened: &OpenedSession) -> &'static str {
        match self {
            Self::Frame(it) => opened.processes[it.process].runtime,
            Self::Pthread(_) => "pthread",
            Self::Callback(_) => "callback",
            Self::Task(_) => "swift",
            Self::Block(_) => "gcd",
        }
    }

    /// The place of its thread.
    pub(crate) fn thread(&self) -> usize {
        match self {
            Self::Frame(it) => it.thread as usize,
            Self::Pthread(it) => it.span.thread as usize,
            Self::Callback(it) => it.span.thread as usize,
            Self::Task(it) => it.span.thread as usize,
            Self::Block(it) => it.span.thread as usize,
        }
    }

    pub(crate) fn name(&self, opened: &OpenedSession) -> String {
        let process = &opened.processes[self.process()];
        match self {
            Self::Pthread(it) => thread_name(process, &it.span),
            Self::Task(it) => it.name(process),
            Self::Block(it) => it.name(process),
            _ => self.function().map_or_else(String::new, |function| process.names.name(function)),
        }
    }

    /// Where the source has its function.
    pub(crate) fn source(&self, opened: &OpenedSession) -> Option<SourcePlace> {
        opened.source(self.process(), self.function()?)
    }

    pub(crate) fn target(&self, opened: &OpenedSession) -> Target {
        let id = opened.processes[self.process()].tables.meta().threads[self.thread()].id;
        match self {
            Self::Frame(it) => Target::Frame(id, it.seq),
            Self::Pthread(it) => Target::Thread(id, it.span.begin_seq),
            Self::Callback(it) => Target::Callback(id, it.span.seq),
            Self::Task(it) => Target::Task(it.span.id),
            Self::Block(it) => Target::Block(id, it.span.seq),
        }
    }

    pub(crate) fn reference(&self, opened: &OpenedSession) -> Reference {
        refer(opened, self.process(), self.target(opened))
    }

    /// The record as JSON has it.
    pub(crate) fn json(&self, opened: &OpenedSession) -> Value {
        let number = self.process();
        let process = &opened.processes[number];
        let threads = &process.tables.meta().threads;
        let id = |place: u64| threads.get(place as usize).map(|thread| thread.id);
        let to = |target: Target| Value::from(refer(opened, number, target).to_string());
        let maybe = |target: Option<Target>| target.map_or(Value::Null, to);
        let own_thread = threads[self.thread()].id;
        let event = |seq: u64| to(Target::Event(own_thread, seq));
        let mut attributes = Map::new();
        let mut evidence = Vec::new();
        let parent;
        let (mut key, mut depth, mut kind) = (Value::Null, Value::Null, "logical");
        let (mut thread_ids, mut end_thread) = (vec![own_thread], own_thread);
        match self {
            Self::Task(it) => {
                let told = it.tell(opened);
                (parent, key, evidence, attributes) = (told.parent, told.key, told.evidence, told.attributes);
                thread_ids = told.threads;
                end_thread = id(it.span.end_thread).unwrap_or(own_thread);
            }
            Self::Block(it) => {
                let told = it.tell(opened);
                (parent, key, evidence, attributes) = (told.parent, told.key, told.evidence, told.attributes);
            }
            Self::Frame(it) => {
                kind = "frame";
                parent = it.parent.map(|seq| Target::Frame(own_thread, seq));
                depth = it.depth.into();
                evidence.push(event(it.seq));
                evidence.extend(it.close_seq.map(event));
                if let Some(context) = it.context {
                    attributes.insert("context".into(), event(context));
                }
                attributes.extend(
                    process.logical_of(it.thread, it.seq).map(|logical| ("logical_span_id".to_owned(), to(logical))),
                );
            }
            Self::Callback(it) => {
                let span = &it.span;
                let initiator = id(span.initiator_thread).unwrap_or_default();
                parent = Some(Target::Frame(initiator, span.initiator_seq));
                key = FunctionId(span.function).to_string().into();
                evidence.push(to(Target::Event(initiator, span.initiator_seq)));
                evidence.push(event(span.seq));
                evidence.extend((span.close_seq != NONE).then(|| event(span.close_seq)));
                let function = process.names.name(FunctionId(span.initiator_function));
                attributes.insert("initiator".into(), function.into());
                attributes.insert("initiator_span_id".into(), to(Target::Frame(initiator, span.initiator_seq)));
                attributes.insert("initiator_thread_id".into(), initiator.into());
                attributes.insert("latency_ns".into(), span.start.saturating_sub(span.initiator_time).into());
                attributes.insert("confidence".into(), (span.confidence as f64 / 100.0).into());
                attributes.insert("frame_span_id".into(), to(Target::Frame(own_thread, span.seq)));
            }
            Self::Pthread(it) => {
                let span = &it.span;
                let creator = id(span.creator);
                depth = span.level.into();
                key = if span.handle != NONE { hex(span.handle) } else { Value::from(format!("tid {own_thread}")) };
                // The first thread has no span; the call that it made does.
                let created = process.pthread(span.creator, span.create_seq);
                let context = process.target_of(process.context_at(span.creator, span.create_seq));
                parent = context.or(creator.map(|creator| match created {
                    Some(created) => Target::Thread(creator, created.begin_seq),
                    None => Target::Frame(creator, span.create_seq),
                }));
                evidence.extend(creator.map(|creator| to(Target::Event(creator, span.create_seq))));
                let own = [span.routine_seq, span.exit_seq, span.routine_close_seq];
                evidence.extend(own.into_iter().filter(|&seq| seq != NONE).map(event));
                evidence.extend(id(span.joiner).map(|joiner| to(Target::Event(joiner, span.join_seq))));
                pthread_attributes(&mut attributes, process, span, &id);
                let frame = (span.routine_seq != NONE).then_some(Target::Frame(own_thread, span.routine_seq));
                attributes.insert("frame_span_id".into(), maybe(frame));
                let create = creator.map(|creator| Target::Frame(creator, span.create_seq));
                attributes.insert("create_span_id".into(), maybe(create));
            }
        }
        let outcome = self.outcome();
        if outcome.reason == Reason::Timeout && outcome.status == Status::Completed {
            attributes.insert("resumed_ns".into(), self.start().saturating_add(self.duration()).into());
        }
        if outcome.is_uncertain {
            attributes.insert("uncertain".into(), true.into());
        }
        let switched = process.switched.overlapping(self.start(), self.start().saturating_add(self.duration()));
        if switched > 0 {
            attributes.insert("may_lack_calls_of".into(), switched.into());
        }
        if outcome.reason == Reason::Crash
            && let Some(signal) = opened.fatal_signal(process)
        {
            attributes.insert("signal".into(), signal.into());
        }
        let reason = (outcome.reason != Reason::None).then(|| outcome.reason.word());
        let mut record = json!({
            "span_id": self.reference(opened).to_string(),
            "pid": process.pid,
            "type": kind,
            "runtime": self.runtime(opened),
            "function_id": self.function().map(|function| function.to_string()),
            "name": self.name(opened),
            "module": self.function().map(|function| process.names.module(function)),
            "parent_span_id": maybe(parent),
            "start_ns": self.start(),
            "end_ns": self.start().saturating_add(self.duration()),
            "duration_ns": self.duration(),
            "self_ns": self.self_ns(),
            "depth": depth,
            "thread_id": own_thread,
            "end_thread_id": end_thread,
            "thread_ids": thread_ids,
            "status": outcome.status.word(),
            "reason": reason,
            "correlation_key": key,
            "evidence": evidence,
            "attributes": attributes,
        });
        put_place(&mut record, self.source(opened));
        record
    }
}

fn pthread_attributes(
    attributes: &mut Map<String, Value>,
    process: &OpenedProcess,
    span: &PthreadSpan,
    id: &dyn Fn(u64) -> Option<u32>,
) {
    let known = |value: u64| (value != NONE).then_some(value);
    let address = |value: u64| known(value).map_or(Value::Null, hex);
    let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
    put("creator_thread_id", id(span.creator).into());
    put("create_ns", known(span.create_time).into());
    put("spawn_latency_ns", span.spawn_latency().into());
    put("lifetime_ns", span.end.saturating_sub(span.start).into());
    put("handle", address(span.handle));
    put("tid", known(span.tid).into());
    put("start_routine", known(span.routine_function).map(|it| process.names.name(FunctionId(it))).into());
    put("start_routine_address", address(span.routine_address));
    put("argument", address(span.argument));
    put("end_by", span.end_how().word().into());
    put("exit_value", address(span.exit_value));
    let mode = match span.is_detached {
        0 => Some("joinable"),
        1 => Some("detached"),
        _ => None,
    };
    put("mode", mode.into());
    put("joiner_thread_id", id(span.joiner).into());
    put("join_wait_ns", known(span.join_end).map(|end| end.saturating_sub(span.join_time)).into());
    put("canceler_thread_id", id(span.canceler).into());
    put("confidence", known(span.confidence).map(|percent| percent as f64 / 100.0).into());
    put("level", known(span.level).into());
    put("given_name", span.given_name().into());
}

pub(super) fn hex(value: u64) -> Value {
    Value::String(format!("{value:#x}"))
}

/// A reference, with the process where there are several.
pub(crate) fn refer(opened: &OpenedSession, process: usize, target: Target) -> Reference {
    let pid = opened.has_many_processes().then_some(opened.processes[process].pid);
    Reference { pid, target }
}

/// What the record of a task or block has beside what all have.
pub(super) struct Told {
    pub(super) parent: Option<Target>,
    pub(super) key: Value,
    pub(super) evidence: Vec<Value>,
    pub(super) attributes: Map<String, Value>,
    /// The threads that it ran on, in their order.
    pub(super) threads: Vec<u32>,
}
