//! Waits for what another thread runs once.
//!
//! Who calls `pthread_once` before it was done either runs the function or waits for who does: the function's own call tells which.
//! It is done once, so that whoever did not run it has waited for the one that did. Others wait on a futex inside the call, and
//! who has run it wakes them.

use std::collections::HashMap;

use ada_event::{EventSeq, RuntimeAddr, TraceNanos};

use super::found::{Found, has_ended};
use super::futex::{FUTEX, is_wait, is_wake};
use super::{Doubt, Doubts, WaitKind, WaitSpan};
use crate::NONE;
use crate::detail::EventDetail;
use crate::outcome::{Outcome, Reason, Status};
use crate::replay::{Closed, Opened};
use crate::role::{OnceCall, Role, SyncCall};
use crate::thread_index::ThreadIndex;

/// A futex call is the call's own where at most this many calls lie in between, and not one of what it runs.
const NEAR: u32 = 2;

/// A call.
#[derive(Clone, Copy, Debug)]
struct Asked {
    thread: ThreadIndex,
    seq: EventSeq,
    start: TraceNanos,
    end: TraceNanos,
    outcome: Outcome,
    has_closed: bool,
    what: OnceCall,
    /// What is done once, by its address.
    object: u64,
    /// The function that does it, where that is known.
    routine: u64,
    /// When that function began.
    ran: Option<TraceNanos>,
    slept: Option<Part>,
    woke: Option<Part>,
}

/// A stretch of time of a call.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: TraceNanos,
    end: TraceNanos,
}

#[derive(Clone, Copy)]
enum PartOf {
    Slept,
    Woke,
}

/// The calls of a worker's threads.
#[derive(Default)]
pub(super) struct OnceCalls {
    asked: Vec<Asked>,
    /// Those that have not ended: what each is in, its depth, and its place.
    open: Vec<(EventSeq, u32, usize)>,
    /// What they are doing: the event, the call's place, and what that is.
    parts: Vec<(EventSeq, usize, PartOf)>,
    /// One that has just ended by jumping to the next call.
    jumped: Option<(u32, usize)>,
}

impl OnceCalls {
    pub(super) fn begin_thread(&mut self) {
        self.open.clear();
        self.parts.clear();
        self.jumped = None;
    }

    /// Whether the next call is of interest, whatever it is.
    #[inline]
    pub(super) fn wants_next(&self) -> bool {
        self.jumped.is_some() || self.open.last().is_some_and(|(_, _, at)| self.asked[*at].is_to_be_run())
    }

    #[inline]
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes note of a call at `address`. Whether it is a part of one of these, and so nothing else.
    pub(super) fn open(
        &mut self,
        thread: ThreadIndex,
        opened: &Opened,
        detail: Option<&EventDetail>,
        address: Option<RuntimeAddr>,
    ) -> bool {
        if let Some((_, at)) = self.jumped.take().filter(|(depth, _)| *depth == opened.depth && opened.is_frame) {
            self.open.push((opened.seq, opened.depth, at));
        }
        if !opened.is_frame {
            return false;
        }
        if let Role::Once(what) = opened.role {
            let argument = |index: usize| detail.map_or(NONE, |detail| detail.registers[index]);
            let (object, routine) = match what {
                OnceCall::TakesFunction if detail.is_none() => return false,
                OnceCall::TakesFunction => (argument(0), argument(1)),
                _ => (NONE, NONE),
            };
            self.open.push((opened.seq, opened.depth, self.asked.len()));
            self.asked.push(Asked {
                thread,
                seq: opened.seq,
                start: opened.start,
                end: opened.start,
                outcome: Outcome::default(),
                has_closed: false,
                what,
                object,
                routine,
                ran: None,
                slept: None,
                woke: None,
            });
            return false;
        }
        let Some(&(_, depth, at)) = self.open.last() else { return false };
        let call = &mut self.asked[at];
        let part = Part { start: opened.start, end: opened.start };
        if call.is_to_be_run() && address.is_some_and(|address| address.0 == call.routine) {
            call.ran = Some(opened.start);
            return false;
        }
        let is_near = opened.depth <= depth + NEAR && call.what != OnceCall::TakesFunction;
        let Some(detail) = detail.filter(|_| is_near && opened.role == Role::Sync(SyncCall::System)) else {
            return false;
        };
        let [number, object, command] = [0, 1, 2].map(|index| detail.registers[index]);
        let of = match command {
            _ if number != FUTEX => return false,
            _ if is_wait(command) => PartOf::Slept,
            _ if is_wake(command) => PartOf::Woke,
            _ => return false,
        };
        call.object = object;
        match of {
            // It may be woken for nothing, and sleep again.
            PartOf::Slept => call.slept = Some(call.slept.map_or(part, |first| Part { start: first.start, ..part })),
            _ => call.woke = Some(part),
        }
        self.parts.push((opened.seq, at, of));
        true
    }

    pub(super) fn close(&mut self, closed: &Closed) {
        if let Some((_, at, of)) = self.parts.pop_if(|(seq, ..)| *seq == closed.seq) {
            let call = &mut self.asked[at];
            let part = match of {
                PartOf::Slept => &mut call.slept,
                PartOf::Woke => &mut call.woke,
            };
            part.iter_mut().for_each(|part| part.end = closed.end());
        }
        while let Some((_, _, at)) = self.open.pop_if(|(seq, ..)| *seq == closed.seq) {
            let call = &mut self.asked[at];
            (call.end, call.outcome, call.has_closed) = (closed.end(), closed.outcome, true);
            if closed.outcome.reason == Reason::TailCall {
                self.jumped = Some((closed.depth, at));
            }
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.asked.extend(other.asked);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// The waits among them, with those who were waited for.
    pub(super) fn waits(&self) -> Vec<Found> {
        let mut runners: HashMap<u64, Vec<&Asked>> = HashMap::new();
        for call in self.asked.iter().filter(|call| call.ran.is_some() || call.woke.is_some()) {
            runners.entry(call.object).or_default().push(call);
        }
        let of = |call: &Asked| runners.get(&call.object).map_or(&[][..], Vec::as_slice);
        self.asked.iter().filter_map(|call| call.wait(of(call))).collect()
    }
}

impl Asked {
    /// Whether it may still run the function.
    fn is_to_be_run(&self) -> bool {
        self.routine != NONE && self.ran.is_none()
    }

    fn wait(&self, runners: &[&Self]) -> Option<Found> {
        let has_ended = if self.has_closed { has_ended(&self.outcome) } else { NONE };
        let (start, end) = match self.slept {
            Some(slept) => (slept.start, if has_ended == 1 { slept.end } else { self.end.max(slept.end) }),
            None if self.what == OnceCall::TakesFunction && self.ran.is_none() => (self.start, self.end),
            None => return None,
        };
        let is_open = has_ended == 0;
        let runner = runners.iter().filter(|it| it.seq != self.seq || it.thread != self.thread);
        let runner = runner.filter(|it| it.is_waited_for(start, end, is_open)).max_by_key(|it| it.start);
        if runner.is_none() && self.slept.is_none() {
            // Perhaps it ran the function itself, which is not recorded.
            return None;
        }
        let mut doubts = Doubts::default();
        let mut wait = WaitSpan {
            thread: self.thread,
            seq: self.seq,
            start,
            end: end.max(start),
            has_ended,
            kind: WaitKind::Once as u64,
            is_timed: 0,
            inherits: 0,
            object: self.object,
            mutex: NONE,
            ..WaitSpan::default()
        };
        match runner {
            Some(runner) => {
                wait.holder = Some(runner.thread);
                if runner.what != OnceCall::Done {
                    let since = runner.ran.unwrap_or(runner.start);
                    (wait.hold_seq, wait.hold_start) = (Some(runner.seq), Some(since));
                    // Both had come when it was not begun.
                    wait.start = wait.start.max(since).min(wait.end);
                }
                if has_ended == 1 {
                    (wait.waker, wait.wake_seq) = (Some(runner.thread), Some(runner.seq));
                    // Those who wait are woken before the call comes back.
                    wait.wake_time = Some(runner.woke.map_or(runner.end, |woke| woke.start).min(wait.end));
                }
            }
            None => {
                doubts.add(Doubt::NoOwner);
                if has_ended == 1 {
                    doubts.add(Doubt::NoWaker);
                }
            }
        }
        wait.doubts = doubts.0;
        Some(Found { asked: self.start, woken: wait.end, has_given_up: false, phase: None, mutex: None, wait })
    }

    /// Whether who did not run it between two times has waited for this one.
    fn is_waited_for(&self, start: TraceNanos, end: TraceNanos, is_open: bool) -> bool {
        let has_ended = if self.has_closed { has_ended(&self.outcome) } else { NONE };
        match (self.ran, self.woke) {
            (Some(ran), _) if has_ended == 1 => {
                // What was done is not done again; what has failed is, by another one, which may be whoever waits.
                let has_failed = self.outcome.status != Status::Completed;
                !has_failed && !is_open && ran <= end && self.end >= start
            }
            (Some(_), _) => is_open && has_ended == 0,
            (None, Some(woke)) => !is_open && woke.start <= end && woke.end >= start,
            (None, None) => false,
        }
    }
}
