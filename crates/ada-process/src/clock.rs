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

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The time-stamp counter.
    pub tsc: u64,
    /// Nanoseconds since boot.
    pub nanos: u64,
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
    first: ClockReading,
    since: Instant,
}

impl Calibration {
    /// The first reading.
    pub fn first(&self) -> ClockReading {
        self.first
    }

    /// Takes the second reading, at the earliest 20 ms after the first. One that was taken long `before`, since the machine has
    /// been up, makes the clock far more precise: in so short a time some tenths of a nanosecond in a million are all that can
    /// be known.
    pub fn finish(self, before: Option<ClockReading>) -> Clock {
        std::thread::sleep(Duration::from_millis(20).saturating_sub(self.since.elapsed()));
        let (first, second) = (self.first, read());
        let measured = scale(first, second);
        // The counter may have stood still or begun anew since then: in a machine that slept or was moved.
        let is_near = |scale: &u64| scale.abs_diff(measured) <= measured / NEAR;
        let of_old = before.filter(|before| before.tsc < first.tsc && before.nanos < first.nanos);
        let scale = of_old.map(|before| scale(before, second)).filter(is_near).unwrap_or(measured);
        Clock { tsc: first.tsc, nanos: first.nanos, scale }
    }
}

/// Two measures of the counter's rate are of the same clock if they differ by less than one part in so many.
const NEAR: u64 = 20_000;

/// Nanoseconds per tick between two readings, scaled by 2^32.
fn scale(first: ClockReading, second: ClockReading) -> u64 {
    let ticks = second.tsc.saturating_sub(first.tsc).max(1);
    let nanos = second.nanos.saturating_sub(first.nanos);
    ((u128::from(nanos) << 32) / u128::from(ticks)) as u64
}

/// Both clocks at one moment: of several tries the quickest, which was not interrupted.
fn read() -> ClockReading {
    let mut best = (u64::MAX, ClockReading { tsc: 0, nanos: 0 });
    for _ in 0..16 {
        let before = time_stamp();
        let nanos = boot_time();
        let after = time_stamp();
        let took = after.saturating_sub(before);
        if took < best.0 {
            best = (took, ClockReading { tsc: before + took / 2, nanos });
        }
    }
    best.1
}

/// When the trace's clock was 0, in nanoseconds of Unix time, by the wall clock as it is now.
pub fn unix_epoch() -> u64 {
    let wall = clock_gettime(ClockId::Realtime);
    let now = wall.tv_sec as u64 * 1_000_000_000 + wall.tv_nsec as u64;
    now.saturating_sub(boot_time())
}

/// The time now, on the trace's clock.
pub fn boot_time() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_system_clock() {
        let clock = Clock::begin().finish(None);
        std::thread::sleep(Duration::from_millis(30));
        let (here, there) = (clock.at(time_stamp()).0, boot_time());
        assert!(here.abs_diff(there) < 1_000_000, "{here} and {there}");
    }

    #[test]
    fn an_old_reading_counts_only_if_it_is_of_the_same_clock() {
        let first = read();
        std::thread::sleep(Duration::from_millis(40));
        let measured = scale(first, read());
        let calibration = || Calibration { first, since: Instant::now() };
        let ten_seconds_before = |scale: u64| {
            let ticks = ((10_000_000_000_u128 << 32) / u128::from(scale)) as u64;
            ClockReading { tsc: first.tsc - ticks, nanos: first.nanos - 10_000_000_000 }
        };
        // A rate that differs by ten in a million, as an inexact measure does, is believed; one by ten in a thousand is not.
        let near = measured + measured / 100_000;
        let clock = calibration().finish(Some(ten_seconds_before(near)));
        assert!(clock.scale.abs_diff(near) <= near / 500_000, "{clock:?} and {near}");
        let far = measured + measured / 100;
        let clock = calibration().finish(Some(ten_seconds_before(far)));
        assert!(clock.scale.abs_diff(measured) <= measured / NEAR, "{clock:?} and {measured}");
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
