//! The processes that a traced one has made, and how they ended, from the kernel's proc connector.
//!
//! A process that dies before its first call leaves no record, and is gone before it can be looked at. The proc connector
//! reports every fork and every exit to whoever may listen. Where ada may not, in a container for instance, such children
//! are missed, and the session says so.

mod event_filter;
mod event_socket;
mod process_event;
mod process_tree;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use self::event_socket::EventSocket;
use self::process_event::ProcessEvent;
use self::process_tree::ProcessTree;
use crate::end::End;
use crate::procfs::ProcessDir;
use crate::this_process::this_process;
use ada_event::ProcessId;

pub use self::process_tree::Child;

/// Listens for events of a session's processes.
pub struct ProcConnector {
    socket: EventSocket,
    tree: Mutex<ProcessTree>,
    /// There was no room for everything that the kernel had to send.
    has_lost_events: AtomicBool,
}

/// How long the kernel may take to report an exit that is known.
const PATIENCE: Duration = Duration::from_secs(1);

impl ProcConnector {
    /// Listens from now on for what becomes of a process and its children.
    pub fn listen(first: ProcessId) -> io::Result<Self> {
        let (tree, has_lost_events) = (Mutex::new(ProcessTree::new(first)), AtomicBool::new(false));
        Ok(Self { socket: EventSocket::open(first)?, tree, has_lost_events })
    }

    fn tree(&self) -> MutexGuard<'_, ProcessTree> {
        self.tree.lock().expect("nobody panics with the lock")
    }

    /// Receives the events that there are, and waits so long for the first.
    pub fn receive(&self, time: Duration) {
        let mut time = time;
        loop {
            match self.socket.next(time) {
                Ok(Some(event)) if self.is_elsewhere(&event) => {}
                Ok(Some(event)) => self.tree().take(event),
                Ok(None) => return,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.has_lost_events.store(true, Ordering::Relaxed);
                }
                Err(_) => return,
            }
            time = Duration::ZERO;
        }
    }

    /// Receives events until the exit of each of these processes is known, which have ended, but not for ever.
    pub fn receive_exits(&self, ended: &[ProcessId]) {
        let until = Instant::now() + PATIENCE;
        while ended.iter().any(|pid| self.runs(*pid)) && Instant::now() < until {
            self.receive(Duration::from_millis(5));
        }
    }

    /// Whether a traced process has a child in a PID namespace of its own, which records under another id.
    fn is_elsewhere(&self, event: &ProcessEvent) -> bool {
        let ProcessEvent::Forked { parent, child } = *event else { return false };
        let id_count = |pid| ProcessDir::of(pid).status().map(|status| status.id_count()).ok();
        let is_known = self.tree().knows(parent);
        is_known && id_count(child).zip(id_count(this_process())).is_some_and(|(its, own)| its > own)
    }

    /// Notes that a process is about to run a program that is traced.
    pub fn note_followed(&self, pid: ProcessId) {
        // The kernel has sent that it was made, which may not have been read.
        self.receive(Duration::ZERO);
        self.tree().note_followed(pid);
    }

    /// The processes that were made since the last call.
    pub fn take_new_children(&self) -> Vec<Child> {
        self.tree().take_new_children()
    }

    /// The processes that have become another user's since the last call.
    pub fn take_changed_users(&self) -> Vec<ProcessId> {
        self.tree().take_changed_users()
    }

    /// Whether a process runs a program that is not traced, or has not been hooked yet.
    pub fn runs_untraced_program(&self, pid: ProcessId) -> bool {
        self.tree().runs_untraced_program(pid)
    }

    /// The processes that are not known to have ended.
    pub fn running(&self) -> Vec<ProcessId> {
        self.tree().running()
    }

    /// Whether a process is known and has not ended, as far as events report.
    pub fn runs(&self, pid: ProcessId) -> bool {
        self.tree().runs(pid)
    }

    /// How a process ended, if it has.
    pub fn end_of(&self, pid: ProcessId) -> Option<End> {
        self.tree().end_of(pid)
    }

    /// Whether the kernel had more to send than there was room for.
    pub fn has_lost_events(&self) -> bool {
        self.has_lost_events.load(Ordering::Relaxed)
    }
}
