//! Heph packets: a thread is a stream, the tasks and blocks that it runs by turns are its substreams.
//!
//! An event is sent when it ends, so that a reader finds the caller of each call by containment. What a task did on
//! several threads is on several streams, under one substream id.

use std::collections::HashMap;
use std::io::{self, Write};

use ada_format::heph::{Encoder, EventCounter, EventEncoder, EventHead, Nanos, StreamId, SubstreamId, UnixNanos};
use serde_json::Value;

use crate::model::{Argument, ArgumentValue, Call, Ending, Logical, TraceInfo, TraceThread};
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};

/// Bytes that are kept before they are written.
const KEPT: usize = 1 << 20;
/// The format's longest text.
const LONGEST: usize = u16::MAX as usize;

pub(crate) struct Heph<'a> {
    out: Box<dyn Write + 'a>,
    encoder: Encoder,
    counters: HashMap<u32, u32>,
    /// By the index of the thread.
    streams: Vec<u32>,
    /// What caused a logical span, by its reference.
    causes: HashMap<String, Vec<(&'static str, String)>>,
}

impl<'a> Heph<'a> {
    pub(crate) fn new(output: Box<dyn Write + 'a>) -> Self {
        Self {
            out: output,
            encoder: Encoder::new(),
            counters: HashMap::new(),
            streams: Vec::new(),
            causes: HashMap::new(),
        }
    }

    fn count(&mut self, stream: u32) -> EventCounter {
        let next = self.counters.entry(stream).or_default();
        let counter = EventCounter(*next);
        *next = next.wrapping_add(1);
        counter
    }

    fn write_if_full(&mut self) -> io::Result<()> {
        if self.encoder.bytes().len() >= KEPT { self.encoder.write_to(&mut self.out) } else { Ok(()) }
    }
}

/// As much of a text as the format holds.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn put_ending<'e>(mut event: EventEncoder<'e>, ending: &Ending) -> Result<EventEncoder<'e>, ada_format::heph::Error> {
    event = event.attribute("status", ending.status)?;
    if let Some(reason) = ending.reason {
        event = event.attribute("reason", reason)?;
    }
    if ending.is_uncertain {
        event = event.attribute("uncertain", 1_u64)?;
    }
    Ok(event)
}

fn put_json<'e>(
    event: EventEncoder<'e>,
    name: &str,
    value: &Value,
) -> Result<EventEncoder<'e>, ada_format::heph::Error> {
    match value {
        Value::Null => Ok(event),
        Value::Bool(value) => event.attribute(name, u64::from(*value)),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => event.attribute(name, value),
            (None, Some(value)) => event.attribute(name, value),
            _ => event.attribute(name, number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => event.attribute(name, cut(text)),
        other => event.attribute(name, cut(&other.to_string())),
    }
}

fn failed(error: ada_format::heph::Error) -> io::Error {
    io::Error::other(error)
}

impl TimelineWriter for Heph<'_> {
    fn arguments(&self) -> ArgumentsAt {
        ArgumentsAt::Close
    }

    fn begin(&mut self, trace: &TraceInfo) -> io::Result<()> {
        // A stream's id is its own in the trace; the same thread id in two processes is two streams.
        let mut taken = HashMap::new();
        for (index, thread) in trace.threads.iter().enumerate() {
            let mut id = thread.id.0;
            while taken.insert(id, index).is_some_and(|other| other != index) {
                id = id.wrapping_add(0x8000_0001);
            }
            self.streams.push(id);
        }
        self.causes = trace.causes();
        if let Some(epoch) = trace.epoch {
            self.encoder.epoch(UnixNanos(epoch)).map_err(failed)?;
        }
        Ok(())
    }

    fn begin_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn open(&mut self, _: &TraceInfo, _: TraceThread, _: &Call, _: &[Argument]) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, arguments: &[Argument]) -> io::Result<()> {
        let stream = self.streams[thread.0];
        let function = trace.function(thread, call.function);
        let head = EventHead {
            stream: StreamId(stream),
            counter: self.count(stream),
            substream: SubstreamId(call.context),
            start: Nanos(call.start.0),
            end: Nanos(call.end.0),
            description: cut(&function.name),
        };
        let mut encode = || {
            let mut event = self.encoder.event(&head)?.attribute("module", cut(&function.module))?;
            event = put_ending(event, &call.ending)?;
            for argument in arguments {
                event = match &argument.value {
                    ArgumentValue::Register(value) => event.attribute(&argument.name, *value)?,
                    ArgumentValue::Attribute(value) => put_json(event, &argument.name, value)?,
                };
            }
            event.finish()
        };
        encode().map_err(failed)?;
        self.write_if_full()
    }

    fn end_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn logical(&mut self, _: &TraceInfo, span: &Logical) -> io::Result<()> {
        for part in &span.parts {
            let stream = self.streams[part.thread.0];
            let head = EventHead {
                stream: StreamId(stream),
                counter: self.count(stream),
                substream: SubstreamId(span.context),
                start: Nanos(part.start.0),
                end: Nanos(part.end.0),
                description: cut(&part.label),
            };
            let event = self.encoder.event(&head).map_err(failed)?;
            event.attribute("part_of", span.reference.as_str()).map_err(failed)?.finish().map_err(failed)?;
        }
        let stream = self.streams[span.thread.0];
        let head = EventHead {
            stream: StreamId(stream),
            counter: self.count(stream),
            substream: SubstreamId(span.context),
            start: Nanos(span.start.0),
            end: Nanos(span.end.max(span.start).0),
            description: cut(&span.name),
        };
        let causes = self.causes.remove(&span.reference).unwrap_or_default();
        let encode = || {
            let mut event = self.encoder.event(&head)?;
            event = event.attribute("span_id", span.reference.as_str())?.attribute("runtime", span.runtime)?;
            event = put_ending(event, &span.ending)?;
            for (name, value) in &span.attributes {
                event = put_json(event, name, value)?;
            }
            for (kind, cause) in causes {
                event = event.attribute(&format!("{kind}_by"), cause.as_str())?;
            }
            event.finish()
        };
        encode().map_err(failed)?;
        self.write_if_full()
    }

    fn finish(&mut self, _: &TraceInfo) -> io::Result<()> {
        self.encoder.write_to(&mut self.out)?;
        self.out.flush()
    }
}
