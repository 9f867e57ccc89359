//! Lines on stderr about single packets: a damaged trace can have a million of them.

use std::fmt;

use crate::exit::say;

/// How many are said one by one; the rest is counted.
const LISTED: u64 = 10;

/// Says the first few complaints, and at its end how many more there were.
pub(crate) struct Complaints {
    /// What the packets are that are complained of.
    kind: &'static str,
    count: u64,
}

impl Complaints {
    pub(crate) fn of(kind: &'static str) -> Self {
        Self { kind, count: 0 }
    }

    /// One more, in one line.
    pub(crate) fn add(&mut self, words: fmt::Arguments<'_>) {
        self.count += 1;
        if self.count <= LISTED {
            say(format_args!("ada: {words}\n"));
        }
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        if let Some(more @ 1..) = self.count.checked_sub(LISTED) {
            say(format_args!("ada: {more} more {}\n", self.kind));
        }
    }
}
