//! The line on the terminal that shows how a trace goes on.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ada_control::Progress;

use crate::exit::say;

const EVERY: Duration = Duration::from_millis(500);

/// Writes to stderr, and only where that is a terminal.
pub(crate) struct LiveLine {
    quiet: bool,
    shown: Option<Mutex<Shown>>,
}

struct Shown {
    at: Instant,
    events: u64,
    is_on_screen: bool,
}

impl LiveLine {
    pub(crate) fn new(quiet: bool) -> Self {
        let wanted = !quiet && std::io::stderr().is_terminal();
        let shown = Shown { at: Instant::now(), events: 0, is_on_screen: false };
        Self { quiet, shown: wanted.then_some(Mutex::new(shown)) }
    }

    fn show(&self, line: &str) {
        let _ = write!(std::io::stderr().lock(), "\r\x1b[K{line}");
    }
}

impl Progress for LiveLine {
    fn cleaned_up(&self, processes: usize) {
        if !self.quiet {
            let others = if processes > 1 { format!(" (and {} more)", processes - 1) } else { String::new() };
            say(format_args!(
                "ada: the process{others} had the hooks of an ada that was killed; they were removed first\n"
            ));
        }
    }

    fn hooking(&self, files: usize, allowed: Duration) {
        if let Some(shown) = &self.shown {
            shown.lock().expect("printing does not panic").is_on_screen = true;
            let limit = if allowed.is_zero() {
                String::new()
            } else {
                format!(", {:.0} s of work at most", allowed.as_secs_f64())
            };
            self.show(&format!("ada: hooking {files} files{limit}"));
        }
    }

    /// From here on the screen is the program's, until it has run for a while.
    fn running(&self) {
        if let Some(shown) = &self.shown {
            *shown.lock().expect("printing does not panic") =
                Shown { at: Instant::now(), events: 0, is_on_screen: false };
            self.show("");
        }
    }

    fn recorded(&self, events: u64, threads: usize, dropped: u64) {
        let Some(shown) = &self.shown else { return };
        let mut shown = shown.lock().expect("printing does not panic");
        let elapsed = shown.at.elapsed();
        if elapsed < EVERY {
            return;
        }
        let rate = (events - shown.events) as f64 / elapsed.as_secs_f64() / 1e6;
        self.show(&format!("ada: {rate:.2} M events/s, {events} events, {dropped} dropped, {threads} threads"));
        *shown = Shown { at: Instant::now(), events, is_on_screen: true };
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        if let Some(shown) = &self.shown
            && shown.lock().is_ok_and(|shown| shown.is_on_screen)
        {
            self.show("");
        }
    }
}
