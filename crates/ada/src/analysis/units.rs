//! Numbers as people read and type them.

use std::str::FromStr;

use ada_event::TraceNanos;

use crate::quantity::parse_duration;

/// A duration with a unit that fits.
pub(crate) fn nanoseconds(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.2} µs", nanos as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", nanos as f64 / 1e6),
        _ => format!("{:.3} s", nanos as f64 / 1e9),
    }
}

/// A moment, from the start of a session on.
pub(crate) fn since_start(start: TraceNanos, time: TraceNanos) -> String {
    format!("{} after the start", nanoseconds(time.since(start)))
}

/// A number with a space between each three digits.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 call`, `20 000 calls`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// `250us`, `5ms`, `1.5s`, `100ns`.
pub(crate) fn parse_nanos(text: &str) -> Result<u64, String> {
    parse_duration(text).map(|duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// A moment of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// So long after its beginning.
    SinceStart(u64),
    /// On the trace's clock, as `start_ns` has it.
    Clock(TraceNanos),
}

impl Moment {
    /// On the trace's clock.
    pub(crate) fn on_clock(self, start: TraceNanos) -> TraceNanos {
        match self {
            Self::SinceStart(nanos) => start.saturating_add(nanos),
            Self::Clock(time) => time,
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('@') {
            Some(nanos) => {
                nanos.parse().map(TraceNanos).map(Self::Clock).map_err(|_| "after @ comes a start_ns".into())
            }
            None => parse_nanos(text).map(Self::SinceStart),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_get_the_unit_that_fits() {
        let texts = [999, 1_500, 2_000_000, 3_000_000_000].map(nanoseconds);
        assert_eq!(texts, ["999 ns", "1.50 µs", "2.00 ms", "3.000 s"]);
    }

    #[test]
    fn moments_are_relative_or_on_the_clock() {
        assert_eq!("1.5ms".parse(), Ok(Moment::SinceStart(1_500_000)));
        assert_eq!("@77".parse(), Ok(Moment::Clock(TraceNanos(77))));
        assert_eq!(Moment::SinceStart(5).on_clock(TraceNanos(100)), TraceNanos(105));
        assert!("@soon".parse::<Moment>().is_err() && "soon".parse::<Moment>().is_err());
    }

    #[test]
    fn long_numbers_have_gaps() {
        assert_eq!([7, 1000, 1_234_567].map(thousands), ["7", "1 000", "1 234 567"]);
    }
}
