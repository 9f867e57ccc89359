//! Pieces of JSON that are written many times.

use std::io::{self, Write};

/// A text in quotes.
pub(crate) fn text(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// Nanoseconds in a unit a thousand times as large for each three digits, exactly.
pub(crate) fn micros(out: &mut dyn Write, nanos: u64) -> io::Result<()> {
    write!(out, "{}.{:03}", nanos / 1000, nanos % 1000)
}

/// Nanoseconds as milliseconds, exactly.
pub(crate) fn millis(out: &mut dyn Write, nanos: u64) -> io::Result<()> {
    write!(out, "{}.{:06}", nanos / 1_000_000, nanos % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_digit_is_lost() {
        let mut out = Vec::new();
        micros(&mut out, 9_007_199_254_740_993).unwrap();
        millis(&mut out, 1_000_001).unwrap();
        text(&mut out, "a\"\n").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "9007199254740.9931.000001\"a\\\"\\n\"");
    }
}
