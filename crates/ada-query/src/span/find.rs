//! Spans by their references.

use ada_event::ThreadId;
use ada_span::SpanError;

use super::{FrameSpan, Span, SpanKind};
use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::trace::{Reference, Target, Trace, TraceProcess};

/// The spans that a reference means: several where several sessions have one.
pub(crate) fn all(trace: &Trace, session: Option<&str>, reference: Reference) -> Result<Vec<Span>, QueryError> {
    let mut found = Vec::new();
    for (number, process) in trace.processes().iter().enumerate() {
        let is_meant = reference.pid.is_none_or(|pid| pid == process.pid)
            && session.is_none_or(|name| trace.session_of(process).name == name);
        if is_meant {
            found.extend(Span::find(trace, number, reference.target)?);
        }
    }
    Ok(found)
}

/// The one span that a reference means.
pub(crate) fn one(trace: &Trace, session: Option<&str>, id: &str) -> Result<Span, QueryError> {
    let wrong = |words: String| QueryError::Mistake(Mistake::new(words, "", None));
    let reference: Reference = id.parse().map_err(|words| wrong(format!("{id}: {words}")))?;
    let found = all(trace, session, reference)?;
    match found[..] {
        [span] => Ok(span),
        [] => Err(wrong(format!("no span is {id}"))),
        _ => Err(wrong(format!(
            "several sessions or processes have a span {id}; write PID/ before it, or name the session"
        ))),
    }
}

impl Span {
    /// The span of a process, by its index, that is called so. An event and a function are no spans.
    pub fn find(trace: &Trace, process: usize, target: Target) -> Result<Option<Self>, SpanError> {
        let kind = find(&trace.processes()[process], target)?;
        Ok(kind.map(|kind| Self { process, kind }))
    }

    /// The call behind a span: itself, or what a thread, callback or block ran.
    pub(crate) fn call(&self, trace: &Trace) -> Result<Option<FrameSpan>, SpanError> {
        let tables = &trace.processes()[self.process].tables;
        let meta = tables.meta();
        let (thread, seq) = match self.kind {
            SpanKind::Frame(frame) => return Ok(Some(frame)),
            SpanKind::Pthread(index) => (meta.pthreads[index].thread, meta.pthreads[index].routine_seq),
            // A task runs in many pieces, and no call holds them.
            SpanKind::Task(_) => return Ok(None),
            SpanKind::Block(index) => {
                let span = &meta.dispatched[index];
                (span.thread, span.has_run().then_some(span.seq))
            }
            SpanKind::Callback(index) => (meta.callbacks[index].thread, Some(meta.callbacks[index].seq)),
        };
        seq.map_or(Ok(None), |seq| FrameSpan::read(tables, thread, seq))
    }
}

fn find(process: &TraceProcess, target: Target) -> Result<Option<SpanKind>, SpanError> {
    let meta = process.tables.meta();
    let on_thread = |id: ThreadId| meta.thread_index(id);
    Ok(match target {
        Target::Frame(id, seq) => match meta.thread_index(id) {
            Some(thread) => FrameSpan::read(&process.tables, thread, seq)?.map(SpanKind::Frame),
            None => None,
        },
        Target::Callback(id, seq) => on_thread(id).and_then(|thread| {
            let index = meta.callbacks.iter().position(|it| it.thread == thread && it.seq == seq);
            index.map(SpanKind::Callback)
        }),
        Target::Block(id, seq) => on_thread(id).and_then(|thread| {
            let index = meta.dispatched.iter().position(|it| it.thread == thread && it.seq == seq);
            index.map(SpanKind::Block)
        }),
        Target::Thread(id, seq) => on_thread(id).and_then(|thread| {
            let index = meta.pthreads.iter().position(|it| it.thread == thread && it.begin_seq == seq);
            index.map(SpanKind::Pthread)
        }),
        Target::Task(id) => meta.tasks.iter().position(|it| it.id == id).map(SpanKind::Task),
        Target::Event(..) | Target::Function(_) => None,
    })
}
