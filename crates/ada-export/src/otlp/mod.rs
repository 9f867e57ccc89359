//! OTLP: spans as OpenTelemetry's collectors take them.
//!
//! What is written is a row of `ExportTraceServiceRequest`s, and the output is flushed after each: a connection can send them one
//! by one. In a file they are one such message, or one `TracesData`, since protobuf appends what is repeated.

mod batch;
mod ids;

use std::collections::HashMap;
use std::io::{self, Write};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::span::{Link as SpanLink, SpanKind};
use opentelemetry_proto::tonic::trace::v1::{Span, Status, status::StatusCode};
use prost::Message;
use serde_json::Value;

use self::batch::Batch;
use self::ids::{SpanId, TraceId};
use crate::model::{Argument, Call, Ending, Link, Logical, TraceInfo, TraceThread};
use crate::timeline_writer::{ArgumentsAt, TimelineWriter};

pub(crate) struct Otlp<'a> {
    out: Box<dyn Write + 'a>,
    batch: Batch,
    trace_id: TraceId,
    /// The calls that enclose the next one, and what runs them.
    open: Vec<SpanId>,
    /// What made each logical span: the first cause is its parent, the others are links.
    causes: HashMap<SpanId, Vec<Cause>>,
    /// The logical span that a thread's outermost calls belong to.
    runs: HashMap<TraceThread, SpanId>,
}

struct Cause {
    kind: &'static str,
    span: SpanId,
}

impl<'a> Otlp<'a> {
    pub(crate) fn new(out: Box<dyn Write + 'a>) -> Self {
        Self {
            out,
            batch: Batch::default(),
            trace_id: TraceId::default(),
            open: Vec::new(),
            causes: HashMap::new(),
            runs: HashMap::new(),
        }
    }

    fn put(&mut self, trace: &TraceInfo, process: usize, span: Span) -> io::Result<()> {
        self.batch.add(trace, process, span);
        if self.batch.is_full() {
            self.batch.write(&mut self.out)?;
        }
        Ok(())
    }

    /// A link of which both ends are spans.
    fn add_cause(&mut self, link: &Link) {
        let Some(reference) = &link.to.logical else { return };
        let effect = SpanId::of_logical(reference);
        if reference.contains("thread:") {
            self.runs.insert(link.to.thread, effect);
        }
        let call = link.from.call.map(|seq| SpanId::of_call(link.from.thread, seq));
        if let Some(span) = call.or_else(|| link.from.logical.as_deref().map(SpanId::of_logical)) {
            self.causes.entry(effect).or_default().push(Cause { kind: link.kind, span });
        }
    }
}

impl TimelineWriter for Otlp<'_> {
    fn arguments(&self) -> ArgumentsAt {
        ArgumentsAt::Open
    }

    fn begin(&mut self, trace: &TraceInfo) -> io::Result<()> {
        self.trace_id = TraceId::of(trace);
        for link in &trace.links {
            self.add_cause(link);
        }
        Ok(())
    }

    fn begin_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        self.open.clear();
        Ok(())
    }

    fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call, arguments: &[Argument]) -> io::Result<()> {
        let id = SpanId::of_call(thread, call.seq);
        let parent = self.open.last().or_else(|| self.runs.get(&thread)).copied();
        self.open.push(id);
        let (about, function) = (trace.thread(thread), trace.function(thread, call.function));
        let mut attributes = vec![
            text("code.function.name", &function.name),
            text("ada.module", &function.module),
            number("thread.id", about.id.0.into()),
            text("thread.name", &about.name),
        ];
        put_ending(&mut attributes, &call.ending);
        for argument in arguments {
            attributes.push(json(&format!("ada.value.{}", argument.name), &argument.value.to_json()));
        }
        let span = Span {
            trace_id: self.trace_id.bytes(),
            span_id: id.bytes(),
            parent_span_id: parent.map_or_else(Vec::new, SpanId::bytes),
            name: function.name.clone(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: unix_nanos(trace, call.start.0),
            end_time_unix_nano: unix_nanos(trace, call.end.0),
            status: status(&call.ending),
            attributes,
            ..Span::default()
        };
        self.put(trace, about.process, span)
    }

    fn close(&mut self, _: &TraceInfo, _: TraceThread, _: &Call, _: &[Argument]) -> io::Result<()> {
        self.open.pop();
        Ok(())
    }

    fn end_thread(&mut self, _: &TraceInfo, _: TraceThread) -> io::Result<()> {
        Ok(())
    }

    fn logical(&mut self, trace: &TraceInfo, span: &Logical) -> io::Result<()> {
        let id = SpanId::of_logical(&span.reference);
        let about = trace.thread(span.thread);
        let mut attributes = vec![
            text("ada.span_id", &span.reference),
            text("ada.runtime", span.runtime),
            number("thread.id", about.id.0.into()),
            text("thread.name", &about.name),
        ];
        put_ending(&mut attributes, &span.ending);
        let known = span.attributes.iter().filter(|(_, value)| !value.is_null());
        attributes.extend(known.map(|(name, value)| json(&format!("ada.{name}"), value)));
        let mut causes = self.causes.remove(&id).unwrap_or_default().into_iter();
        let parent = causes.next().map_or_else(Vec::new, |it| it.span.bytes());
        let trace_id = self.trace_id;
        let link = |it: Cause| SpanLink {
            trace_id: trace_id.bytes(),
            span_id: it.span.bytes(),
            attributes: vec![text("ada.link", it.kind)],
            ..SpanLink::default()
        };
        let span = Span {
            trace_id: trace_id.bytes(),
            span_id: id.bytes(),
            parent_span_id: parent,
            name: span.name.clone(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: unix_nanos(trace, span.start.0),
            end_time_unix_nano: unix_nanos(trace, span.end.0),
            status: status(&span.ending),
            links: causes.map(link).collect(),
            attributes,
            ..Span::default()
        };
        self.put(trace, about.process, span)
    }

    fn finish(&mut self, _: &TraceInfo) -> io::Result<()> {
        self.batch.write(&mut self.out)?;
        self.out.flush()
    }
}

/// What a collector did not take of a batch, by its answer: how many spans, and why.
pub fn rejected_spans(answer: &[u8]) -> Option<(u64, String)> {
    let partial = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
    let count = u64::try_from(partial.rejected_spans).ok().filter(|&count| count > 0)?;
    Some((count, partial.error_message))
}

/// Where the wall clock at the recording is not known, times are those of the trace's clock.
fn unix_nanos(trace: &TraceInfo, nanos: u64) -> u64 {
    trace.epoch.unwrap_or(0).saturating_add(nanos)
}

/// What went through a call as an error, or ended the process, is one; what merely did not return is not.
fn status(ending: &Ending) -> Option<Status> {
    let is_error = matches!(ending.reason, Some("exception" | "crash"));
    is_error.then(|| Status { message: ending.words(), code: StatusCode::Error.into() })
}

fn put_ending(attributes: &mut Vec<KeyValue>, ending: &Ending) {
    if ending.is_plain() {
        return;
    }
    attributes.push(text("ada.status", ending.status));
    attributes.extend(ending.reason.map(|reason| text("ada.reason", reason)));
    if ending.is_uncertain {
        attributes.push(attribute("ada.uncertain", any_value::Value::BoolValue(true)));
    }
}

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, any_value::Value::StringValue(value.to_owned()))
}

fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, any_value::Value::IntValue(value))
}

/// Numbers and texts as such; whatever is in brackets as JSON's text, which all collectors show.
fn json(key: &str, value: &Value) -> KeyValue {
    let value = match value {
        Value::Bool(it) => any_value::Value::BoolValue(*it),
        Value::String(it) => any_value::Value::StringValue(it.clone()),
        Value::Number(it) => match (it.as_i64(), it.is_f64(), it.as_f64()) {
            (Some(number), ..) => any_value::Value::IntValue(number),
            (None, true, Some(number)) => any_value::Value::DoubleValue(number),
            _ => any_value::Value::StringValue(it.to_string()),
        },
        _ => any_value::Value::StringValue(value.to_string()),
    };
    attribute(key, value)
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;

    use super::*;

    #[test]
    fn an_answer_tells_what_was_rejected() {
        assert_eq!(rejected_spans(b""), None);
        assert_eq!(rejected_spans(b"\xff\xff"), None);
        let partial = ExportTracePartialSuccess { rejected_spans: 3, error_message: "too old".into() };
        let answer = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
        assert_eq!(rejected_spans(&answer), Some((3, "too old".into())));
    }

    #[test]
    fn numbers_that_do_not_fit_are_texts() {
        let value = |json_value: Value| json("x", &json_value).value.unwrap().value.unwrap();
        assert_eq!(value(7.into()), any_value::Value::IntValue(7));
        assert_eq!(value(u64::MAX.into()), any_value::Value::StringValue("18446744073709551615".into()));
        assert_eq!(value(0.5.into()), any_value::Value::DoubleValue(0.5));
        assert_eq!(value(serde_json::json!([1])), any_value::Value::StringValue("[1]".into()));
    }
}
