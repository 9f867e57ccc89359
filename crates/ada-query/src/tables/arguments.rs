//! `arguments`.

use ada_value::{ERRNO, Value as Argument};
use rusqlite::types::Value;

use super::events::is_wanted;
use crate::captured_calls::CapturedCalls;
use crate::doc::{Kind, TableDoc, plain, pushed};
use crate::error::QueryError;
use crate::predicate::{Ready, Subject, Test, prepare};
use crate::relation::{Ask, Batched, Condition, Described, Op, Relation, maybe, text};
use crate::shared::Shared;
use crate::span::{Span, SpanColumn, find};
use crate::span_cursor::hints;
use crate::trace::{CallValues, NamedValue, Reference, Trace, Wanted};

/// What calls were given and gave back, a row for each value.
pub(super) struct Arguments;

/// The columns whose conditions say which calls are wanted, with those of `spans` that they are.
const OF_SPANS: [(usize, SpanColumn); 6] = [
    (0, SpanColumn::Session),
    (1, SpanColumn::Pid),
    (3, SpanColumn::Thread),
    (4, SpanColumn::Start),
    (5, SpanColumn::FunctionId),
    (6, SpanColumn::Name),
];
const SPAN_ID: usize = 2;

impl Described for Arguments {
    const DOC: &'static TableDoc = &TableDoc {
        name: "arguments",
        about: "what calls were given and gave back, where that was captured: a row for each argument, result and errno",
        columns: &[
            pushed("session", Kind::Text, "the session's folder"),
            pushed("pid", Kind::Integer, "the process"),
            pushed("span_id", Kind::Text, "the call, as spans have it"),
            pushed("thread_id", Kind::Integer, "the thread that made it"),
            pushed("start_ns", Kind::Integer, "when the call began"),
            pushed("function_id", Kind::Text, "the function as module:symbol"),
            pushed("function", Kind::Text, "the function's demangled name"),
            plain("kind", Kind::Text, "argument, result or errno"),
            plain("position", Kind::Integer, "which argument, from 0; null of others"),
            plain("name", Kind::Text, "the parameter's name, result or errno"),
            plain("type", Kind::Text, "its type, as docs/values.md writes them"),
            plain("number", Kind::Integer, "the value, if it is a whole number, an address, or has one"),
            plain("real", Kind::Real, "the value, if it has a fraction"),
            plain("text", Kind::Text, "the characters, if it is a text"),
            plain("value", Kind::Text, "the value as people read it"),
            plain("json", Kind::Text, "the value as JSON: a structure's fields are an object"),
        ],
        parameters: &[],
    };
}

impl Relation for Arguments {
    type Cursor = Batched;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<Batched, QueryError> {
        if let Some(id) = ask.text(SPAN_ID) {
            let spans = match id.parse::<Reference>() {
                Ok(reference) => find::all(&shared.trace, ask.text(0), reference)?,
                Err(_) => Vec::new(),
            };
            let values = |span: Span| Some((span, span.call_values(&shared.trace, Wanted::Captured)?));
            let calls: Vec<(Span, CallValues)> = spans.into_iter().filter_map(values).collect();
            let mut rows = Some(rows_of(&shared.trace, &calls));
            return Batched::new(Box::new(move || Ok(rows.take())));
        }
        // Conditions on a call mean what they mean of a span.
        let of_span = |it: &Condition| {
            let (_, column) = OF_SPANS.iter().find(|(column, _)| *column == it.column)?;
            Some(Condition { column: *column as usize, ..it.clone() })
        };
        let of_spans = Ask::new(ask.conditions.iter().filter_map(of_span).collect(), 0);
        let test = Test::All(hints(&of_spans));
        let processes = shared.trace.processes();
        let wanted: Vec<usize> =
            (0..processes.len()).filter(|&number| is_wanted(&shared.trace, &processes[number], ask)).collect();
        let (shared, mut wanted) = (shared.clone(), wanted.into_iter());
        let mut calls: Option<CapturedCalls> = None;
        Batched::new(Box::new(move || {
            let trace = &shared.trace;
            let Some(process) = &mut calls else {
                let Some(number) = wanted.next() else { return Ok(None) };
                let ready: Ready = prepare(&test, Subject::Spans, trace, &trace.processes()[number]);
                calls = Some(CapturedCalls::new(trace, number, ready));
                return Ok(Some(Vec::new()));
            };
            match process.next(trace, &shared.cancel)? {
                Some(found) => Ok(Some(rows_of(trace, &found))),
                None => {
                    calls = None;
                    Ok(Some(Vec::new()))
                }
            }
        }))
    }

    fn expect(shared: &Shared, conditions: &[(usize, Op)]) -> f64 {
        if conditions.contains(&(SPAN_ID, Op::Eq)) {
            return 4.0;
        }
        let calls = |process: &crate::TraceProcess| {
            let functions = process.tables.meta().functions.iter();
            functions.filter(|it| process.signatures().contains_key(&it.function)).map(|it| it.spans).sum::<u64>()
        };
        let calls = shared.trace.processes().iter().map(calls).sum::<u64>() as f64;
        4.0 * calls / f64::from(4_u32.pow(conditions.len().min(8) as u32))
    }
}

/// How many rows a call has at most, for their numbers: parameters, result and errno.
const MOST_VALUES: i64 = 128;

fn rows_of(trace: &Trace, calls: &[(Span, CallValues)]) -> Vec<(i64, Vec<Value>)> {
    calls.iter().flat_map(|(span, values)| rows_of_call(trace, span, values)).collect()
}

fn rows_of_call(trace: &Trace, span: &Span, values: &CallValues) -> Vec<(i64, Vec<Value>)> {
    let first = span.id(trace).saturating_mul(MOST_VALUES);
    let begin = |kind: &str, position: Option<usize>| {
        let columns = [
            SpanColumn::Session,
            SpanColumn::Pid,
            SpanColumn::SpanId,
            SpanColumn::Thread,
            SpanColumn::Start,
            SpanColumn::FunctionId,
            SpanColumn::Name,
        ];
        let mut row: Vec<Value> = columns.into_iter().map(|column| span.value(trace, column).into()).collect();
        row.extend([text(kind), maybe(position, |position| Value::Integer(position as i64))]);
        row
    };
    let end = |it: &NamedValue| {
        let real = match it.value.scalar() {
            Argument::Float(real) => Value::Real(*real),
            _ => Value::Null,
        };
        let number = maybe(it.number(), Value::Integer);
        let characters = maybe(it.value.text(), text);
        [text(&it.name), text(&it.ty), number, real, characters, text(&it.text), text(it.to_json().to_string())]
    };
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for (position, argument) in values.arguments().enumerate() {
        rows.push(begin("argument", Some(position)).into_iter().chain(end(argument)).collect());
    }
    if let Some(result) = values.result() {
        rows.push(begin("result", None).into_iter().chain(end(result)).collect());
    }
    if let Some((error, name)) = values.error() {
        let json = serde_json::Value::from(name).to_string();
        let it = [text(ERRNO), text("error"), Value::Integer(error), Value::Null, text(name), text(name), text(json)];
        rows.push(begin(ERRNO, None).into_iter().chain(it).collect());
    }
    (0..).map(|number| first.saturating_add(number)).zip(rows).collect()
}
