//! The time of events: from the processor's time-stamp counter to nanoseconds since boot.

use std::time::{Duration, Instant};

use ada_event::TraceNanos;
use rustix::time::{ClockId, clock_gettime};

use crate::arch::time_stamp;

/// A line through two readings of both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tsc: u64,
    nanos: u64,
    /// Nanoseconds per tick, scaled by 2^32.
    scale: u64,
}

#[derive(Clone, Copy)]
struct Reading {
    tsc: u64,
    nanos: u64,
}

impl Clock {
    /// Takes a first reading now.
    pub fn begin() -> Calibration {
        Calibration { first: read(), since: Instant::now() }
    }

    /// The time now.
    pub fn now(&self) -> TraceNanos {
        self.at(time_stamp())
    }

    /// The time of a counter value. Values from before the first reading are before it, too.
    #[inline]
    pub fn at(&self, tsc: u64) -> TraceNanos {
        // The common case, for every event: half of the work.
        if let Some(ticks) = tsc.checked_sub(self.tsc) {
            let since = (u128::from(ticks) * u128::from(self.scale)) >> 32;
            return TraceNanos(self.nanos.wrapping_add(since as u64));
        }
        let ticks = i128::from(tsc) - i128::from(self.tsc);
        TraceNanos((i128::from(self.nanos) + ((ticks * i128::from(self.scale)) >> 32)).max(0) as u64)
    }

    /// A clock that ticks every nanosecond from a time on.
    pub fn in_nanoseconds(nanos: u64) -> Self {
        Self { tsc: 0, nanos, scale: 1 << 32 }
    }

    /// How many ticks a time takes; `u64::MAX` for one that is too long to count.
    pub fn ticks(&self, time: Duration) -> u64 {
        let ticks = time.as_nanos().min(u128::from(u64::MAX)) << 32;
        u64::try_from(ticks / u128::from(self.scale.max(1))).unwrap_or(u64::MAX)
    }
}

/// A calibration under way. The longer between its readings, the more precise the clock.
#[derive(Clone, Copy)]
pub struct Calibration {
    first: Reading,
    since: Instant,
}

impl Calibration {
    /// Takes the second reading, at the earliest 20 ms after the first.
    pub fn finish(self) -> Clock {
        std::thread::sleep(Duration::from_millis(20).saturating_sub(self.since.elapsed()));
        let second = read();
        let ticks = second.tsc.saturating_sub(self.first.tsc).max(1);
        let nanos = second.nanos.saturating_sub(self.first.nanos);
        let scale = ((u128::from(nanos) << 32) / u128::from(ticks)) as u64;
        Clock { tsc: self.first.tsc, nanos: self.first.nanos, scale }
    }
}

/// Both clocks at one moment: of several tries the quickest, which was not interrupted.
fn read() -> Reading {
    let mut best = (u64::MAX, Reading { tsc: 0, nanos: 0 });
    for _ in 0..16 {
        let before = time_stamp();
        let nanos = boot_time();
        let after = time_stamp();
        let took = after.saturating_sub(before);
        if took < best.0 {
            best = (took, Reading { tsc: before + took / 2, nanos });
        }
    }
    best.1
}

fn boot_time() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_system_clock() {
        let clock = Clock::begin().finish();
        std::thread::sleep(Duration::from_millis(30));
        let (here, there) = (clock.at(time_stamp()).0, boot_time());
        assert!(here.abs_diff(there) < 1_000_000, "{here} and {there}");
    }

    #[test]
    fn it_never_goes_backwards() {
        let clock = Clock { tsc: 1_000, nanos: 5_000, scale: 1 << 31 };
        assert_eq!(clock.at(1_000).0, 5_000);
        assert_eq!(clock.at(1_002).0, 5_001);
        assert_eq!(clock.at(998).0, 4_999);
        assert_eq!(clock.ticks(Duration::from_nanos(7)), 14);
        assert_eq!(clock.ticks(Duration::MAX), u64::MAX);
        assert!((0..5_000).zip(1..).all(|(a, b)| clock.at(a) <= clock.at(b)));
    }
}
