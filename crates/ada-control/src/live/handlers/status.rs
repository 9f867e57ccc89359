//! `ada ps`: the status of a trace.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ada_event::ProcessId;
use ada_process::this_process;

use crate::live::{Answer, Handler, Request, Status};
use crate::progress::Progress;

/// Keeps the latest progress for clients, and passes it on.
pub(crate) struct StatusHandler<'a> {
    next: &'a dyn Progress,
    pid: ProcessId,
    command: Vec<String>,
    since: SystemTime,
    session: PathBuf,
    events: AtomicU64,
    threads: AtomicU64,
    dropped: AtomicU64,
}

impl<'a> StatusHandler<'a> {
    /// A trace that begins now.
    pub(crate) fn new(next: &'a dyn Progress, pid: ProcessId, command: Vec<String>, session: PathBuf) -> Self {
        Self {
            next,
            pid,
            command,
            since: SystemTime::now(),
            // The client may run in another folder.
            session: std::path::absolute(&session).unwrap_or(session),
            events: AtomicU64::new(0),
            threads: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }
}

impl Progress for StatusHandler<'_> {
    fn hooking(&self, files: usize, allowed: Duration) {
        self.next.hooking(files, allowed);
    }

    fn running(&self) {
        self.next.running();
    }

    fn recorded(&self, events: u64, threads: usize, dropped: u64) {
        self.events.store(events, Ordering::Relaxed);
        self.threads.store(threads as u64, Ordering::Relaxed);
        self.dropped.store(dropped, Ordering::Relaxed);
        self.next.recorded(events, threads, dropped);
    }
}

impl Handler for StatusHandler<'_> {
    fn answer(&self, request: &Request) -> Option<Answer> {
        let Request::Status = request else { return None };
        Some(Answer::Status(Status {
            pid: self.pid.0,
            command: self.command.clone(),
            since_unix_ms: self.since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
            events: self.events.load(Ordering::Relaxed),
            threads: self.threads.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            session: self.session.clone(),
            recorder: this_process().0,
        }))
    }
}
