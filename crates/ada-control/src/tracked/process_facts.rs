//! What is known of a process beside its events.

use std::collections::BTreeSet;

use ada_event::ProcessId;
use ada_format::atf::OpenCalls;

use crate::program_id::ProgramId;

/// What is known of a process beside its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessFacts {
    pub(crate) command_line: Vec<String>,
    pub(crate) parent: Option<ProcessId>,
    /// It ran already when the recording began.
    pub(crate) is_attached: bool,
    /// The programs that it has run.
    pub(crate) programs: BTreeSet<ProgramId>,
    /// Programs that it ran before it ran another, whether or not it was seen to: it may have been forked in them.
    pub(crate) forked_in: BTreeSet<ProgramId>,
    /// The calls that were open when ada attached to it.
    pub(crate) open_calls: Vec<OpenCalls>,
    /// The manifest does not list it yet.
    pub(crate) is_news: bool,
}
