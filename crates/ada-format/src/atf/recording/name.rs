//! The name of a session's folder: `session_YYYYMMDD_HHMMSS`, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use ada_event::civil_from_days;

/// The folder's name for a session that begins now. Times before 1970 count as 1970.
pub(super) fn session_name(now: SystemTime) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("session_{year:04}{month:02}{day:02}_{hour:02}{minute:02}{second:02}")
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
