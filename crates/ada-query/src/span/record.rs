//! The record of a span, as commands and agents have it in JSON.

use ada_span::{Reason, Status};
use serde_json::{Map, Value};

use super::column::{SpanColumn, value};
use super::runtime_span::RuntimeSpan;
use crate::trace::{Target, Trace, TraceProcess};

/// All columns that records share with SQL's tables, and what only records have.
pub(super) fn record(trace: &Trace, process: &TraceProcess, span: &dyn RuntimeSpan) -> Value {
    let shared = SpanColumn::in_records();
    let mut record: Map<String, Value> =
        shared.map(|column| (column.name().to_owned(), value(trace, process, span, column).into_json())).collect();
    let refer = |target: Target| Value::from(process.refer(target));
    let mut put = |name: &str, value: Value| record.insert(name.to_owned(), value);
    put("parent_span_id", span.parent(process).map_or(Value::Null, refer));
    put("end_thread_id", process.thread_id(span.end_thread()).0.into());
    put("thread_ids", span.thread_ids(process).into_iter().map(|id| id.0).collect());
    put("correlation_key", span.correlation_key(process).into());
    put("evidence", span.evidence(process).into_iter().map(refer).collect());
    put("attributes", attributes(trace, process, span).into());
    record.into()
}

/// What spans of the runtime have, and what all may have.
fn attributes(trace: &Trace, process: &TraceProcess, span: &dyn RuntimeSpan) -> Map<String, Value> {
    let mut attributes = span.attributes(process);
    let mut put = |name: &str, value: Value| attributes.insert(name.to_owned(), value);
    let outcome = span.outcome();
    let end = span.start().saturating_add(span.duration());
    if outcome.reason == Reason::Timeout && outcome.status == Status::Completed {
        put("resumed_ns", end.0.into());
    }
    if outcome.is_uncertain {
        put("uncertain", true.into());
    }
    let switched = process.switched.overlapping(span.start(), end);
    if switched > 0 {
        put("may_lack_calls_of", switched.into());
    }
    if outcome.reason == Reason::Crash
        && let Some(signal) = trace.fatal_signal(process)
    {
        put("signal", signal.into());
    }
    attributes
}
