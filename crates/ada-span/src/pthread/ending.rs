//! How and when a thread ended: by its start routine's call where that tells, else by what the C library does then.

use ada_event::TraceNanos;

use super::ThreadEnd;
use super::life::ThreadLife;
use crate::outcome::{Outcome, Reason, Status};
use crate::replay::{ProcessEnd, ReplayOptions};

/// Calls by which a thread may have ended.
#[derive(Clone, Copy, Default)]
pub(super) struct EndCalls {
    /// `pthread_exit`.
    pub(super) has_exited: bool,
    /// What unwinds a whole thread.
    pub(super) is_unwound: bool,
}

/// A thread's end.
pub(super) struct Ending {
    pub(super) time: TraceNanos,
    pub(super) outcome: Outcome,
    pub(super) how: ThreadEnd,
}

impl Ending {
    /// `knows_teardown`: the absence of the calls that end threads means something.
    pub(super) fn of(life: &ThreadLife, calls: EndCalls, options: &ReplayOptions, knows_teardown: bool) -> Self {
        let of_call = life.routine.map(|routine| (routine.outcome, routine.end));
        let seen = of_call.filter(|(outcome, _)| outcome.status != Status::EntryOnly);
        let ending = match seen {
            Some((outcome, time)) => Self::of_call(outcome, time),
            None => None,
        };
        let ending = ending.unwrap_or_else(|| match life.teardown {
            Some(teardown) => Self::torn_down(seen.map(|(outcome, _)| outcome), teardown.time, calls),
            None if knows_teardown && seen.is_none() => Self::with_process(life.last_time, options),
            None => Self::unknown(life.last_time, seen.map(|(outcome, _)| outcome), calls, options.end),
        });
        let reason = match ending.outcome.reason {
            Reason::None | Reason::AttachedMidway if life.is_cut => Reason::Dropped,
            Reason::None if life.is_midway => Reason::AttachedMidway,
            reason => reason,
        };
        // When a thread began is not known where that was lost.
        let is_uncertain = ending.outcome.is_uncertain || life.is_cut;
        Self { outcome: Outcome { reason, is_uncertain, ..ending.outcome }, ..ending }
    }

    /// What the start routine's call says, if that is how the thread has ended.
    fn of_call(outcome: Outcome, time: TraceNanos) -> Option<Self> {
        let how = match (outcome.status, outcome.reason) {
            (Status::Completed, _) | (Status::Unmatched, Reason::AttachedMidway) => ThreadEnd::Return,
            (Status::Exited, _) => ThreadEnd::Exit,
            (Status::Canceled, _) => ThreadEnd::Cancel,
            (Status::Open, _) => ThreadEnd::Alive,
            (_, Reason::ProcessExit | Reason::Crash) => ThreadEnd::ProcessEnd,
            _ => return None,
        };
        Some(Self { time, outcome, how })
    }

    /// The C library ends the thread. `call` is the start routine's, whose end is missing.
    fn torn_down(call: Option<Outcome>, time: TraceNanos, calls: EndCalls) -> Self {
        let by_calls = Self::by_calls(time, calls);
        by_calls.unwrap_or_else(|| match call {
            None => Self { time, outcome: Outcome::default(), how: ThreadEnd::Return },
            Some(call) => {
                let reason = if call.reason == Reason::Dropped { Reason::Dropped } else { Reason::None };
                Self { time, outcome: uncertain(Status::Exited, reason), how: ThreadEnd::Inferred }
            }
        })
    }

    fn by_calls(time: TraceNanos, calls: EndCalls) -> Option<Self> {
        let (status, reason, how) = match calls {
            EndCalls { has_exited: true, .. } => (Status::Exited, Reason::Unwind, ThreadEnd::Exit),
            EndCalls { is_unwound: true, .. } => (Status::Canceled, Reason::Canceled, ThreadEnd::Cancel),
            _ => return None,
        };
        Some(Self { time, outcome: Outcome::new(status, reason), how })
    }

    /// The thread lived as long as its process, or as the recording.
    fn with_process(last_time: TraceNanos, options: &ReplayOptions) -> Self {
        let how = if options.end == ProcessEnd::Alive { ThreadEnd::Alive } else { ThreadEnd::ProcessEnd };
        Self { time: options.end_time.max(last_time), outcome: options.end.outcome(), how }
    }

    fn unknown(time: TraceNanos, call: Option<Outcome>, calls: EndCalls, process: ProcessEnd) -> Self {
        let by_calls = Self::by_calls(time, calls);
        by_calls.unwrap_or_else(|| {
            let status = if process == ProcessEnd::Alive { Status::Open } else { Status::Exited };
            let reason = call.map_or(Reason::None, |call| call.reason);
            Self { time, outcome: uncertain(status, reason), how: ThreadEnd::Inferred }
        })
    }
}

fn uncertain(status: Status, reason: Reason) -> Outcome {
    Outcome { is_uncertain: true, ..Outcome::new(status, reason) }
}
