//! Questions that only the thread that owns the session can answer.

use std::sync::Arc;

use ada_query::Reference;
use anyhow::{Context, anyhow};
use serde_json::Value;

use super::notes::Note;
use super::page_lens::Seen;
use super::timeline::Timeline;
use super::{coverage, details, function, notes, search};
use crate::analysis::OpenedSession;

/// What that thread owns.
pub(super) struct OwnedSession {
    pub(super) opened: OpenedSession,
    pub(super) timeline: Arc<Timeline>,
}

/// A question.
pub(super) enum Question {
    /// All of a span: by its track and number there.
    Shape(usize, u64, Seen),
    /// The same by its reference.
    Span(String, Seen),
    Search(String, Seen),
    Coverage,
    /// A function, by its name's number.
    Function(u32),
    Notes(Seen),
    /// Keeps a note.
    Note(Note, Seen),
}

impl Question {
    pub(super) fn answer(self, session: &OwnedSession) -> anyhow::Result<Value> {
        let OwnedSession { opened, timeline } = session;
        match self {
            Self::Shape(track, seq, seen) => {
                let reference = details::reference(opened, timeline, track, seq).context("there is no such span")?;
                details::answer(opened, timeline, reference, seen)
            }
            Self::Span(text, seen) => {
                let reference: Reference = text.parse().map_err(|words: String| anyhow!(words))?;
                details::answer(opened, timeline, reference, seen)
            }
            Self::Search(text, seen) => search::answer(opened, timeline, &text, seen),
            Self::Coverage => Ok(coverage::answer(opened)),
            Self::Function(number) => function::answer(opened, timeline, number),
            Self::Notes(seen) => notes::answer(opened, timeline, seen),
            Self::Note(note, seen) => notes::put(opened, timeline, note, seen),
        }
    }
}
