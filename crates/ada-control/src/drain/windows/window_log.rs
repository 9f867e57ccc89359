//! The windows of a recording, as its manifests list them.

use std::collections::HashMap;

use ada_event::{ProcessId, TraceNanos};
use ada_format::atf::Window;

/// More windows than these are counted only, so that a trigger that always fires costs no memory.
const MOST: usize = 10_000;

/// Finished windows by process.
#[derive(Default)]
pub(crate) struct WindowLog {
    processes: HashMap<ProcessId, (Vec<Window>, u64)>,
}

impl WindowLog {
    /// Adds a window of a process.
    pub(crate) fn push(&mut self, pid: ProcessId, window: Window) {
        let (windows, uncounted) = self.processes.entry(pid).or_default();
        if windows.len() < MOST {
            windows.push(window);
        } else {
            *uncounted += 1;
        }
    }

    /// Lets go of windows that ended before a time, together with what was written for them.
    pub(crate) fn forget_before(&mut self, time: TraceNanos) {
        self.processes.values_mut().for_each(|(windows, _)| windows.retain(|window| window.end_ns >= time));
    }

    /// A process's windows by time, and how many more there were.
    pub(crate) fn of_process(&self, pid: ProcessId) -> (Vec<Window>, u64) {
        let (mut windows, more) = self.processes.get(&pid).cloned().unwrap_or_default();
        windows.sort_by_key(|window| window.start_ns);
        (windows, more)
    }
}
