//! Who caused what: the causal edges of a process, in the tables' own numbers.

use ada_span::NONE;
use ada_span::table::Meta;

use ada_query::Target;

/// An edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CausalLink {
    /// `create`, `join`, `cancel`, `task`, `resume`, `submit` or `callback`.
    pub(crate) kind: &'static str,
    pub(crate) from: CausalEnd,
    pub(crate) to: CausalEnd,
}

/// One of its ends: a call or a logical span, at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CausalEnd {
    /// The place of the thread.
    pub(crate) thread: usize,
    pub(crate) time: u64,
    pub(crate) target: Target,
}

/// All edges of a process. Those of which one end is not known are left out.
pub(crate) fn links(meta: &Meta) -> Vec<CausalLink> {
    let mut links = Vec::new();
    let id = |place: u64| meta.threads.get(place as usize).map_or(0, |thread| thread.id);
    let call = |thread: u64, seq: u64, time: u64| {
        let is_known = thread != NONE && seq != NONE && time != NONE;
        is_known.then(|| CausalEnd { thread: thread as usize, time, target: Target::Frame(id(thread), seq) })
    };
    let mut link = |kind: &'static str, from: Option<CausalEnd>, to: Option<CausalEnd>| {
        links.extend(from.zip(to).map(|(from, to)| CausalLink { kind, from, to }));
    };
    for span in &meta.pthreads {
        let own = |time: u64| {
            let target = Target::Thread(id(span.thread), span.begin_seq);
            Some(CausalEnd { thread: span.thread as usize, time, target })
        };
        link("create", call(span.creator, span.create_seq, span.create_time), own(span.start));
        link("join", own(span.end), call(span.joiner, span.join_seq, span.join_end));
    }
    for span in &meta.callbacks {
        let target = Target::Callback(id(span.thread), span.seq);
        let own = CausalEnd { thread: span.thread as usize, time: span.start, target };
        link("callback", call(span.initiator_thread, span.initiator_seq, span.initiator_time), Some(own));
    }
    for span in &meta.tasks {
        let target = Target::Task(span.id);
        let own = |thread: u64, time: u64| Some(CausalEnd { thread: thread as usize, time, target });
        link("task", call(span.create_thread, span.create_seq, span.create_time), own(span.thread, span.start));
        let (first, count) = (span.first_suspension as usize, span.suspensions as usize);
        let runs = &meta.task_runs[span.first_run as usize..(span.first_run + span.runs) as usize];
        for wait in &meta.suspensions[first..first + count] {
            // A wait ends where the next run begins.
            let run = runs.iter().find(|run| run.start == wait.end);
            let to = run.and_then(|run| own(run.thread, run.start));
            link("resume", call(wait.resume_thread, wait.resume_seq, wait.resume_time), to);
        }
    }
    for span in meta.dispatched.iter().filter(|span| span.has_run()) {
        let target = Target::Block(id(span.thread), span.seq);
        let own = CausalEnd { thread: span.thread as usize, time: span.start, target };
        link("submit", call(span.submit_thread, span.submit_seq, span.submit_time), Some(own));
    }
    links
}
