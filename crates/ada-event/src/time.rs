//! Trace time.

use core::fmt;
use core::ops::Sub;

/// Nanoseconds on the trace's clock (`CLOCK_BOOTTIME` on Linux): monotonic, and running through sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct TraceNanos(pub u64);

impl TraceNanos {
    /// The last moment there is.
    pub const MAX: Self = Self(u64::MAX);

    /// Nanoseconds from `earlier` to this moment; 0 where the clock went backwards, as damaged traces can claim.
    #[inline]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment so many nanoseconds later; the last one there is where that would be later still.
    #[inline]
    pub const fn saturating_add(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// The moment so many nanoseconds earlier; the first one there is where that would be earlier still.
    #[inline]
    pub const fn saturating_sub(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_sub(nanoseconds))
    }
}

/// Nanoseconds from one moment to a later one. Where the clock may have gone backwards, use [`TraceNanos::since`].
impl Sub for TraceNanos {
    type Output = u64;

    #[inline]
    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

impl fmt::Display for TraceNanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// For columns and records, which have numbers.
impl From<TraceNanos> for u64 {
    #[inline]
    fn from(time: TraceNanos) -> Self {
        time.0
    }
}
