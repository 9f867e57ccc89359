//! How a process ended.

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It has ended. How is not known: somebody else has started it.
    Unknown,
    /// It lives on: ada has detached from it.
    Detached,
}

impl End {
    /// From a status as `wait` gives it.
    pub fn of_status(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited(status >> 8 & 0xff),
            signal => Self::Killed(signal),
        }
    }

    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Exited(code) => format!("exit code {code}"),
            Self::Killed(signal) => format!("killed by signal {signal}"),
            Self::Unknown => "the process has ended".to_owned(),
            Self::Detached => "detached".to_owned(),
        }
    }
}
