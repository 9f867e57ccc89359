//! The span that a reference means.

use ada_query::Reference;

use crate::analysis::{OpenedSession, Span, SpanKind, Target};

/// The span that a reference means; an event's is that which it opens.
pub(super) fn find(opened: &OpenedSession, reference: Reference) -> anyhow::Result<Option<Span>> {
    for (process, it) in opened.processes().iter().enumerate() {
        if reference.pid.is_some_and(|pid| pid != it.pid) {
            continue;
        }
        let span = match reference.target {
            Target::Event(id, seq) => Span::find(opened, process, Target::Frame(id, seq))?,
            Target::Thread(id, seq) => it.tables.meta().thread_index(id).and_then(|thread| {
                let index = it.pthread_index(thread, seq)?;
                Some(Span { process, kind: SpanKind::Pthread(index) })
            }),
            target => Span::find(opened, process, target)?,
        };
        if span.is_some() {
            return Ok(span);
        }
    }
    Ok(None)
}
