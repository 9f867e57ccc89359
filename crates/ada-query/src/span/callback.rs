//! Callbacks.

use std::borrow::Cow;

use ada_event::EventSeq;
use ada_span::callback::CallbackSpan;
use serde_json::{Map, Value};

use super::runtime_span::{Basics, RuntimeSpan};
use super::value::known;
use crate::trace::{Target, TraceProcess};

impl RuntimeSpan for CallbackSpan {
    fn runtime(&self, _process: &TraceProcess) -> &'static str {
        "callback"
    }

    fn target(&self, process: &TraceProcess) -> Target {
        Target::Callback(process.thread_id(self.thread()), self.seq)
    }

    fn basics(&self) -> Basics {
        let &Self { thread, start, end, function, .. } = self;
        Basics { thread, start, end, outcome: self.outcome(), function: Some(function) }
    }

    fn name<'a>(&self, process: &'a TraceProcess) -> Option<Cow<'a, str>> {
        Some(match self.label(process)? {
            Cow::Borrowed(label) => Cow::Borrowed(&*label.name),
            Cow::Owned(label) => Cow::Owned(label.name),
        })
    }

    fn open_seq(&self) -> Option<EventSeq> {
        Some(self.seq)
    }

    fn close_seq(&self) -> Option<EventSeq> {
        self.close_seq
    }

    fn other(&self, process: &TraceProcess) -> Option<Target> {
        Some(Target::Frame(process.thread_id(self.thread()), self.seq))
    }

    fn confidence(&self) -> Option<u64> {
        known(self.confidence)
    }

    fn cause(&self, process: &TraceProcess) -> Option<Target> {
        Some(Target::Frame(process.thread_id(self.initiator_thread), self.initiator_seq))
    }

    fn correlation_key(&self, _process: &TraceProcess) -> Option<String> {
        Some(self.function.to_string())
    }

    fn evidence(&self, process: &TraceProcess) -> Vec<Target> {
        let id = process.thread_id(self.thread());
        let initiator = Target::Event(process.thread_id(self.initiator_thread), self.initiator_seq);
        let own = std::iter::once(self.seq).chain(self.close_seq).map(|seq| Target::Event(id, seq));
        std::iter::once(initiator).chain(own).collect()
    }

    fn attributes(&self, process: &TraceProcess) -> Map<String, Value> {
        let refer = |target: Option<Target>| Value::from(target.map(|target| process.refer(target)));
        let mut attributes = Map::new();
        let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        put("initiator", process.names.name(self.initiator_function).into());
        put("initiator_span_id", refer(self.cause(process)));
        put("initiator_thread_id", process.thread_id(self.initiator_thread).0.into());
        put("latency_ns", self.start.since(self.initiator_time).into());
        put("confidence", (self.confidence as f64 / 100.0).into());
        put("frame_span_id", refer(self.other(process)));
        attributes
    }

    fn run(&self) -> Option<(EventSeq, Option<EventSeq>)> {
        Some((self.seq, self.close_seq))
    }
}
