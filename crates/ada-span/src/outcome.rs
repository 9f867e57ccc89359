//! How a span ended, and why.

use std::str::FromStr;

use crate::word_enum::word_enum;

word_enum! {
    /// How a span ended.
    #[derive(Default)]
    pub enum Status {
        /// It returned.
        #[default]
        Completed = 0, "completed";
        /// Its thread ended inside it, by `pthread_exit` or because it is where threads end.
        Exited = 1, "exited";
        /// Its thread was cancelled.
        Canceled = 2, "canceled";
        /// One of its two ends is missing.
        Unmatched = 3, "unmatched";
        /// It had not ended when the recording did.
        Open = 4, "open";
        /// Only its beginning is recorded, by design: the function's return cannot be caught safely.
        EntryOnly = 5, "entry_only";
        /// It was made or submitted, and never ran.
        Pending = 6, "pending";
    }
}

word_enum! {
    /// Why a span ended as it did.
    #[derive(Default)]
    pub enum Reason {
        /// Nothing special, or not known.
        #[default]
        None = 0, "none";
        /// It jumped to another function, which returned instead of it.
        TailCall = 1, "tail_call";
        /// An exception or a panic went through it.
        Exception = 2, "exception";
        /// `longjmp`, or something like it, went over it.
        Unwind = 3, "unwind";
        /// Its thread was cancelled.
        Canceled = 4, "canceled";
        /// A signal ended the process.
        Crash = 5, "crash";
        /// It took longer than the analysis's timeout.
        Timeout = 6, "timeout";
        /// The process exited before it returned.
        ProcessExit = 7, "process_exit";
        /// Its partner was lost to a counted drop.
        Dropped = 8, "dropped";
        /// It began before the recording.
        AttachedMidway = 9, "attached_midway";
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, Self::ALL, Self::word)
    }
}

impl FromStr for Reason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, Self::ALL, Self::word)
    }
}

fn parse<T: Copy>(text: &str, all: &[T], word: fn(T) -> &'static str) -> Result<T, String> {
    let text = if text == "cancelled" { "canceled" } else { text };
    all.iter().copied().find(|it| word(*it) == text).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|it| word(*it)).collect();
        format!("it is one of {}", words.join(", "))
    })
}

/// Status, reason, and whether they are a guess: one byte in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// How.
    pub status: Status,
    /// Why.
    pub reason: Reason,
    /// Whether the trace also allows another reading.
    pub is_uncertain: bool,
}

impl Outcome {
    /// How many different bytes [`Self::to_byte`] makes.
    pub const BYTES: usize = 256;

    /// A certain one.
    pub const fn new(status: Status, reason: Reason) -> Self {
        Self { status, reason, is_uncertain: false }
    }

    /// The event that ended a call, where it is surely the call's own: one behind missing events may be that of another, and
    /// what it gave back too.
    pub fn own_end<T>(self, end: Option<T>) -> Option<T> {
        end.filter(|_| !self.is_uncertain)
    }

    /// The byte that tables hold.
    pub const fn to_byte(self) -> u8 {
        self.status as u8 | (self.reason as u8) << 3 | (self.is_uncertain as u8) << 7
    }

    /// What the byte stands for, if it stands for something.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match (Status::from_number((byte & 7) as u64), Reason::from_number((byte >> 3 & 15) as u64)) {
            (Some(status), Some(reason)) => Some(Self { status, reason, is_uncertain: byte >> 7 == 1 }),
            _ => None,
        }
    }

    /// The same for a word of a record.
    #[inline]
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        u8::try_from(word).ok().and_then(Self::from_byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_survives_its_byte() {
        for &status in Status::ALL {
            for &reason in Reason::ALL {
                for is_uncertain in [false, true] {
                    let outcome = Outcome { status, reason, is_uncertain };
                    assert_eq!(Outcome::from_byte(outcome.to_byte()), Some(outcome));
                }
            }
        }
        assert_eq!(Outcome::from_byte(7), None);
    }

    #[test]
    fn canceled_has_two_spellings_on_the_way_in() {
        assert_eq!("cancelled".parse(), Ok(Status::Canceled));
        assert_eq!("canceled".parse(), Ok(Reason::Canceled));
        assert!("gone".parse::<Status>().unwrap_err().starts_with("it is one of completed,"));
    }
}
