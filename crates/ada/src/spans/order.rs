//! The order of a list of spans, and where in it the next page begins.

use std::fmt;
use std::str::FromStr;

use ada_event::ProcessId;
use clap::ValueEnum;

use crate::analysis::{OpenedSession, Reference, Span, Target};

/// By what spans are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Earliest first
    Start,
    /// Longest first
    Duration,
    /// Most time in itself first
    #[value(name = "self")]
    SelfTime,
}

impl Sort {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Duration => "duration",
            Self::SelfTime => "self",
        }
    }

    /// A number that grows along the list.
    pub(super) fn key(self, opened: &OpenedSession, span: &Span) -> u64 {
        match self {
            Self::Start => span.start(opened).0,
            Self::Duration => u64::MAX - span.duration(opened),
            Self::SelfTime => u64::MAX - span.self_ns(opened).unwrap_or(0),
        }
    }
}

/// A row's position in a list: no two rows have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) key: u64,
    pub(super) pid: ProcessId,
    pub(super) target: Target,
}

impl Position {
    pub(super) fn of(sort: Sort, opened: &OpenedSession, span: &Span) -> Self {
        let pid = opened.processes()[span.process].pid;
        Self { key: sort.key(opened, span), pid, target: span.target(opened) }
    }
}

/// The end of a page: `start:12050214209794:15381/frame:15386:12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(super) sort: Sort,
    pub(super) position: Position,
}

impl Cursor {
    pub(super) fn after(sort: Sort, opened: &OpenedSession, span: &Span) -> Self {
        Self { sort, position: Position::of(sort, opened, span) }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { key, pid, target } = self.position;
        write!(f, "{}:{key}:{}", self.sort.word(), Reference { pid: Some(pid), target })
    }
}

impl FromStr for Cursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a cursor is what the list before has printed".to_owned();
        let mut parts = text.splitn(3, ':');
        let sort = match parts.next() {
            Some("start") => Sort::Start,
            Some("duration") => Sort::Duration,
            Some("self") => Sort::SelfTime,
            _ => return Err(wrong()),
        };
        let key = parts.next().and_then(|key| key.parse().ok()).ok_or_else(wrong)?;
        let reference: Reference = parts.next().unwrap_or_default().parse().map_err(|_| wrong())?;
        let pid = reference.pid.ok_or_else(wrong)?;
        Ok(Self { sort, position: Position { key, pid, target: reference.target } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_accepted_as_it_was_printed() {
        for text in ["start:12050214209794:15381/frame:15386:12", "self:9:1/thread:7", "duration:0:1/callback:2:3"] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
        for wrong in ["", "start", "start:1", "start:1:frame:1:2", "end:1:1/frame:1:2"] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong}");
        }
    }
}
