//! Who caused what: the causal edges of a process, in the tables' own numbers, and those between processes.

use ada_event::{EventSeq, TraceNanos};
use ada_span::table::Meta;
use ada_span::wait::{Doubt, WaitKind, WaitSpan};
use ada_span::{NONE, ThreadIndex};

use super::Trace;
use super::reference::Target;

/// An edge.
#[derive(Clone, Copy, Debug)]
pub struct CausalLink {
    /// `create`, `join`, `cancel`, `callback`, `task`, `resume`, `submit`, `wake` or `hold`.
    pub kind: &'static str,
    /// The cause.
    pub from: CausalEnd,
    /// The effect.
    pub to: CausalEnd,
    /// How sure the match is, in percent.
    pub confidence: Option<u64>,
    /// Whether the effect came about, after its cause: a block that never ran was submitted in vain.
    has_effect: bool,
}

/// One of its ends: a call or a logical span, at a moment.
#[derive(Clone, Copy, Debug)]
pub struct CausalEnd {
    /// The thread.
    pub thread: ThreadIndex,
    /// When, where that is known.
    pub time: Option<TraceNanos>,
    /// The span.
    pub target: Target,
}

impl CausalLink {
    /// Whether it can be drawn: its effect came about, and both moments are known.
    pub fn is_drawn(&self) -> bool {
        self.has_effect && self.from.time.is_some() && self.to.time.is_some()
    }
}

/// All edges of a process of which both spans are known.
pub fn causal_links(meta: &Meta) -> Vec<CausalLink> {
    let mut links = Vec::new();
    let id = |thread: ThreadIndex| meta.threads.get(thread.as_usize()).map(|thread| thread.id).unwrap_or_default();
    let call = |thread: Option<ThreadIndex>, seq: Option<EventSeq>, time: Option<TraceNanos>| {
        let (thread, seq) = thread.zip(seq)?;
        Some(CausalEnd { thread, time, target: Target::Frame(id(thread), seq) })
    };
    let mut link = |kind: &'static str, from: Option<CausalEnd>, to: Option<CausalEnd>, confidence: u64| {
        let confidence = Some(confidence).filter(|&percent| percent != NONE);
        let both = from.zip(to);
        links.extend(both.map(|(from, to)| CausalLink { kind, from, to, confidence, has_effect: true }));
    };
    for span in &meta.pthreads {
        let target = Target::Thread(id(span.thread), span.begin_seq);
        let own = |time: TraceNanos| Some(CausalEnd { thread: span.thread, time: Some(time), target });
        link("create", call(span.creator, span.create_seq, span.create_time), own(span.start), span.confidence);
        link("join", own(span.end), call(span.joiner, span.join_seq, span.join_end), NONE);
        link("cancel", call(span.canceler, span.cancel_seq, None), own(span.end), NONE);
    }
    for span in &meta.callbacks {
        let target = Target::Callback(id(span.thread), span.seq);
        let own = CausalEnd { thread: span.thread, time: Some(span.start), target };
        let from = call(Some(span.initiator_thread), Some(span.initiator_seq), Some(span.initiator_time));
        link("callback", from, Some(own), span.confidence);
    }
    for span in &meta.tasks {
        let target = Target::Task(span.id);
        let own = |thread: ThreadIndex, time: TraceNanos| Some(CausalEnd { thread, time: Some(time), target });
        let create = call(span.create_thread, span.create_seq, span.create_time);
        link("task", create, own(span.thread, span.start), NONE);
        let (first, count) = (span.first_suspension as usize, span.suspensions as usize);
        let runs = &meta.task_runs[span.first_run as usize..(span.first_run + span.runs) as usize];
        for wait in &meta.suspensions[first..first + count] {
            // A wait ends where the next run begins.
            let run = runs.iter().find(|run| Some(run.start) == wait.end);
            let to = run.and_then(|run| own(run.thread, run.start));
            link("resume", call(wait.resume_thread, wait.resume_seq, wait.resume_time), to, NONE);
        }
    }
    for span in &meta.dispatched {
        let target = Target::Block(id(span.thread), span.seq);
        let own = CausalEnd { thread: span.thread, time: Some(span.start), target };
        let from = call(Some(span.submit_thread), Some(span.submit_seq), Some(span.submit_time));
        let confidence = Some(span.confidence).filter(|&percent| percent != NONE);
        let has_effect = span.has_run();
        links.extend(from.map(|from| CausalLink { kind: "submit", from, to: own, confidence, has_effect }));
    }
    for wait in &meta.waits {
        let to = |time: TraceNanos| call(Some(wait.thread), Some(wait.seq), Some(time));
        let waker = wait.waker.filter(|_| wait.kind() != WaitKind::Join);
        let wake = call(waker, wait.wake_seq, wait.wake_time).zip(to(wait.end));
        let hold = call(wait.holder, wait.hold_seq, wait.hold_start).zip(to(wait.start));
        for (kind, ends, confidence) in [("wake", wake, wake_certainty(wait)), ("hold", hold, 100)] {
            links.extend(ends.map(|(from, to)| {
                let has_effect = from.time <= to.time;
                CausalLink { kind, from, to, confidence: Some(confidence), has_effect }
            }));
        }
    }
    links
}

/// An edge between two processes of a session, by their places in it.
#[derive(Clone, Copy, Debug)]
pub struct RemoteLink {
    /// The edge. Each end is of its own process.
    pub link: CausalLink,
    /// The process of the cause.
    pub from_process: usize,
    /// That of the effect.
    pub to_process: usize,
}

/// The edges between processes: who ended another one's wait, and who held what that was for.
pub fn remote_links(trace: &Trace) -> Vec<RemoteLink> {
    let mut links = Vec::new();
    let call = |process: usize, thread: ThreadIndex, seq: EventSeq, time: TraceNanos| {
        let target = Target::Frame(trace.processes().get(process)?.thread_id(thread), seq);
        Some(CausalEnd { thread, time: Some(time), target })
    };
    for (to_process, process) in trace.processes().iter().enumerate() {
        for wait in &process.tables.meta().waits {
            let wake = (wait.remote_process, wait.remote_waker, wait.wake_seq, wait.wake_time);
            let hold = (wait.holder_process, wait.remote_holder, wait.hold_seq, wait.hold_start);
            let ends = [("wake", wake, wait.end, wake_certainty(wait)), ("hold", hold, wait.start, 100)];
            links.extend(ends.into_iter().filter_map(
                |(kind, (from_process, thread, seq, time), until, confidence)| {
                    let from_process = usize::try_from(from_process?).ok()?;
                    let from = call(from_process, thread?, seq?, time?)?;
                    let to = call(to_process, wait.thread, wait.seq, until)?;
                    let has_effect = from.time <= to.time;
                    let link = CausalLink { kind, from, to, confidence: Some(confidence), has_effect };
                    Some(RemoteLink { link, from_process, to_process })
                },
            ));
        }
    }
    links
}

/// How sure it is that a wait was ended by the call that is named, in percent.
fn wake_certainty(wait: &WaitSpan) -> u64 {
    /// By one of several calls, or perhaps by somebody who is not recorded.
    const ONE_OF_SEVERAL: u64 = 30;
    let is_sure = !wait.doubts().has(Doubt::SeveralWakers) && !wait.doubts().has(Doubt::OutsideWaker);
    if is_sure { 100 } else { ONE_OF_SEVERAL }
}
