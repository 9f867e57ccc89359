//! What opens a window.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ada_event::{parse_duration, write_duration};
use ada_value::ValueTest;

/// A trigger, as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A function with such a name is called.
    Symbol(String),
    /// A function with such a name is called with such values, or has returned with them.
    Values {
        /// The function's name.
        pattern: String,
        /// Whether it is looked at when the function returns.
        is_return: bool,
        /// What the values have to be; anything where there is none.
        when: Option<ValueTest>,
    },
    /// A call of such a function has taken long.
    Slow {
        /// The function's name.
        pattern: String,
        /// From here on it is long.
        longer_than: Duration,
    },
    /// A fatal signal hits, or the program is killed.
    Crash,
    /// A handler of the program's is called, or a fatal signal hits.
    Signal,
}

/// What is wrong with a trigger or a roll, and how to write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TriggerError(pub(crate) &'static str);

impl Trigger {
    /// The functions whose values it asks for.
    pub fn tested_pattern(&self) -> Option<&str> {
        match self {
            Self::Values { pattern, when: Some(_), .. } => Some(pattern),
            _ => None,
        }
    }
}

impl FromStr for Trigger {
    type Err = TriggerError;

    fn from_str(text: &str) -> Result<Self, TriggerError> {
        match text.split_once('=') {
            None if text == "crash" => Ok(Self::Crash),
            None if text == "signal" => Ok(Self::Signal),
            Some(("symbol", pattern)) if !pattern.is_empty() => Ok(Self::Symbol(pattern.to_owned())),
            Some((kind @ ("call" | "return"), rest)) => {
                let (pattern, when) = rest.split_once(" when ").map_or((rest, None), |(it, when)| (it, Some(when)));
                let wrong = TriggerError("write it like call=PATTERN when port==8081, or return=PATTERN when <0");
                let when = when.map(|when| when.parse().map_err(|_| wrong)).transpose()?;
                let pattern = pattern.trim().to_owned();
                if pattern.is_empty() || pattern.ends_with(" when") {
                    return Err(wrong);
                }
                Ok(Self::Values { pattern, is_return: kind == "return", when })
            }
            Some(("slow", condition)) => {
                // Names of operators have the sign too: the last one counts.
                let (pattern, time) =
                    condition.rsplit_once('>').ok_or(TriggerError("write it like slow=PATTERN>50ms"))?;
                match parse_duration(time) {
                    Some(longer_than) if !pattern.is_empty() => {
                        Ok(Self::Slow { pattern: pattern.to_owned(), longer_than })
                    }
                    _ => Err(TriggerError("write it like slow=PATTERN>50ms")),
                }
            }
            _ => Err(TriggerError(
                "write symbol=PATTERN, call=PATTERN when port==8081, return=PATTERN when <0, slow=PATTERN>50ms, crash or signal",
            )),
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbol(pattern) => write!(f, "symbol={pattern}"),
            Self::Values { pattern, is_return, when } => {
                write!(f, "{}={pattern}", if *is_return { "return" } else { "call" })?;
                when.iter().try_for_each(|when| write!(f, " when {when}"))
            }
            Self::Slow { pattern, longer_than } => {
                write!(f, "slow={pattern}>")?;
                write_duration(f, *longer_than)
            }
            Self::Crash => f.write_str("crash"),
            Self::Signal => f.write_str("signal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_written_as_they_are_read() {
        for text in ["call=connect when port == 8081", "return=open when <0", "return=f", "call=f when a==1 or b ~ x"] {
            assert_eq!(text.parse::<Trigger>().unwrap().to_string(), text);
        }
        for text in ["crash", "signal", "symbol=*alloc*", "slow=f>50ms", "slow=operator>(A)>1500us", "symbol=a=b"] {
            assert_eq!(text.parse::<Trigger>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "crush",
            "symbol=",
            "symbol",
            "slow=f",
            "slow=>5ms",
            "slow=f>",
            "slow=f>5",
            "crash=1",
            "call=",
            "call=f when",
            "return=f when x",
        ] {
            assert!(wrong.parse::<Trigger>().is_err(), "{wrong}");
        }
    }
}
