//! What in a stream of events could not be right.

use ada_event::{EventSeq, TraceNanos};

use crate::word_enum::word_enum;

word_enum! {
    /// The kinds of anomaly.
    pub enum AnomalyKind {
        /// An event that is neither a call, a return nor an exception. It is in no span.
        UnknownEvent = 0, "unknown_event";
        /// An event that is earlier than the one before. Its time is taken to be that one's.
        TimeBackwards = 1, "time_backwards";
        /// A call deeper than its caller's frame explains: calls in between are missing.
        DepthJump = 2, "depth_jump";
        /// An end whose beginning is missing. The span that stands for it has no length.
        EndWithoutBeginning = 3, "end_without_beginning";
        /// A frame that went away without an event, and was no tail call.
        BeginningWithoutEnd = 4, "beginning_without_end";
        /// A call nested deeper than the recorder or the analysis follows. Its span has no end.
        TooDeep = 5, "too_deep";
        /// Events that follow each other in the file and cannot be read: the first one's position. They are in no span.
        Unreadable = 6, "unreadable_events";
    }
}

/// One anomaly: what, and at which event of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// What.
    pub kind: AnomalyKind,
    /// The event's position.
    pub seq: EventSeq,
    /// The event's time, or that of the one before if it runs backwards.
    pub time: TraceNanos,
}
