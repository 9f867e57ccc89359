//! Moments as people write them: RFC 3339, UTC, to the nanosecond.

use std::fmt;

use ada_event::civil_from_days;
use ada_format::heph::UnixNanos;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// Prints a moment as `2021-01-08T13:48:54.118010000Z`.
pub(crate) struct WallClock(pub(crate) UnixNanos);

impl fmt::Display for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0.0 / NANOS_PER_SECOND, self.0.0 % NANOS_PER_SECOND);
        let (year, month, day) = civil_from_days(seconds / SECONDS_PER_DAY);
        let second = seconds % SECONDS_PER_DAY;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        let print = |nanos| WallClock(UnixNanos(nanos)).to_string();
        assert_eq!(print(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(print(1_610_113_734_118_010_000), "2021-01-08T13:48:54.118010000Z");
        assert_eq!(print(951_782_400_000_000_001), "2000-02-29T00:00:00.000000001Z");
        assert_eq!(print(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }
}
