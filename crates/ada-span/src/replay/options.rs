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
}
