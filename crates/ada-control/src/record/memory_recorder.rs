//! Looks which memory with locks in it is shared with other processes, and writes it down.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use ada_event::ProcessId;
use ada_format::atf::{SeenMemory, append_shared_memory};
use ada_process::Clock;
use ada_process::maps::MappingAround;

/// What is written of a process at most, and kept of one that has no folder yet.
const MOST_LINES: usize = 1 << 14;
/// Mappings of a process that are remembered.
const MOST_KNOWN: usize = 1 << 12;

/// Looks at memory that is asked for.
#[derive(Default)]
pub(super) struct MemoryRecorder {
    processes: HashMap<ProcessId, ProcessMemory>,
}

/// What is known of a process.
#[derive(Default)]
struct ProcessMemory {
    /// Mappings that were looked at, and are what they were.
    known: Vec<Range<u64>>,
    waiting: Vec<SeenMemory>,
    lines: usize,
}

impl MemoryRecorder {
    /// Looks what is at an address, once for a mapping.
    pub(super) fn look(&mut self, clock: Clock, pid: ProcessId, address: u64) {
        let process = self.processes.entry(pid).or_default();
        if process.known.iter().any(|range| range.contains(&address)) || process.lines >= MOST_LINES {
            return;
        }
        let from = clock.now();
        let Ok(Some(MappingAround { range, shared })) = MappingAround::of(pid, address) else { return };
        if process.known.len() >= MOST_KNOWN {
            process.known.clear();
        }
        process.known.push(range.clone());
        process.lines += 1;
        // What is nobody else's is told too: then it is known that nothing is missing.
        let (offset, file, name) = shared.map(|file| (file.offset, file.id, file.name)).unwrap_or_default();
        process.waiting.push(SeenMemory { from, to: clock.now(), range, offset, file, name });
    }

    /// Some addresses are something else now.
    pub(super) fn forget(&mut self, pid: ProcessId, start: u64, length: u64) {
        let end = start.saturating_add(length);
        if let Some(process) = self.processes.get_mut(&pid) {
            process.known.retain(|range| range.end <= start || range.start >= end);
        }
    }

    /// Writes what was seen of processes that have a folder. What cannot be written is not known later.
    pub(super) fn write(&mut self, session: &Path) {
        for (pid, process) in self.processes.iter_mut().filter(|(_, process)| !process.waiting.is_empty()) {
            let folder = session.join(format!("pid_{pid}"));
            if folder.is_dir() {
                let _ = append_shared_memory(&folder, &process.waiting);
                process.waiting.clear();
            }
        }
    }
}
