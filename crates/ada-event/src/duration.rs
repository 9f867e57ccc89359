//! Durations as people write them: `250us`, `1.5s`, `2h`.

use core::fmt;
use core::time::Duration;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Reads a number with its unit: `ns`, `us`, `ms`, `s`, `m` or `min`, `h`. None where it is not that, or too long.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let nanos_per_unit = match &text[number.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS_PER_SECOND,
        "m" | "min" => 60 * NANOS_PER_SECOND,
        "h" => 60 * 60 * NANOS_PER_SECOND,
        _ => return None,
    };
    // A whole number is exact, however large.
    if let Ok(whole) = number.parse::<u64>() {
        let nanos = u128::from(whole) * u128::from(nanos_per_unit);
        let seconds = u64::try_from(nanos / u128::from(NANOS_PER_SECOND)).ok()?;
        return Some(Duration::new(seconds, (nanos % u128::from(NANOS_PER_SECOND)) as u32));
    }
    let seconds_per_unit = nanos_per_unit as f64 / NANOS_PER_SECOND as f64;
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds_per_unit).ok()
}

/// Writes a duration so that [`parse_duration`] reads the same: in the largest unit up to seconds that makes it a whole
/// number.
pub fn write_duration(f: &mut fmt::Formatter<'_>, duration: Duration) -> fmt::Result {
    let nanos = duration.as_nanos();
    let (divisor, unit) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
        .into_iter()
        .find(|(divisor, _)| nanos.is_multiple_of(*divisor))
        .unwrap_or((1, "ns"));
    write!(f, "{}{unit}", nanos / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Written(Duration);

    impl fmt::Display for Written {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_duration(f, self.0)
        }
    }

    #[test]
    fn every_unit_is_read() {
        for (text, nanos) in [
            ("7ns", 7),
            ("250us", 250_000),
            ("500ms", 500_000_000),
            ("1.5s", 1_500_000_000),
            ("30s", 30_000_000_000),
            ("2m", 120_000_000_000),
            ("2min", 120_000_000_000),
            ("0.5h", 1_800_000_000_000),
            ("2h", 7_200_000_000_000),
            ("18446744073709551615ns", u64::MAX),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn units_are_needed() {
        for wrong in
            ["", "5", "1.5", "s", "ms", "-1s", "5 s", "1d", "1e99s", "18446744073709551615h", "nans", "infs", "nan"]
        {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_are_written_as_they_are_read() {
        extern crate std;
        use std::string::ToString;
        for text in ["0s", "50ms", "2s", "1500us", "7ns", "7200s"] {
            assert_eq!(Written(parse_duration(text).unwrap()).to_string(), text);
        }
    }
}
