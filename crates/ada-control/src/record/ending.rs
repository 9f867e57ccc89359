//! How processes ended, and how a recording did.

use ada_event::TraceNanos;
use ada_process::{CpuTime, End};

/// How the recording of a process came to its end.
pub(crate) struct Ending {
    pub(crate) end: End,
    /// What the process has used, if it is known.
    pub(crate) cpu_time: Option<CpuTime>,
    /// What went wrong with it.
    pub(crate) trouble: Option<String>,
}

/// How a process ended, and how that is known.
pub(crate) struct KnownEnd {
    /// None if unknown.
    pub(crate) end: Option<End>,
    pub(crate) known_by: &'static str,
    /// When it was last seen to run.
    pub(crate) alive: Option<TraceNanos>,
    /// Known only of the program that ada started.
    pub(crate) cpu_time: Option<CpuTime>,
}
