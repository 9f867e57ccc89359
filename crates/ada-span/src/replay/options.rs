//! What a replay has to know beside a thread's events.

use ada_event::TraceNanos;

use crate::outcome::{Outcome, Reason, Status};

/// How the process of a thread ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It had not, when the recording did.
    #[default]
    Alive,
    /// By itself.
    Exited,
    /// By a signal.
    Killed,
}

impl ProcessEnd {
    /// What became of that which was open then.
    pub(crate) const fn outcome(self) -> Outcome {
        match self {
            Self::Alive => Outcome::new(Status::Open, Reason::None),
            Self::Exited => Outcome::new(Status::Unmatched, Reason::ProcessExit),
            Self::Killed => Outcome::new(Status::Unmatched, Reason::Crash),
        }
    }
}

/// What is known of the trace as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Whether events were lost at unknown times: any missing partner is then put down to that.
    pub has_drops: bool,
    /// How the process ended.
    pub end: ProcessEnd,
    /// When.
    pub end_time: TraceNanos,
    /// Spans that take longer get [`Reason::Timeout`], if they have no other reason.
    pub timeout_ns: u64,
    /// Until when events were let go, because only the newest part was to be kept. 0 where none were.
    pub let_go_until: TraceNanos,
    /// Whether the process ran already when the recording began.
    pub is_attached: bool,
    /// Whether another traced process has made it: it may have a copy of what others held there.
    pub is_fork: bool,
    /// When it was attached to: calls of that very time had been open before.
    pub attached_time: Option<TraceNanos>,
    /// Whether the events were imported: then threads are lanes, which end with their events.
    pub is_imported: bool,
    /// Whether what was recorded could not all be written: of each thread the newest events may be missing.
    pub is_incomplete: bool,
    /// Whether the recording was cut short: of each thread there is what was written by then, and nothing says how far
    /// that is behind the others.
    pub is_cut_short: bool,
    /// Until when the steps of goroutines were recorded, all of them.
    pub goroutines_until: TraceNanos,
    /// Until when all functions were recorded. Later, what a function jumps to may be missing, and the next call be its caller's.
    pub tail_calls_until: TraceNanos,
}

impl ReplayOptions {
    /// All was recorded of a process that exited, and nothing takes too long.
    pub const COMPLETE: Self = Self {
        has_drops: false,
        end: ProcessEnd::Exited,
        end_time: TraceNanos(0),
        timeout_ns: u64::MAX,
        let_go_until: TraceNanos(0),
        attached_time: None,
        is_attached: false,
        is_fork: false,
        is_imported: false,
        is_cut_short: false,
        is_incomplete: false,
        goroutines_until: TraceNanos::MAX,
        tail_calls_until: TraceNanos::MAX,
    };
}
