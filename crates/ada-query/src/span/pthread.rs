//! Threads.

use std::borrow::Cow;

use ada_event::EventSeq;
use ada_span::ThreadIndex;
use ada_span::pthread::PthreadSpan;
use serde_json::{Map, Value};

use super::runtime_span::{Basics, RuntimeSpan, hex};
use super::value::known;
use crate::trace::{Target, TraceProcess};

impl RuntimeSpan for PthreadSpan {
    fn runtime(&self, _process: &TraceProcess) -> &'static str {
        "pthread"
    }

    fn target(&self, process: &TraceProcess) -> Target {
        Target::Thread(process.thread_id(self.thread()), self.begin_seq)
    }

    fn basics(&self) -> Basics {
        let &Self { thread, start, end, function, .. } = self;
        Basics { thread, start, end, outcome: self.outcome(), function }
    }

    fn depth(&self) -> Option<u64> {
        known(self.level)
    }

    fn name<'a>(&self, process: &'a TraceProcess) -> Option<Cow<'a, str>> {
        Some(process.thread_name(self).into())
    }

    fn open_seq(&self) -> Option<EventSeq> {
        self.routine_seq.or(Some(self.begin_seq))
    }

    fn close_seq(&self) -> Option<EventSeq> {
        self.routine_close_seq
    }

    fn other(&self, process: &TraceProcess) -> Option<Target> {
        self.routine_seq.map(|seq| Target::Frame(process.thread_id(self.thread()), seq))
    }

    fn confidence(&self) -> Option<u64> {
        known(self.confidence)
    }

    fn cause(&self, process: &TraceProcess) -> Option<Target> {
        let seq = self.create_seq?;
        process.known_thread_id(self.creator).map(|creator| Target::Frame(creator, seq))
    }

    fn parent(&self, process: &TraceProcess) -> Option<Target> {
        let (thread, seq) = self.creator.zip(self.create_seq)?;
        let context = process.target_of(process.context_at(thread, seq));
        // The first thread has no span; the call that it made does.
        context.or_else(|| process.thread_around(thread, seq)).or_else(|| self.cause(process))
    }

    fn correlation_key(&self, process: &TraceProcess) -> Option<String> {
        Some(match known(self.handle) {
            Some(handle) => format!("{handle:#x}"),
            None => format!("tid {}", process.thread_id(self.thread())),
        })
    }

    fn evidence(&self, process: &TraceProcess) -> Vec<Target> {
        let id = process.thread_id(self.thread());
        let event = |thread: Option<ThreadIndex>, seq: Option<EventSeq>| {
            process.known_thread_id(thread).zip(seq).map(|(id, seq)| Target::Event(id, seq))
        };
        let own = [self.routine_seq, self.exit_seq, self.routine_close_seq].into_iter().flatten();
        let create = event(self.creator, self.create_seq);
        let join = event(self.joiner, self.join_seq);
        create.into_iter().chain(own.map(|seq| Target::Event(id, seq))).chain(join).collect()
    }

    fn attributes(&self, process: &TraceProcess) -> Map<String, Value> {
        let address = |value: u64| known(value).map_or(Value::Null, hex);
        let id = |thread: Option<ThreadIndex>| Value::from(process.known_thread_id(thread).map(|id| id.0));
        let refer = |target: Option<Target>| Value::from(target.map(|target| process.refer(target)));
        let mut attributes = Map::new();
        let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        put("creator_thread_id", id(self.creator));
        put("create_ns", self.create_time.map(|time| time.0).into());
        put("spawn_latency_ns", self.spawn_latency().into());
        put("lifetime_ns", self.duration().into());
        put("handle", address(self.handle));
        put("tid", self.tid.map(|tid| tid.0).into());
        let routine = self.routine_function.map(|it| process.names.name(it));
        put("start_routine", routine.into());
        put("start_routine_address", self.routine_address.map_or(Value::Null, |it| hex(it.0)));
        put("argument", address(self.argument));
        put("end_by", self.end_how().word().into());
        put("exit_value", address(self.exit_value));
        put("mode", mode(self).into());
        put("joiner_thread_id", id(self.joiner));
        put("join_ns", self.join_time.map(|time| time.0).into());
        put("join_wait_ns", join_wait(self).into());
        put("canceler_thread_id", id(self.canceler));
        put("cancel_ns", self.cancel_time.map(|time| time.0).into());
        put("confidence", known(self.confidence).map(|percent| percent as f64 / 100.0).into());
        put("level", known(self.level).into());
        put("given_name", self.given_name().into());
        put("frame_span_id", refer(self.other(process)));
        put("create_span_id", refer(self.cause(process)));
        attributes
    }

    fn run(&self) -> Option<(EventSeq, Option<EventSeq>)> {
        self.routine_seq.map(|first| (first, self.routine_close_seq))
    }
}

/// Whether somebody may wait for the thread's end, where that is known.
pub(crate) fn mode(span: &PthreadSpan) -> Option<&'static str> {
    match span.is_detached {
        0 => Some("joinable"),
        1 => Some("detached"),
        _ => None,
    }
}

/// How long somebody waited for its end.
pub(crate) fn join_wait(span: &PthreadSpan) -> Option<u64> {
    span.join_end.zip(span.join_time).map(|(end, begin)| end.since(begin))
}
