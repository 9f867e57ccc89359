//! The name of a session's folder: `session_YYYYMMDD_HHMMSS`, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// The folder's name for a session that begins now. Times before 1970 count as 1970.
pub(super) fn session_name(now: SystemTime) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("session_{year:04}{month:02}{day:02}_{hour:02}{minute:02}{second:02}")
}

/// Year, month and day, so many days after 1970-01-01. Years are counted from March, so that the leap day is the last
/// of its year, in eras of 400 years, after which the calendar repeats.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_ERA: u64 = 146_097;
    let since_year_0 = days + 719_468;
    let era = since_year_0 / DAYS_OF_ERA;
    let day_of_era = since_year_0 % DAYS_OF_ERA;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, name) in [
            (0, "session_19700101_000000"),
            (951_782_399, "session_20000228_235959"),
            (951_782_400, "session_20000229_000000"),
            (1_709_251_199, "session_20240229_235959"),
            (1_735_689_599, "session_20241231_235959"),
            (4_107_542_400, "session_21000301_000000"),
        ] {
            assert_eq!(session_name(UNIX_EPOCH + Duration::from_secs(seconds)), name);
        }
    }
}
