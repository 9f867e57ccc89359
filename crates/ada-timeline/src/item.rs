//! A span as it is drawn, or many of which it is the longest.

use std::sync::LazyLock;

use ada_event::TraceNanos;
use ada_span::table::FunctionIndex;
use ada_span::{Outcome, Reason, Status};

/// The row that holds everything deeper.
pub const LAST_ROW: u32 = 255;

/// A span, standing for itself and for shorter ones near it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// When it began.
    pub start: TraceNanos,
    /// How long it took.
    pub duration: u64,
    /// Its opening event, or another number by which its owner knows it.
    pub seq: u64,
    /// The function; of a span that is no call, another number by which its owner knows its name.
    pub function: FunctionIndex,
    /// How many spans it stands for, itself among them.
    pub count: u32,
    /// [`Outcome::to_byte`].
    pub outcome: u8,
}

impl Item {
    /// When it ended.
    pub fn end(&self) -> TraceNanos {
        self.start.saturating_add(self.duration)
    }

    /// Whether it is drawn rather than another one of the same pixel.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        (self.duration, other.start) > (other.duration, self.start)
    }
}

/// Whether a span did not end as most do, so that it must be seen at any zoom. A tail call ends where the next call
/// begins, and what is open when a process exits ends with it: neither is worth an alarm.
pub fn is_odd(outcome: u8) -> bool {
    /// It is asked of every span of a picture, more than once.
    static ODD: LazyLock<[bool; 256]> = LazyLock::new(|| std::array::from_fn(|byte| has_odd_end(byte as u8)));
    ODD[usize::from(outcome)]
}

fn has_odd_end(outcome: u8) -> bool {
    let Some(outcome) = Outcome::from_byte(outcome) else { return true };
    let is_usual = matches!(outcome.status, Status::Completed | Status::EntryOnly | Status::Exited);
    match outcome.reason {
        Reason::TailCall | Reason::ProcessExit => false,
        Reason::None => !is_usual,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_returned_is_not_odd() {
        let odd = |status, reason| is_odd(Outcome::new(status, reason).to_byte());
        assert!(!odd(Status::Completed, Reason::None) && !odd(Status::Completed, Reason::TailCall));
        assert!(!odd(Status::EntryOnly, Reason::None) && !odd(Status::Unmatched, Reason::TailCall));
        assert!(!odd(Status::Unmatched, Reason::ProcessExit) && odd(Status::Unmatched, Reason::None));
        assert!(odd(Status::Unmatched, Reason::Exception) && odd(Status::Completed, Reason::Timeout));
        assert!(odd(Status::Open, Reason::None) && is_odd(7));
    }
}
