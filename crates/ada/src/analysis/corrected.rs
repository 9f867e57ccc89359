//! Durations without what recording them took, as commands print them.

use ada_event::TraceNanos;
use ada_span::{Corrected, Correction, Costs, NONE, Status};
use anyhow::bail;
use serde_json::Value;

use super::opened::OpenedSession;
use super::record::Row;
use super::units::nanoseconds;

/// `1.23 ms ±40 ns`.
pub(crate) fn corrected_text(corrected: Option<Corrected>) -> String {
    corrected.map_or_else(String::new, |it| format!("{} ±{}", nanoseconds(it.ns), nanoseconds(it.error_ns)))
}

/// Adds a corrected time to a record: `{name}_ns`, and how far it may be off.
pub(crate) fn put_corrected(record: &mut Value, name: &str, corrected: Option<Corrected>) {
    record[format!("{name}_ns")] = corrected.map(|it| it.ns).into();
    record[format!("{name}_error_ns")] = corrected.map(|it| it.error_ns).into();
}

/// Refuses a session in which hooks were not calibrated.
pub(crate) fn check_correctable(opened: &OpenedSession) -> anyhow::Result<()> {
    if opened.processes.iter().all(|process| process.correction.is_none()) {
        bail!("this session does not say what a hook costs (hook_cost_ns in its manifest); leave --corrected out");
    }
    Ok(())
}

impl Row {
    /// Its duration without what recording took. A call without a length has none.
    pub(crate) fn corrected(&self, opened: &OpenedSession) -> Option<Corrected> {
        let process = &opened.processes[self.process()];
        let correction: &Correction = process.correction.as_ref()?;
        let trace = &opened.recorded(process).threads[self.thread()];
        let (first, last) = match self {
            Self::Frame(it) => (it.seq, it.close_seq),
            Self::Pthread(it) => (it.span.routine_seq, Some(it.span.routine_close_seq)),
            Self::Callback(it) => (it.span.seq, Some(it.span.close_seq)),
            Self::Block(it) if it.span.has_run() => (it.span.seq, Some(it.span.close_seq)),
            // What hooks took on the threads that a task runs on is not what they took of its waits.
            Self::Block(_) | Self::Task(_) => return None,
        };
        let outcome = self.outcome();
        if first == NONE || outcome.status == Status::EntryOnly || last.is_none() && self.duration() == 0 {
            return None;
        }
        let (start, end) = (self.start(), self.start().saturating_add(self.duration()));
        let close = last.filter(|&seq| seq != NONE);
        let before = close.unwrap_or_else(|| trace.index().first_at(TraceNanos(end)));
        let costs = Costs {
            ends: 1 + u64::from(close.is_some()),
            events: before.saturating_sub(first.saturating_add(1)),
            waited_ns: correction.waited(trace.id(), TraceNanos(start), TraceNanos(end)),
        };
        Some(correction.total(self.duration(), &costs))
    }
}
