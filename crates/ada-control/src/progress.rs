//! The progress of a running trace.

use std::time::Duration;

/// Receives the progress of a trace. Called from several threads.
pub trait Progress: Sync {
    /// The program is loaded, and its files are about to be hooked; that may take so long.
    fn hooking(&self, files: usize, allowed: Duration) {
        let _ = (files, allowed);
    }
    /// So many processes had hooks of an ada that was killed; these are removed.
    fn cleaned_up(&self, processes: usize) {
        let _ = processes;
    }
    /// The program runs.
    fn running(&self) {}
    /// So many events were written, on so many threads, and so many were given up.
    fn recorded(&self, events: u64, threads: usize, dropped: u64) {
        let _ = (events, threads, dropped);
    }
}

/// Hears nothing.
impl Progress for () {}
