//! Looks what the descriptors of the traced processes stand for, and writes it down.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use ada_event::ProcessId;
use ada_format::atf::{SeenDescriptor, append_descriptors, trim_descriptors};
use ada_process::procfs::OpenDescriptor;
use ada_process::{Clock, SocketPeers};

use super::memory_recorder::MemoryRecorder;
use super::priority_recorder::PriorityRecorder;
use crate::drain::{Used, UsedThing};
use crate::tracked::Programs;

/// What is kept of a process that has no folder yet, and may never get one.
const MOST_WAITING: usize = 1 << 12;

/// Looks at descriptors that are asked for.
pub(super) struct DescriptorRecorder {
    session: PathBuf,
    asked: Receiver<Used>,
    memory: MemoryRecorder,
    priorities: PriorityRecorder,
    peers: SocketPeers,
    waiting: HashMap<ProcessId, Vec<SeenDescriptor>>,
    /// How many bytes a process may have, if only the newest part is kept.
    most_bytes: Option<u64>,
}

impl DescriptorRecorder {
    /// `ring` where only so many bytes are kept.
    pub(super) fn new(session: PathBuf, asked: Receiver<Used>, ring: Option<u64>) -> Self {
        /// What is told of descriptors has this part of a ring, for each process.
        const PART: u64 = 64;
        let most_bytes = ring.map(|bytes| bytes / PART);
        let (memory, priorities) = (MemoryRecorder::default(), PriorityRecorder::default());
        Self { session, asked, memory, priorities, peers: SocketPeers::open(), waiting: HashMap::new(), most_bytes }
    }

    /// Looks until nothing more is to come.
    pub(super) fn run(mut self, clock: Clock, programs: &Programs) {
        const QUIET: Duration = Duration::from_millis(10);
        loop {
            let has_ended = programs.phase.has_ended();
            match self.asked.recv_timeout(QUIET) {
                Ok(first) => self.look(clock, first),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            // What cannot be written is not known later, and nothing else depends on it.
            self.write();
            self.memory.write(&self.session);
            self.priorities.write(&self.session);
            if has_ended {
                return;
            }
        }
    }

    /// Looks at one, and at all others that are asked for by now.
    fn look(&mut self, clock: Clock, first: Used) {
        let mut sockets: HashMap<ProcessId, Vec<(u64, SeenDescriptor)>> = HashMap::new();
        for Used { pid, what } in std::iter::once(first).chain(self.asked.try_iter()) {
            let descriptor = match what {
                UsedThing::Descriptor(descriptor) => descriptor,
                UsedThing::Lock(address) => {
                    self.memory.look(clock, pid, address);
                    continue;
                }
                UsedThing::Thread(thread) => {
                    self.priorities.look(clock, pid, thread);
                    continue;
                }
                UsedThing::Unmapped(start, length) => {
                    self.memory.forget(pid, start, length);
                    continue;
                }
            };
            let from = clock.now();
            let Some(open) = OpenDescriptor::read(pid, descriptor) else { continue };
            let access = [(open.access.reads, "r"), (open.access.writes, "w")];
            let access = access.iter().filter(|(has, _)| *has).map(|(_, letter)| *letter).collect();
            let seen = SeenDescriptor {
                from,
                to: clock.now(),
                descriptor,
                name: open.name,
                access,
                ..SeenDescriptor::default()
            };
            match open.socket {
                Some(number) => sockets.entry(pid).or_default().push((number, seen)),
                None => self.waiting.entry(pid).or_default().push(seen),
            }
        }
        for (pid, sockets) in sockets {
            let numbers: Vec<u64> = sockets.iter().map(|(number, _)| *number).collect();
            let known = self.peers.of(pid, &numbers);
            let waiting = self.waiting.entry(pid).or_default();
            waiting.extend(sockets.into_iter().map(|(number, mut seen)| {
                if let Some(facts) = known.get(&number) {
                    seen.form = facts.form.to_owned();
                    (seen.local, seen.remote) = (facts.local.clone(), facts.remote.clone());
                    seen.peer = facts.peer.map(|peer| format!("socket:[{peer}]")).unwrap_or_default();
                }
                seen
            }));
        }
    }

    fn write(&mut self) {
        for (pid, seen) in self.waiting.iter_mut().filter(|(_, seen)| !seen.is_empty()) {
            let folder = self.session.join(format!("pid_{pid}"));
            if folder.is_dir() {
                let written = append_descriptors(&folder, seen);
                seen.clear();
                if let Some(most) = self.most_bytes.filter(|_| written.is_ok()) {
                    let _ = trim_descriptors(&folder, most);
                }
            } else if seen.len() > MOST_WAITING {
                seen.clear();
            }
        }
    }
}
