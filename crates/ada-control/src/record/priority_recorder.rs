//! Looks which priorities threads have that wait for locks, and writes them down.

use std::collections::HashMap;
use std::path::Path;

use ada_event::{ProcessId, ThreadId};
use ada_format::atf::{SeenPriority, append_priorities};
use ada_process::Clock;
use ada_process::procfs::ProcessDir;

/// Looks that are kept of a process that has no folder yet.
const MOST_WAITING: usize = 1 << 12;

/// Looks at threads that are asked for.
#[derive(Default)]
pub(super) struct PriorityRecorder {
    waiting: HashMap<ProcessId, Vec<SeenPriority>>,
}

impl PriorityRecorder {
    /// Looks at a thread.
    pub(super) fn look(&mut self, clock: Clock, pid: ProcessId, thread: ThreadId) {
        let from = clock.now();
        let Some(priority) = ProcessDir::of(pid).thread(thread).stat().and_then(|stat| stat.priority()) else { return };
        let waiting = self.waiting.entry(pid).or_default();
        if waiting.len() < MOST_WAITING {
            let (policy, realtime, nice) = (priority.policy, priority.realtime, priority.nice);
            waiting.push(SeenPriority { from, to: clock.now(), thread, policy, realtime, nice });
        }
    }

    /// Writes what was seen of processes that have a folder. What cannot be written is not known later.
    pub(super) fn write(&mut self, session: &Path) {
        for (pid, waiting) in self.waiting.iter_mut().filter(|(_, waiting)| !waiting.is_empty()) {
            let folder = session.join(format!("pid_{pid}"));
            if folder.is_dir() {
                let _ = append_priorities(&folder, waiting);
                waiting.clear();
            }
        }
    }
}
