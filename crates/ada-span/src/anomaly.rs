//! What in a stream of events could not be right.

use std::fmt;

use ada_event::TraceNanos;

/// The kinds of anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum AnomalyKind {
    /// An event that is neither a call, a return nor an exception. It is in no span.
    UnknownEvent = 0,
    /// An event that is earlier than the one before. Its time is taken to be that one's.
    TimeBackwards = 1,
    /// A call deeper than its caller's frame explains: calls in between are missing.
    DepthJump = 2,
    /// An end whose beginning is missing. The span that stands for it has no length.
    EndWithoutBeginning = 3,
    /// A frame that went away without an event, and was no tail call.
    BeginningWithoutEnd = 4,
    /// A call nested deeper than the analysis follows. Its span has no end.
    TooDeep = 5,
    /// Events that follow each other in the file and cannot be read: the first one's position. They are in no span.
    Unreadable = 6,
}

impl AnomalyKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::UnknownEvent,
        Self::TimeBackwards,
        Self::DepthJump,
        Self::EndWithoutBeginning,
        Self::BeginningWithoutEnd,
        Self::TooDeep,
        Self::Unreadable,
    ];

    /// The one word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::UnknownEvent => "unknown_event",
            Self::TimeBackwards => "time_backwards",
            Self::DepthJump => "depth_jump",
            Self::EndWithoutBeginning => "end_without_beginning",
            Self::BeginningWithoutEnd => "beginning_without_end",
            Self::TooDeep => "too_deep",
            Self::Unreadable => "unreadable_events",
        }
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// One anomaly: what, and at which event of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// What.
    pub kind: AnomalyKind,
    /// The event's position.
    pub seq: u64,
    /// The event's time, or that of the one before if it runs backwards.
    pub time: TraceNanos,
}
