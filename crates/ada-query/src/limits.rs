//! How much a question may cost.

use std::time::Duration;

/// Limits of one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows of the answer; what is beyond is left out, and said to be.
    pub rows: Option<u64>,
    /// How long it may take.
    pub time: Option<Duration>,
    /// How much memory SQLite may use for it, in bytes.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rows: None, time: None, memory: 1 << 30 }
    }
}
