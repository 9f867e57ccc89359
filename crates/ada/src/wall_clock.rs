//! Moments as people write them: RFC 3339, UTC, to the nanosecond.

use std::fmt;

use ada_format::heph::UnixNanos;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// Prints a moment as `2021-01-08T13:48:54.118010000Z`.
pub(crate) struct WallClock(pub(crate) UnixNanos);

impl fmt::Display for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0.0 / NANOS_PER_SECOND, self.0.0 % NANOS_PER_SECOND);
        let (year, month, day) = date(seconds / SECONDS_PER_DAY);
        let second = seconds % SECONDS_PER_DAY;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
    }
}

/// Year, month and day of a day counted from 1 January 1970.
///
/// Counts in years that start on 1 March, so that the leap day is the last of its year, and in eras of 400 years,
/// which all have 146,097 days.
const fn date(days_since_1970: u64) -> (u64, u64, u64) {
    const DAYS_FROM_MARCH_OF_YEAR_0: u64 = 719_468;
    const DAYS_PER_ERA: u64 = 146_097;

    let days = days_since_1970 + DAYS_FROM_MARCH_OF_YEAR_0;
    let (era, day_of_era) = (days / DAYS_PER_ERA, days % DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
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
