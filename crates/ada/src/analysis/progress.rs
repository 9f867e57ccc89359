//! A line on a terminal for those who wait longer than a second.

use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::exit::say;

/// Counts events that several threads have analysed.
pub(super) struct Progress {
    total: u64,
    done: AtomicU64,
    begun: Instant,
    shown: Mutex<Option<Instant>>,
    is_terminal: bool,
}

impl Progress {
    pub(super) fn new(total: u64) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { total, done: AtomicU64::new(0), begun: Instant::now(), shown: Mutex::new(None), is_terminal }
    }

    pub(super) fn advance(&self, events: u64) {
        let done = self.done.fetch_add(events, Ordering::Relaxed) + events;
        if !self.is_terminal || self.begun.elapsed() < Duration::from_secs(1) {
            return;
        }
        // Whoever finds it locked need not wait: somebody else is showing just now.
        if let Ok(mut shown) = self.shown.try_lock()
            && shown.is_none_or(|shown| shown.elapsed() > Duration::from_millis(100))
        {
            *shown = Some(Instant::now());
            say(format_args!("\ranalysing: {} %\x1b[K", done * 100 / self.total.max(1)));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.lock().is_ok_and(|shown| shown.is_some()) {
            say(format_args!("\r\x1b[K"));
        }
    }
}
