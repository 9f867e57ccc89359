//! How long hooking may take.

use std::time::{Duration, Instant};

use ada_process::maps::LoadedFile;

use crate::error::ControlError;

/// What planning and patching takes per mapped byte on a slow machine, several times what was ever measured.
const NANOSECONDS_PER_BYTE: u64 = 100;
/// For everything else, and for a machine that is busy otherwise.
const TOLERANCE: Duration = Duration::from_secs(10);

/// The moment at which hooking is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    allowed: Duration,
    at: Option<Instant>,
}

impl Deadline {
    /// From the work that is estimated for these files, unless the user has said how long.
    pub(crate) fn new(started: Instant, files: &[LoadedFile], allowance: Option<Duration>) -> Self {
        let bytes: u64 = files.iter().map(|file| file.end - file.start).sum();
        let allowed = allowance.unwrap_or(Duration::from_nanos(bytes * NANOSECONDS_PER_BYTE) + TOLERANCE);
        Self { allowed, at: started.checked_add(allowed) }
    }

    /// None: for a thread that waits for its library there is no way back.
    pub(crate) fn never() -> Self {
        Self { allowed: Duration::MAX, at: None }
    }

    pub(crate) fn allowed(&self) -> Duration {
        self.allowed
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.at.is_some_and(|at| Instant::now() >= at)
    }

    pub(crate) fn check(&self) -> Result<(), ControlError> {
        if self.has_passed() { Err(ControlError::StartUpTimeout { allowed: self.allowed }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_the_work_and_yields_to_the_user() {
        let file = |end| LoadedFile { path: "x".into(), start: 0, end };
        let now = Instant::now();
        let small = Deadline::new(now, &[file(4096)], None);
        let large = Deadline::new(now, &[file(4096), file(100 << 20)], None);
        assert!(small.allowed() < large.allowed() && !small.has_passed());
        let allowance = Deadline::new(now, &[file(100 << 20)], Some(Duration::ZERO));
        assert!(allowance.has_passed() && matches!(allowance.check(), Err(ControlError::StartUpTimeout { .. })));
        assert!(!Deadline::never().has_passed());
    }
}
