//! Durations of spans without what recording them took.

use ada_event::TraceNanos;
use ada_span::{Corrected, Costs, NONE, Status};

use super::runtime_span::RuntimeSpan;
use crate::trace::{Trace, TraceProcess};

/// A span's duration without what recording took. A call without a length has none.
pub(super) fn corrected(trace: &Trace, process: &TraceProcess, span: &dyn RuntimeSpan) -> Option<Corrected> {
    let correction = process.correction.as_ref()?;
    let (first, last) = span.run()?;
    let duration = span.duration();
    if first == NONE || span.outcome().status == Status::EntryOnly || last.is_none() && duration == 0 {
        return None;
    }
    let thread = &trace.recorded(process).threads[span.thread()];
    let (start, end) = (span.start(), span.start().saturating_add(duration));
    let close = last.filter(|&seq| seq != NONE);
    let before = close.unwrap_or_else(|| thread.index().first_at(TraceNanos(end)));
    let costs = Costs {
        ends: 1 + u64::from(close.is_some()),
        events: before.saturating_sub(first.saturating_add(1)),
        waited_ns: correction.waited(thread.id(), TraceNanos(start), TraceNanos(end)),
    };
    Some(correction.total(duration, &costs))
}
