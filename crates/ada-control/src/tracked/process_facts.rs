//! What is known of a process beside its events.

use std::collections::BTreeSet;
use std::time::Duration;

use ada_event::{ProcessId, TraceNanos};
use ada_format::atf::OpenCalls;

use crate::install::open_frames::OpenFrame;
use crate::program_id::ProgramId;

/// What is known of a process beside its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessFacts {
    pub(crate) command_line: Vec<String>,
    pub(crate) parent: Option<ProcessId>,
    /// How it was found, if it ran already when the recording began.
    pub(crate) attached: Option<Attached>,
    /// How long it waited in all for programs that it ran to be hooked.
    pub(crate) waited_for_hooks: Duration,
    /// When its hooks were removed, if it goes on without them.
    pub(crate) unhooked: Option<TraceNanos>,
    /// The programs that it has run.
    pub(crate) programs: BTreeSet<ProgramId>,
    /// Programs that it ran before it ran another, whether or not it was seen to: it may have been forked in them.
    pub(crate) forked_in: BTreeSet<ProgramId>,
    /// The manifest does not list it yet.
    pub(crate) is_news: bool,
}

/// A process as it was when ada attached to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attached {
    /// When that was, by the time-stamp counter.
    pub(crate) tsc: u64,
    /// The same, once there is a clock.
    pub(crate) time: Option<TraceNanos>,
    /// The calls that were open.
    pub(crate) open_calls: Vec<OpenCalls>,
    /// Those whose exits are hooked: they are recorded as of then.
    pub(crate) open_frames: Vec<OpenFrame>,
}
