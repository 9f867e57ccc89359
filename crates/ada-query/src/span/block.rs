//! Dispatched blocks.

use std::borrow::Cow;

use ada_event::EventSeq;
use ada_span::gcd::{BlockSpan, How};
use serde_json::{Map, Value};

use super::runtime_span::{Basics, RuntimeSpan, hex};
use super::value::known;
use crate::trace::{Target, TraceProcess, plain_name};

impl RuntimeSpan for BlockSpan {
    fn runtime(&self, _process: &TraceProcess) -> &'static str {
        "gcd"
    }

    fn target(&self, process: &TraceProcess) -> Target {
        Target::Block(process.thread_id(self.thread()), self.seq)
    }

    fn basics(&self) -> Basics {
        let &Self { thread, start, end, function, .. } = self;
        Basics { thread, start, end, outcome: self.outcome(), function }
    }

    fn name<'a>(&self, process: &'a TraceProcess) -> Option<Cow<'a, str>> {
        Some(match self.label(process) {
            Some(label) => plain_name(label.into_owned().name).into(),
            None => "block".into(),
        })
    }

    fn open_seq(&self) -> Option<EventSeq> {
        Some(self.seq)
    }

    fn close_seq(&self) -> Option<EventSeq> {
        self.close_seq
    }

    fn other(&self, process: &TraceProcess) -> Option<Target> {
        self.has_run().then(|| Target::Frame(process.thread_id(self.thread()), self.seq))
    }

    fn confidence(&self) -> Option<u64> {
        known(self.confidence)
    }

    fn cause(&self, process: &TraceProcess) -> Option<Target> {
        process.target_of(self.parent()).or_else(|| Some(submission(self, process)))
    }

    fn parent(&self, process: &TraceProcess) -> Option<Target> {
        let thread = || process.thread_around(self.submit_thread, self.submit_seq);
        process.target_of(self.parent()).or_else(thread).or_else(|| Some(submission(self, process)))
    }

    fn correlation_key(&self, _process: &TraceProcess) -> Option<String> {
        known(self.block).map(|block| format!("block {block:#x}"))
    }

    fn evidence(&self, process: &TraceProcess) -> Vec<Target> {
        let id = process.thread_id(self.thread());
        let submit = Target::Event(process.thread_id(self.submit_thread), self.submit_seq);
        let own = self.has_run().then_some(self.seq).into_iter().chain(self.close_seq);
        std::iter::once(submit).chain(own.map(|seq| Target::Event(id, seq))).collect()
    }

    fn attributes(&self, process: &TraceProcess) -> Map<String, Value> {
        let meta = process.tables.meta();
        let mut attributes = Map::new();
        let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        put("how", self.how().word().into());
        put("queue", process.queue_name(self.queue).into());
        put("queue_id", known(self.queue).map(|queue| queue + 1).into());
        let entry = meta.queues.get(self.queue as usize);
        put("queue_target", entry.and_then(|entry| process.queue_name(entry.target)).into());
        put("qos", entry.and_then(|entry| entry.qos(&meta.texts)).into());
        put("block", known(self.block).map_or(Value::Null, hex));
        put("group", meta.groups.get(self.group as usize).map_or(Value::Null, |group| hex(group.address.0)));
        put("submit_ns", self.submit_time.0.into());
        put("submit_span_id", process.refer(submission(self, process)).into());
        put("submitter_thread_id", process.thread_id(self.submit_thread).0.into());
        put("queue_latency_ns", self.latency().into());
        put("total_ns", self.has_run().then(|| self.end.since(self.submit_time)).into());
        put("confidence", (self.confidence as f64 / 100.0).into());
        match self.how() {
            How::Apply => drop(put("iterations", known(self.index).into())),
            How::Iteration => drop(put("index", known(self.index).into())),
            _ => (),
        }
        // The call behind dispatch_apply is the submission, which the iterations share.
        if let Some(call) = self.other(process).filter(|_| self.how() != How::Apply) {
            put("frame_span_id", process.refer(call).into());
        }
        attributes
    }

    fn run(&self) -> Option<(EventSeq, Option<EventSeq>)> {
        self.has_run().then_some((self.seq, self.close_seq))
    }
}

/// The call that submitted the block.
fn submission(block: &BlockSpan, process: &TraceProcess) -> Target {
    Target::Frame(process.thread_id(block.submit_thread), block.submit_seq)
}
