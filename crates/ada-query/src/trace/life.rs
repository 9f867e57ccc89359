//! The lives of threads: those that were created, and those that processes began with.

use ada_event::TraceNanos;
use ada_span::ThreadIndex;
use ada_span::pthread::PthreadSpan;

use super::process::TraceProcess;

/// Thread ids have 22 bits on Linux; the bits above number the threads, or parts of one, that had the same id.
const GENERATION_SHIFT: u32 = 22;

/// A thread from its start to its end. Threads that share an id are several.
#[derive(Clone, Copy)]
pub struct Life<'a> {
    /// The thread of the trace.
    pub thread: ThreadIndex,
    /// Its span; a process's first thread has none.
    pub span: Option<&'a PthreadSpan>,
    /// When it began.
    pub start: TraceNanos,
    /// When it ended.
    pub end: TraceNanos,
}

impl TraceProcess {
    /// The lives of all threads, by the thread.
    pub fn lives(&self) -> Vec<Life<'_>> {
        let meta = self.tables.meta();
        let mut has_span = vec![false; meta.threads.len()];
        meta.pthreads.iter().for_each(|span| has_span[span.thread.as_usize()] = true);
        let created =
            meta.pthreads.iter().map(|it| Life { thread: it.thread, span: Some(it), start: it.start, end: it.end });
        let others = ThreadIndex::all(meta.threads.len()).zip(&meta.threads).filter(|(thread, entry)| {
            // What was recorded of a thread in a second part is no thread of its own.
            !has_span[thread.as_usize()] && entry.facts.events > 0 && entry.id.0 >> GENERATION_SHIFT == 0
        });
        let others = others.map(|(thread, entry)| Life {
            thread,
            span: None,
            start: entry.facts.start_time,
            end: entry.facts.end_time,
        });
        let mut lives: Vec<Life<'_>> = created.chain(others).collect();
        lives.sort_by_key(|life| (life.thread, life.start));
        lives
    }
}
