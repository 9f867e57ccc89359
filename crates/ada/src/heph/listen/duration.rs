//! Times as people type them.

use std::time::Duration;

/// A number with its unit: `500ms`, `30s`, `10m`, `2h`.
pub(super) fn parse(text: &str) -> Result<Duration, &'static str> {
    const EXPECTED: &str = "expected a number and a unit, such as 500ms, 30s, 10m or 2h";
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let millis_per_unit = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        _ => return Err(EXPECTED),
    };
    let number: u32 = number.parse().map_err(|_| EXPECTED)?;
    Ok(Duration::from_millis(u64::from(number) * millis_per_unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_needed() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("2h"), Ok(Duration::from_secs(7200)));
        for wrong in ["", "5", "s", "-1s", "1 s", "99999999999s", "1d"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
