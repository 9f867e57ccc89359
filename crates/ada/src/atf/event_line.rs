//! What is printed of an event.

use ada_event::{ProcessId, TraceNanos};
use ada_format::atf::{DetailRecord, MergedEvent, Payload, ThreadTrace};

/// One event with all that is printed of it.
pub(super) struct EventLine<'a> {
    pub(super) merged: MergedEvent,
    pub(super) pid: Option<ProcessId>,
    pub(super) thread: &'a ThreadTrace,
    /// The session's first event's time.
    pub(super) start: TraceNanos,
    /// The function's name, where the session has it.
    pub(super) name: Option<&'a str>,
    pub(super) detail: Option<(DetailRecord<'a>, Payload<'a>)>,
}
