//! Threads that look for something again and again, and give up their turns in between: locks that spin politely.
//!
//! What they look for is not recorded: they read it without a call. That one function does nothing but call `sched_yield` for a while, directly
//! or by a function that does no more, is.

use ada_event::{EventSeq, TraceNanos};

use super::found::Found;
use super::{Doubt, Doubts, WaitKind, WaitSpan};
use crate::NONE;
use crate::replay::{Closed, Opened};
use crate::role::{Role, SyncCall};
use crate::thread_index::ThreadIndex;

/// Fewer calls are no loop …
const LEAST: u64 = 3;
/// … and less time, in nanoseconds, is not worth telling.
const SHORTEST: u64 = 20_000;

/// Calls that follow each other.
#[derive(Clone, Copy)]
struct Run {
    thread: ThreadIndex,
    /// The first one.
    seq: EventSeq,
    /// The call that they are all made by.
    by: Option<EventSeq>,
    /// The depth of the calls.
    depth: u32,
    start: TraceNanos,
    end: TraceNanos,
    count: u64,
    /// The time in them.
    inside: u64,
}

/// The calls of a worker's threads.
#[derive(Default)]
pub(super) struct Yields {
    found: Vec<Run>,
    current: Option<Run>,
    /// The one that has not come back.
    open: Option<EventSeq>,
    /// A call between two, which may only pass the next one on: itself, and what it is made by.
    between: Option<(EventSeq, Option<EventSeq>)>,
}

impl Yields {
    pub(super) fn begin_thread(&mut self) {
        self.finish();
        (self.open, self.between) = (None, None);
    }

    /// Whether the next call is of interest, whatever it is.
    #[inline]
    pub(super) fn wants_next(&self) -> bool {
        self.current.is_some()
    }

    #[inline]
    pub(super) fn has_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn open(&mut self, thread: ThreadIndex, opened: &Opened) {
        if opened.role != Role::Sync(SyncCall::Yield) || !opened.is_frame {
            let passes_on = self.between.is_none() && self.current.is_some_and(|run| opened.depth + 1 == run.depth);
            if passes_on {
                self.between = Some((opened.seq, opened.parent));
            } else {
                self.finish();
            }
            return;
        }
        let by = match self.between.take() {
            Some((seq, by)) if Some(seq) == opened.parent => by,
            Some(_) => return self.begin(thread, opened, opened.parent),
            None => opened.parent,
        };
        match self.current {
            Some(run) if run.by == by && run.depth == opened.depth => self.open = Some(opened.seq),
            _ => self.begin(thread, opened, by),
        }
    }

    fn begin(&mut self, thread: ThreadIndex, opened: &Opened, by: Option<EventSeq>) {
        self.finish();
        let (seq, start, depth) = (opened.seq, opened.start, opened.depth);
        self.current = Some(Run { thread, seq, by, depth, start, end: start, count: 0, inside: 0 });
        self.open = Some(seq);
    }

    pub(super) fn close(&mut self, closed: &Closed) {
        if self.open.take_if(|seq| *seq == closed.seq).is_some()
            && let Some(run) = &mut self.current
        {
            run.end = closed.end();
            run.count += 1;
            run.inside += closed.duration;
        }
    }

    fn finish(&mut self) {
        self.between = None;
        let Some(run) = self.current.take() else { return };
        let duration = run.end.since(run.start);
        // Who does more between the calls than in them may work, and be polite.
        if run.count >= LEAST && duration >= SHORTEST && run.inside * 2 >= duration {
            self.found.push(run);
        }
    }

    /// The waits that they are.
    pub(super) fn waits(mut self) -> Vec<Found> {
        self.finish();
        let mut doubts = Doubts::default();
        doubts.add(Doubt::NoWaker);
        let wait = |run: &Run| WaitSpan {
            thread: run.thread,
            seq: run.seq,
            start: run.start,
            end: run.end,
            has_ended: 1,
            kind: WaitKind::Yield as u64,
            is_timed: 0,
            object: run.count,
            mutex: NONE,
            inherits: 0,
            doubts: doubts.0,
            ..WaitSpan::default()
        };
        let found = |run: &Run| {
            let (asked, woken) = (run.start, run.end);
            Found { wait: wait(run), asked, woken, has_given_up: false, phase: None, mutex: None }
        };
        self.found.iter().map(found).collect()
    }
}
