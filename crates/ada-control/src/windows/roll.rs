//! How much of a thread's detail before and after a trigger belongs to its window.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ada_event::{parse_duration, write_duration};

use super::TriggerError;

/// So many events, or so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roll {
    /// Events of the thread.
    Events(u64),
    /// Time.
    Time(Duration),
}

impl FromStr for Roll {
    type Err = TriggerError;

    fn from_str(text: &str) -> Result<Self, TriggerError> {
        if let Ok(events) = text.parse() {
            return Ok(Self::Events(events));
        }
        parse_duration(text)
            .map(Self::Time)
            .ok_or(TriggerError("write a number of events like 1000, or a time like 50ms"))
    }
}

impl fmt::Display for Roll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events(events) => write!(f, "{events}"),
            Self::Time(time) => write_duration(f, *time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolls_are_written_as_they_are_read() {
        for text in ["0", "1000", "50ms", "2s", "1500us", "7ns"] {
            assert_eq!(text.parse::<Roll>().unwrap().to_string(), text);
        }
        assert_eq!("1.5s".parse(), Ok(Roll::Time(Duration::from_millis(1500))));
        for wrong in ["", "-1", "ms", "5 s", "5d", "1.5", "1e99s", "nans"] {
            assert!(wrong.parse::<Roll>().is_err(), "{wrong}");
        }
    }
}
