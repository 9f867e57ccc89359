//! Sizes, durations and shares as people type them.

use std::time::Duration;

/// `64M`, `512k`, `1G`, or a number of bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        bytes if (1 << 20..=1 << 30).contains(&bytes) => Ok(bytes),
        _ => Err("it must be between 1M and 1G".into()),
    }
}

/// The same for what is kept on disk.
pub(crate) fn parse_ring(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        bytes if (8 << 20..=1 << 44).contains(&bytes) => Ok(bytes),
        _ => Err("it must be at least 8M".into()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err("write a size like 64M".into()),
    };
    let wrong = || "write a size like 64M or 1.5G".to_owned();
    if let Ok(number) = digits.parse::<u64>() {
        return Ok(number.saturating_mul(unit));
    }
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    if number.is_finite() && number >= 0.0 { Ok((number * unit as f64) as u64) } else { Err(wrong()) }
}

/// A duration with its unit, or a number of seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let seconds = || ada_event::parse_duration(&format!("{text}s"));
    ada_event::parse_duration(text)
        .or_else(seconds)
        .ok_or_else(|| "write a duration like 5s, 250ms or 100ns".to_owned())
}

/// A share such as `10%`, or `10`: in percent.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is not a share such as 10% or 2.5%");
    let percent: f64 = text.strip_suffix('%').unwrap_or(text).parse().map_err(|_| wrong())?;
    if (0.1..=1000.0).contains(&percent) { Ok(percent / 100.0) } else { Err(wrong()) }
}

/// What hooks may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Budget {
    Share(f64),
    Unlimited,
}

impl Budget {
    pub(crate) fn share(self) -> Option<f64> {
        match self {
            Self::Share(share) => Some(share),
            Self::Unlimited => None,
        }
    }
}

/// `10%`, or `none`.
pub(crate) fn parse_budget(text: &str) -> Result<Budget, String> {
    match text {
        "none" => Ok(Budget::Unlimited),
        _ => parse_share(text).map(Budget::Share).map_err(|error| format!("{error}, or none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_bounds() {
        assert_eq!(parse_bytes("64M"), Ok(64 << 20));
        assert_eq!(parse_bytes("1048576"), Ok(1 << 20));
        assert_eq!(parse_bytes("1.5M"), Ok(3 << 19));
        assert_eq!(parse_ring("200M"), Ok(200 << 20));
        assert!(parse_ring("1M").is_err() && parse_ring("99999999999G").is_err());
        for wrong in ["", "M", "64X", "1k", "2G", "99999999999G", "-1M", "-1.5M", "nanM", "1e300G"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("5"), Ok(Duration::from_secs(5)));
        assert_eq!(parse_duration("100ns"), Ok(Duration::from_nanos(100)));
        for wrong in ["", "s", "5 s", "5ss", "-1s", "5d", "nan", "inf"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
    #[test]
    fn shares_are_in_percent() {
        assert_eq!(parse_share("10%"), Ok(0.1));
        assert_eq!(parse_share("2.5%"), Ok(0.025));
        assert_eq!(parse_share("10"), Ok(0.1));
        assert_eq!((parse_budget("10%"), parse_budget("none")), (Ok(Budget::Share(0.1)), Ok(Budget::Unlimited)));
        for wrong in ["", "%", "0%", "-5%", "nan%", "inf%", "ten%", "nan", "0"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }
}
