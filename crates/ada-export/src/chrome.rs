//! Chrome's trace events: an object for each span, in one JSON list.

use std::io::{self, BufWriter, Write};

use ada_event::{ProcessId, ThreadId, TraceNanos};
use serde_json::{Value, json};

use crate::json_text::{micros, text};
use crate::model::{Argument, Call, Ending, Link, LinkEnd, Logical, TraceInfo, TraceThread};
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};

pub(crate) struct Chrome<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    is_first: bool,
    next_id: u64,
}

impl<'a> Chrome<'a> {
    pub(crate) fn new(output: Box<dyn Write + 'a>) -> Self {
        Self { out: BufWriter::with_capacity(1 << 20, output), is_first: true, next_id: 1 }
    }

    /// Begins an event: the fields that all have. The caller adds more, and the brace.
    fn begin_event(
        &mut self,
        phase: char,
        pid: ProcessId,
        tid: ThreadId,
        name: &str,
        category: &str,
    ) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first) { "\n" } else { ",\n" };
        write!(self.out, "{separator}{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"name\":")?;
        text(&mut self.out, name)?;
        self.out.write_all(b",\"cat\":")?;
        text(&mut self.out, category)
    }

    fn time(&mut self, trace: &TraceInfo, time: TraceNanos) -> io::Result<()> {
        self.out.write_all(b",\"ts\":")?;
        micros(&mut self.out, time.since(trace.start))
    }

    fn metadata(&mut self, name: &str, pid: ProcessId, tid: ThreadId, value: &str) -> io::Result<()> {
        self.begin_event('M', pid, tid, name, "__metadata")?;
        write!(self.out, ",\"ts\":0,\"args\":{}}}", json!({ "name": value }))
    }

    /// The beginning or end of something that is not a thread's call; those of one id nest.
    fn nestable(&mut self, trace: &TraceInfo, span: &Logical, edge: &Edge<'_>) -> io::Result<()> {
        let (pid, tid) = ids(trace, span.thread);
        self.begin_event(edge.phase, pid, tid, edge.name, span.runtime)?;
        write!(self.out, ",\"id\":\"{:#x}\"", edge.id)?;
        self.time(trace, edge.time)?;
        if let Some(arguments) = &edge.arguments {
            write!(self.out, ",\"args\":{arguments}")?;
        }
        self.out.write_all(b"}")
    }

    fn link(&mut self, trace: &TraceInfo, number: usize, link: &Link) -> io::Result<()> {
        let mut end = |phase: char, end: &LinkEnd, more: &str| {
            let (pid, tid) = ids(trace, end.thread);
            self.begin_event(phase, pid, tid, link.kind, "link")?;
            write!(self.out, ",\"id\":{number}{more}")?;
            self.time(trace, end.time)?;
            self.out.write_all(b"}")
        };
        end('s', &link.from, "")?;
        end('f', &link.to, ",\"bp\":\"e\"")
    }
}

/// One edge of a logical span or of its part.
struct Edge<'a> {
    phase: char,
    id: u64,
    name: &'a str,
    time: TraceNanos,
    arguments: Option<Value>,
}

fn ids(trace: &TraceInfo, thread: TraceThread) -> (ProcessId, ThreadId) {
    (trace.process_of(thread).pid, trace.thread(thread).id)
}

fn put_ending(arguments: &mut serde_json::Map<String, Value>, ending: &Ending) {
    arguments.insert("status".into(), ending.status.into());
    if let Some(reason) = ending.reason {
        arguments.insert("reason".into(), reason.into());
    }
    if ending.is_uncertain {
        arguments.insert("uncertain".into(), true.into());
    }
}

impl TimelineWriter for Chrome<'_> {
    fn arguments(&self) -> ArgumentsAt {
        ArgumentsAt::Open
    }

    fn begin(&mut self, trace: &TraceInfo) -> io::Result<()> {
        let about = json!({ "session": trace.session, "start_ns": trace.start.to_string(), "made_by": "ada" });
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
        for process in &trace.processes {
            self.metadata("process_name", process.pid, ThreadId(0), &process.name)?;
        }
        for (index, thread) in trace.threads.iter().enumerate() {
            let (pid, tid) = ids(trace, TraceThread(index));
            self.metadata("thread_name", pid, tid, &thread.name)?;
        }
        Ok(())
    }

    fn begin_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, arguments: &[Argument]) -> io::Result<()> {
        let function = trace.function(thread, call.function);
        let (pid, tid) = ids(trace, thread);
        self.begin_event('X', pid, tid, &function.name, &function.module)?;
        self.time(trace, call.start)?;
        self.out.write_all(b",\"dur\":")?;
        micros(&mut self.out, call.end - call.start)?;
        if !arguments.is_empty() || !call.ending.is_plain() {
            let mut them = serde_json::Map::new();
            for argument in arguments {
                them.insert(argument.name.clone().into(), argument.value.to_json());
            }
            if !call.ending.is_plain() {
                put_ending(&mut them, &call.ending);
            }
            write!(self.out, ",\"args\":{}", Value::Object(them))?;
        }
        self.out.write_all(b"}")
    }

    fn close(&mut self, _: &TraceInfo, _: TraceThread, _: &Call, _: &[Argument]) -> io::Result<()> {
        Ok(())
    }

    fn end_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn logical(&mut self, trace: &TraceInfo, span: &Logical) -> io::Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        let mut arguments = span.attributes.clone();
        arguments.retain(|_, value| !value.is_null());
        arguments.insert("span_id".into(), span.reference.as_str().into());
        put_ending(&mut arguments, &span.ending);
        let begin = Edge { phase: 'b', id, name: &span.name, time: span.start, arguments: Some(arguments.into()) };
        self.nestable(trace, span, &begin)?;
        for part in &span.parts {
            let thread = trace.thread(part.thread).id;
            let arguments = json!({ "part": true, "running": part.is_running, "thread": thread.0 });
            let begin = Edge { phase: 'b', id, name: &part.label, time: part.start, arguments: Some(arguments) };
            self.nestable(trace, span, &begin)?;
            let end = Edge { phase: 'e', id, name: &part.label, time: part.end, arguments: None };
            self.nestable(trace, span, &end)?;
        }
        let end = Edge { phase: 'e', id, name: &span.name, time: span.end, arguments: None };
        self.nestable(trace, span, &end)
    }

    fn finish(&mut self, trace: &TraceInfo) -> io::Result<()> {
        for (number, link) in trace.links.iter().enumerate() {
            self.link(trace, number + 1, link)?;
        }
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }
}
