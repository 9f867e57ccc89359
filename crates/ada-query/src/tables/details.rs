//! `details`.

use ada_event::{DetailSeq, EventSeq, FunctionId};
use ada_format::atf::{Arm64Frame, HeldRecord, Payload, Probes, ThreadDetail, X86Call, X86Return};
use ada_span::ThreadIndex;
use rusqlite::types::Value;

use super::events::{EVENT_ID, SEQ, is_wanted, wanted_functions, wanted_range};
use crate::doc::{Kind, TableDoc, plain, pushed};
use crate::error::QueryError;
use crate::relation::{Ask, Batched, Described, Op, Relation, maybe, number, text};
use crate::shared::Shared;
use crate::trace::Target;
use crate::trace::{Trace, TraceProcess};

/// Records that are made into rows at once.
const BATCH: u64 = 1024;
/// Where the registers begin among the columns, which up to there are those of `events`.
const FIRST_REGISTER: usize = 10;

/// Registers and stack of the events that have them.
pub(super) struct Details;

impl Described for Details {
    const DOC: &'static TableDoc = &TableDoc {
        name: "details",
        about: "registers and stack of the events that have them; values are hex texts, because SQL's numbers have a sign",
        columns: &[
            pushed("session", Kind::Text, "the session's folder"),
            pushed("pid", Kind::Integer, "the process"),
            pushed("event_id", Kind::Text, "the event's reference"),
            pushed("thread_id", Kind::Integer, "the thread"),
            pushed("seq", Kind::Integer, "the event's position among the thread's events"),
            pushed("time_ns", Kind::Integer, "when"),
            plain("kind", Kind::Text, "call, return or exception"),
            pushed("function_id", Kind::Text, "the function as module:symbol"),
            pushed("name", Kind::Text, "the function's demangled name"),
            pushed("module", Kind::Text, "the file name of the function's module"),
            plain("arg0", Kind::Text, "the first integer argument of a call: rdi, or x0"),
            plain("arg1", Kind::Text, "the second: rsi, or x1"),
            plain("arg2", Kind::Text, "the third: rdx, or x2"),
            plain("arg3", Kind::Text, "the fourth: rcx, or x3"),
            plain("arg4", Kind::Text, "the fifth: r8, or x4"),
            plain("arg5", Kind::Text, "the sixth: r9, or x5"),
            plain("result", Kind::Text, "what a function returned: rax, or x0"),
            plain("result2", Kind::Text, "its second half: rdx, or x1"),
            plain("frame_pointer", Kind::Text, "rbp, or fp"),
            plain("stack_pointer", Kind::Text, "rsp, or sp"),
            plain("return_address", Kind::Text, "where the function returns to"),
            plain("probes", Kind::Text, "what a runtime probe read from memory, separated by spaces"),
            plain("stack", Kind::Text, "stack bytes from the stack pointer upwards"),
        ],
        parameters: &[],
    };
}

impl Relation for Details {
    type Cursor = Batched;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<Batched, QueryError> {
        let mut lanes = Vec::new();
        for (number, process) in shared.trace.processes().iter().enumerate() {
            if is_wanted(&shared.trace, process, ask) {
                let functions = wanted_functions(process, ask);
                let threads = ThreadIndex::all(process.tables.meta().threads.len());
                lanes.extend(threads.map(|thread| (number, thread, functions.clone())));
            }
        }
        let (shared, ask) = (shared.clone(), ask.clone());
        let mut lanes = lanes.into_iter();
        let mut lane: Option<(usize, ThreadIndex, Option<Vec<FunctionId>>, u64)> = None;
        Batched::new(Box::new(move || {
            shared.cancel.check()?;
            let trace = &shared.trace;
            let Some((process, thread, functions, next)) = &mut lane else {
                let Some((process, thread, functions)) = lanes.next() else { return Ok(None) };
                let range = wanted_range(trace, &trace.processes()[process], thread, &ask);
                if !range.is_empty() {
                    lane = Some((process, thread, functions, first_record(trace, process, thread, range.start)));
                }
                return Ok(Some(Vec::new()));
            };
            let range = wanted_range(trace, &trace.processes()[*process], *thread, &ask);
            let found = rows(trace, *process, *thread, *next, range.end, functions.as_deref(), &ask);
            trace.recorded(&trace.processes()[*process]).threads[thread.as_usize()].release();
            match found {
                Some(rows) => {
                    *next += BATCH;
                    Ok(Some(rows))
                }
                None => {
                    lane = None;
                    Ok(Some(Vec::new()))
                }
            }
        }))
    }

    fn expect(shared: &Shared, conditions: &[(usize, Op)]) -> f64 {
        // Joins by the event look each one up.
        if conditions.iter().any(|it| matches!(it, (EVENT_ID | SEQ, Op::Eq))) {
            return 1.0;
        }
        let details = |process: &TraceProcess| {
            let threads = shared.trace.recorded(process).threads.iter();
            threads.filter_map(|thread| thread.detail()).map(|view| view.len()).sum::<u64>()
        };
        let rows = shared.trace.processes().iter().map(details).sum::<u64>() as f64;
        rows / f64::from(4_u32.pow(conditions.len().min(8) as u32))
    }
}

/// The first record at or behind an event.
fn first_record(trace: &Trace, process: usize, thread: ThreadIndex, from: EventSeq) -> u64 {
    let thread = &trace.recorded(&trace.processes()[process]).threads[thread.as_usize()];
    let Some(view) = thread.detail() else { return 0 };
    let (mut low, mut high) = (0, view.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let seq = record_at(&view, middle).map(|record| record.event_seq());
        if seq.is_some_and(|seq| seq < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The record at a position. No event links to one that 32 bits do not count, and none is shown.
fn record_at<'a>(view: &ThreadDetail<'a>, position: u64) -> Option<HeldRecord<'a>> {
    view.record(DetailSeq(u32::try_from(position).ok()?))
}

/// Rows of a few records; none behind the last one.
fn rows(
    trace: &Trace,
    process: usize,
    thread: ThreadIndex,
    from: u64,
    until_event: EventSeq,
    functions: Option<&[FunctionId]>,
    ask: &Ask,
) -> Option<Vec<(i64, Vec<Value>)>> {
    let process = &trace.processes()[process];
    let recorded = &trace.recorded(process).threads[thread.as_usize()];
    let (view, index) = (recorded.detail()?, recorded.index());
    if from >= view.len() {
        return None;
    }
    let mut rows = Vec::new();
    for at in from..view.len().min(from + BATCH) {
        let Some(record) = record_at(&view, at) else { continue };
        let seq = record.event_seq();
        if seq >= until_event {
            return if rows.is_empty() { None } else { Some(rows) };
        }
        let (Ok(payload), Some(event)) = (record.payload(), index.event(seq)) else { continue };
        if functions.is_none_or(|them| them.binary_search(&event.function).is_ok()) {
            let label = process.label(event.function);
            let mut row = vec![
                text(&trace.session_of(process).name),
                number(process.pid),
                text(process.refer(Target::Event(recorded.id(), seq))),
                number(recorded.id()),
                number(seq),
                number(event.timestamp),
                text(event.kind.to_string()),
                text(&label.id),
                text(&label.name),
                text(&label.module),
            ];
            debug_assert_eq!(row.len(), FIRST_REGISTER);
            // Most of the work is in them.
            if (FIRST_REGISTER..Details::DOC.columns.len()).any(|column| ask.uses(column)) {
                row.extend(registers(&payload));
            }
            rows.push((process.event_number(thread, seq), row));
        }
    }
    Some(rows)
}

fn registers(payload: &Payload<'_>) -> Vec<Value> {
    let hex = |value: u64| text(format!("{value:#x}"));
    let none = || vec![Value::Null; 6];
    match payload {
        Payload::X86Call(X86Call { rdi, rsi, rdx, rcx, r8, r9, rbp, rsp, return_address, probes, stack, .. }) => {
            let mut row: Vec<Value> = [*rdi, *rsi, *rdx, *rcx, *r8, *r9].into_iter().map(hex).collect();
            row.extend([Value::Null, Value::Null, hex(*rbp), hex(*rsp), hex(return_address.0)]);
            row.extend([words(*probes), bytes(stack)]);
            row
        }
        Payload::X86Return(X86Return { rax, rdx, rbp, rsp, return_address, probes, stack, .. }) => {
            let mut row = none();
            row.extend([*rax, *rdx, *rbp, *rsp, return_address.0].into_iter().map(hex));
            row.extend([words(*probes), bytes(stack)]);
            row
        }
        Payload::Arm64Call(frame) => arm64(frame, true),
        Payload::Arm64Return(frame) => arm64(frame, false),
        _ => vec![Value::Null; Details::DOC.columns.len() - FIRST_REGISTER],
    }
}

fn arm64(frame: &Arm64Frame<'_>, is_call: bool) -> Vec<Value> {
    let hex = |value: u64| text(format!("{value:#x}"));
    let x = |at: usize| maybe(frame.x.get(at), |value| hex(*value));
    let mut row: Vec<Value> = (0..6).map(|at| if is_call { x(at) } else { Value::Null }).collect();
    row.extend((0..2).map(|at| if is_call { Value::Null } else { x(at) }));
    row.extend([hex(frame.fp), hex(frame.sp), hex(frame.lr.0), Value::Null, bytes(frame.stack)]);
    row
}

fn words(probes: Option<Probes<'_>>) -> Value {
    maybe(probes, |probes| text(probes.values().map(|value| format!("{value:#x}")).collect::<Vec<_>>().join(" ")))
}

fn bytes(stack: &[u8]) -> Value {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut digits = String::with_capacity(2 * stack.len());
    for byte in stack {
        digits.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    if digits.is_empty() { Value::Null } else { text(digits) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(bytes(&[0, 0x0f, 0xa5, 0xff]), text("000fa5ff"));
        assert_eq!(bytes(&[]), Value::Null);
    }
}
