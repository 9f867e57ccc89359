//! Days as people count them.

/// Year, month and day, so many days after 1970-01-01. Years are counted from March, so that the leap day is the last
/// of its year, in eras of 400 years, after which the calendar repeats.
pub const fn civil_from_days(days_since_1970: u64) -> (u64, u64, u64) {
    const DAYS_FROM_MARCH_OF_YEAR_0: u64 = 719_468;
    const DAYS_OF_ERA: u64 = 146_097;
    // Whole eras are taken off first, so that no day is too late to count.
    let days = days_since_1970 % DAYS_OF_ERA + DAYS_FROM_MARCH_OF_YEAR_0;
    let era = days / DAYS_OF_ERA + days_since_1970 / DAYS_OF_ERA;
    let day_of_era = days % DAYS_OF_ERA;
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
    fn days_follow_each_other_through_all_leap_years_of_an_era() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..146_097 + 365 {
            assert_eq!(civil_from_days(days), (year, month, day));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn no_day_is_too_late() {
        assert!(civil_from_days(u64::MAX).0 > 1 << 55);
    }
}
