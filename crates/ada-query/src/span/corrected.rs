//! Durations of spans without what recording them took.

use ada_span::{Corrected, Costs, Status};

use super::runtime_span::RuntimeSpan;
use crate::trace::{Trace, TraceProcess};

/// A span's duration without what recording took. A call without a length has none.
pub(super) fn corrected(trace: &Trace, process: &TraceProcess, span: &dyn RuntimeSpan) -> Option<Corrected> {
    let correction = process.correction.as_ref()?;
    let (first, close) = span.run()?;
    let duration = span.duration();
    let has_no_length = !span.is_logical() && close.is_none() && duration == 0;
    if span.outcome().status == Status::EntryOnly || has_no_length {
        return None;
    }
    let thread = &trace.recorded(process).threads[span.thread().as_usize()];
    let (start, end) = (span.start(), span.start().saturating_add(duration));
    let before = close.unwrap_or_else(|| thread.index().first_at(end));
    let costs = Costs {
        ends: 1 + u64::from(close.is_some()),
        events: before.since(first.next()),
        waited_ns: correction.waited(thread.id(), start, end),
    };
    Some(correction.total(duration, &costs))
}
