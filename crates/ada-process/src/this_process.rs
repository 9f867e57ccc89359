//! The process that this code runs in.

use ada_event::ProcessId;

/// The id of this process.
pub fn this_process() -> ProcessId {
    ProcessId(std::process::id())
}
