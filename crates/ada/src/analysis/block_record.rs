//! The record of a dispatched block.

use ada_event::FunctionId;
use ada_span::NONE;
use ada_span::gcd::{BlockSpan, How};
use serde_json::{Map, Value};

use super::opened::{OpenedProcess, OpenedSession};
use super::record::{Told, hex, refer};
use ada_query::{Target, plain_name};

/// A block's logical span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockView {
    pub(crate) process: usize,
    pub(crate) span: BlockSpan,
}

/// A queue's label, or its address where it has none.
pub(crate) fn queue_name(process: &OpenedProcess, queue: u64) -> Option<String> {
    let entry = process.tables.meta().queues.get(usize::try_from(queue).ok()?)?;
    let label = entry.label().filter(|label| !label.is_empty());
    Some(label.unwrap_or_else(|| format!("queue at {:#x}", entry.address)))
}

impl BlockView {
    /// What it runs.
    pub(crate) fn name(&self, process: &OpenedProcess) -> String {
        match self.span.function {
            NONE => "block".to_owned(),
            function => plain_name(process.names.name(FunctionId(function))),
        }
    }

    pub(super) fn tell(&self, opened: &OpenedSession) -> Told {
        let process = &opened.processes[self.process];
        let span = &self.span;
        let meta = process.tables.meta();
        let id = |place: u64| meta.threads[place as usize].id;
        let to = |target: Target| Value::from(refer(opened, self.process, target).to_string());
        let known = |value: u64| (value != NONE).then_some(value);
        let submit = Target::Frame(id(span.submit_thread), span.submit_seq);
        let thread = || {
            let creator = process.pthread(span.submit_thread, span.submit_seq)?;
            Some(Target::Thread(id(span.submit_thread), creator.begin_seq))
        };
        let parent = process.target_of(span.parent()).or_else(thread).or(Some(submit));
        let mut evidence = vec![to(Target::Event(id(span.submit_thread), span.submit_seq))];
        if span.has_run() {
            evidence.push(to(Target::Event(id(span.thread), span.seq)));
        }
        evidence.extend(known(span.close_seq).map(|seq| to(Target::Event(id(span.thread), seq))));
        let mut attributes = Map::new();
        let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
        put("how", span.how().word().into());
        put("queue", queue_name(process, span.queue).into());
        put("queue_id", known(span.queue).map(|queue| queue + 1).into());
        let entry = meta.queues.get(span.queue as usize);
        put("queue_target", entry.and_then(|entry| queue_name(process, entry.target)).into());
        put("block", known(span.block).map_or(Value::Null, hex));
        put("group", meta.groups.get(span.group as usize).map_or(Value::Null, |group| hex(group.address)));
        put("submit_ns", span.submit_time.into());
        put("submit_span_id", to(submit));
        put("submitter_thread_id", id(span.submit_thread).into());
        put("queue_latency_ns", span.latency().into());
        put("total_ns", span.has_run().then(|| span.end.saturating_sub(span.submit_time)).into());
        put("confidence", (span.confidence as f64 / 100.0).into());
        match span.how() {
            How::Apply => drop(put("iterations", known(span.index).into())),
            How::Iteration => drop(put("index", known(span.index).into())),
            _ => (),
        }
        if span.has_run() && span.how() != How::Apply {
            put("frame_span_id", to(Target::Frame(id(span.thread), span.seq)));
        }
        let key = known(span.block).map_or(Value::Null, |block| format!("block {block:#x}").into());
        Told { parent, key, evidence, attributes, threads: Vec::new() }
    }
}
