//! When to stop listening: a signal, the time, or enough packets.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What is on its way when the listener is asked to stop is still taken in, for this long at most.
const GRACE: Duration = Duration::from_secs(2);
/// The exit code of a shell's command that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A request to stop, shared by all threads.
#[derive(Clone)]
pub(super) struct Stop {
    asked: Arc<AtomicBool>,
    seen: Arc<OnceLock<Instant>>,
    deadline: Option<Instant>,
}

impl Stop {
    /// Stops at the first SIGINT or SIGTERM, or after `duration`. A second signal ends the process at once.
    pub(super) fn on_signals(duration: Option<Duration>) -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        let deadline = duration.and_then(|duration| Instant::now().checked_add(duration));
        Ok(Self { asked, seen: Arc::new(OnceLock::new()), deadline })
    }

    pub(super) fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether to stop once nothing remains to be read.
    pub(super) fn is_asked(&self) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.ask();
        }
        let asked = self.asked.load(Ordering::Relaxed);
        if asked {
            self.seen.get_or_init(Instant::now);
        }
        asked
    }

    /// Whether to stop even though there is more to read.
    pub(super) fn is_urgent(&self) -> bool {
        self.is_asked() && self.seen.get().is_some_and(|seen| seen.elapsed() >= GRACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_runs_out() {
        let stop = Stop::on_signals(Some(Duration::ZERO)).expect("signals can be handled");
        assert!(stop.is_asked());
        assert!(!stop.is_urgent());
    }
}
