//! One event, and the events around it.

use ada_event::{Event, EventKind, EventSeq, RuntimeAddr};
use ada_format::atf::Payload;
use ada_span::table::Columns;
use serde_json::{Value, json};

use super::ThreadRef;
use crate::analysis::{FrameSpan, Target, TraceProcess, put_source};
use crate::atf::event_json;

/// The event with its detail, and `around` events before and after it.
pub(super) fn show(thread_ref: &ThreadRef<'_>, seq: EventSeq, around: usize) -> anyhow::Result<Option<Value>> {
    let process = &thread_ref.opened.processes()[thread_ref.process];
    let trace = &thread_ref.opened.recorded(process).threads[thread_ref.thread.as_usize()];
    let index = trace.index();
    let Some(event) = index.event(seq) else { return Ok(None) };
    let id = trace.id();
    let mut shown = json!({
        "event": process.refer(Target::Event(id, seq)),
        "kind": event.kind.to_string(),
        "time_ns": event.timestamp.0,
        "name": name(process, &event),
        "thread_id": id.0,
        "depth": event.depth,
    });
    if event.kind != EventKind::STACK {
        shown["function_id"] = event.function.to_string().into();
        shown["module"] = process.names.module(event.function).into();
        put_source(&mut shown, thread_ref.opened.source(thread_ref.process, event.function));
    }
    let record = trace.detail().and_then(|details| details.record(event.detail));
    if let Some(payload) = record.as_ref().and_then(|record| record.payload().ok()) {
        shown["detail"] = event_json::detail(&payload);
        if let Some((caller, source)) =
            return_address(&payload).and_then(|it| thread_ref.opened.call_site(thread_ref.process, it))
        {
            let mut site = json!({ "name": process.names.name(caller), "module": process.names.module(caller) });
            put_source(&mut site, source);
            shown["call_site"] = site;
        }
    }
    if around == 0 {
        return Ok(Some(shown));
    }
    if let Some(span) = span_of(thread_ref, seq, &event)? {
        shown["span"] = process.refer(Target::Frame(id, span.seq())).into();
    }
    let line = |seq: u64| -> Option<Value> {
        let seq = EventSeq(seq);
        let event = index.event(seq)?;
        let reference = process.reference(Target::Event(id, seq));
        Some(format!("{reference} {} {}", event.kind, name(process, &event)).into())
    };
    let around = around as u64;
    shown["before"] = (seq.0.saturating_sub(around)..seq.0).filter_map(line).collect();
    shown["after"] = (seq.0 + 1..=seq.0.saturating_add(around)).filter_map(line).collect();
    Ok(Some(shown))
}

/// What an event is about: a function, or one of the thread's stacks.
fn name(process: &TraceProcess, event: &Event) -> String {
    match (event.kind, event.function.0) {
        (EventKind::STACK, 0) => "the thread's own stack".into(),
        (EventKind::STACK, number) => format!("stack {number}"),
        _ => process.names.name(event.function),
    }
}

fn return_address(payload: &Payload<'_>) -> Option<RuntimeAddr> {
    match payload {
        Payload::X86Call(call) => Some(call.return_address),
        Payload::X86Return(back) => Some(back.return_address),
        _ => None,
    }
}

/// The span that an event opens or closes.
fn span_of(thread_ref: &ThreadRef<'_>, seq: EventSeq, event: &Event) -> anyhow::Result<Option<FrameSpan>> {
    let &ThreadRef { opened, process, thread } = thread_ref;
    let it = &opened.processes()[process];
    if let Some(opening) = FrameSpan::read(&it.tables, thread, seq)? {
        return Ok(Some(opening));
    }
    if event.kind.is_call() {
        return Ok(None);
    }
    let mut columns = Columns::new();
    for block in it.tables.blocks_of(thread).rev() {
        let entry = it.tables.block(block);
        let depths = entry.min_depth..=entry.max_depth;
        if entry.first_seq > seq || entry.max_end < event.timestamp || !depths.contains(&event.depth) {
            continue;
        }
        it.tables.read(block, |_| true, &mut columns)?;
        for row in (0..columns.rows()).rev() {
            if columns.close_seq(row) == Some(seq) {
                return Ok(Some(FrameSpan::of_row(thread, &columns, row)));
            }
        }
    }
    Ok(None)
}
