//! Times as users write them.

use std::fmt;
use std::time::Duration;

/// A time with its unit.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds_per_unit = match &text[digits.len()..] {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        "m" | "min" => 60.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(digits.parse::<f64>().ok()? * seconds_per_unit).ok()
}

/// A time in the largest unit that makes it a whole number.
pub(crate) fn write_duration(f: &mut fmt::Formatter<'_>, time: Duration) -> fmt::Result {
    let nanos = time.as_nanos();
    let (divisor, unit) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")]
        .into_iter()
        .find(|(divisor, _)| nanos.is_multiple_of(*divisor))
        .unwrap_or((1, "ns"));
    write!(f, "{}{unit}", nanos / divisor)
}
