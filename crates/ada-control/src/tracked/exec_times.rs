//! How long processes stood still while the programs that they ran were hooked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The sum over all execs so far.
#[derive(Default)]
pub(crate) struct ExecTimes {
    programs: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Programs that were hooked after the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookedExecs {
    /// How many.
    pub programs: u64,
    /// How long that took, one after the other.
    pub time: Duration,
}

impl ExecTimes {
    /// Adds one.
    pub(crate) fn add(&self, time: Duration) {
        self.programs.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// All so far.
    pub(crate) fn so_far(&self) -> HookedExecs {
        HookedExecs {
            programs: self.programs.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up() {
        let times = ExecTimes::default();
        [2, 3].into_iter().for_each(|time| times.add(Duration::from_millis(time)));
        assert_eq!(times.so_far(), HookedExecs { programs: 2, time: Duration::from_millis(5) });
    }
}
