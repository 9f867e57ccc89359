//! How much work hooking may be.
//!
//! What is measured is the processor time of the threads that hook, since a machine that is busy with other things makes a
//! healthy start take any time, and a start that goes wrong works for ever. A limit that the user sets is wall-clock time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ada_process::maps::LoadedFile;
use ada_process::thread_cpu_time;

use crate::error::ControlError;

/// What planning and patching takes per mapped byte on a slow machine, several times what was ever measured.
const NANOSECONDS_PER_BYTE: u64 = 100;
/// For everything else.
const TOLERANCE: Duration = Duration::from_secs(10);

/// When hooking is given up.
#[derive(Debug)]
pub(crate) struct Deadline {
    allowed: Duration,
    /// The moment, if the user has set a limit.
    at: Option<Instant>,
    /// Nanoseconds of processor time that went into it so far.
    worked: AtomicU64,
}

impl Deadline {
    /// From the work that is estimated for these files, unless the user has set a limit.
    pub(crate) fn new(started: Instant, files: &[LoadedFile], allowance: Option<Duration>) -> Self {
        let bytes: u64 = files.iter().map(|file| file.end - file.start).sum();
        let allowed = allowance.unwrap_or(Duration::from_nanos(bytes * NANOSECONDS_PER_BYTE) + TOLERANCE);
        Self { allowed, at: allowance.and_then(|allowance| started.checked_add(allowance)), worked: AtomicU64::new(0) }
    }

    /// None: for a thread that waits for its library there is no way back.
    pub(crate) fn never() -> Self {
        Self { allowed: Duration::MAX, at: None, worked: AtomicU64::new(0) }
    }

    /// Half of the time that remains, if the user has set a limit: for what may be done without.
    pub(crate) fn half_of_rest(&self) -> Option<Duration> {
        self.at.map(|at| at.saturating_duration_since(Instant::now()) / 2)
    }

    pub(crate) fn allowed(&self) -> Duration {
        self.allowed
    }

    /// Does a part of the work, on the calling thread.
    pub(crate) fn work<T>(&self, part: impl FnOnce() -> T) -> T {
        let before = thread_cpu_time();
        let done = part();
        let took = thread_cpu_time().saturating_sub(before);
        self.worked.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        done
    }

    pub(crate) fn has_passed(&self) -> bool {
        let has_worked_enough = || Duration::from_nanos(self.worked.load(Ordering::Relaxed)) >= self.allowed;
        self.at.map_or_else(has_worked_enough, |at| Instant::now() >= at)
    }

    pub(crate) fn check(&self) -> Result<(), ControlError> {
        if self.has_passed() { Err(ControlError::StartUpTimeout { allowed: self.allowed }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use ada_event::RuntimeAddr;

    use super::*;

    #[test]
    fn it_grows_with_the_work_and_yields_to_the_user() {
        let file = |end| LoadedFile { path: "x".into(), start: RuntimeAddr(0), end: RuntimeAddr(end) };
        let now = Instant::now();
        let small = Deadline::new(now, &[file(4096)], None);
        let large = Deadline::new(now, &[file(4096), file(100 << 20)], None);
        assert!(small.allowed() < large.allowed() && !small.has_passed());
        let allowance = Deadline::new(now, &[file(100 << 20)], Some(Duration::ZERO));
        assert!(allowance.has_passed() && matches!(allowance.check(), Err(ControlError::StartUpTimeout { .. })));
        assert!(!Deadline::never().has_passed());
    }

    #[test]
    fn time_passes_by_work_and_not_by_the_clock() {
        let an_hour_ago = Instant::now().checked_sub(Duration::from_secs(3600)).unwrap_or_else(Instant::now);
        let deadline = Deadline { allowed: Duration::from_millis(20), ..Deadline::new(an_hour_ago, &[], None) };
        deadline.work(|| std::thread::sleep(Duration::from_millis(40)));
        assert!(!deadline.has_passed());
        deadline.work(|| {
            let start = thread_cpu_time();
            while thread_cpu_time() < start + Duration::from_millis(25) {}
        });
        assert!(deadline.has_passed());
    }
}
