//! Questions that only the thread that owns the session can answer.

use std::sync::Arc;

use ada_query::Reference;
use anyhow::{Context, anyhow};
use serde_json::Value;

use super::notes::Note;
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
    Shape(usize, u64),
    /// The same by its reference.
    Span(String),
    Search(String),
    Coverage,
    /// A function, by its name's number.
    Function(u32),
    Notes,
    /// Keeps a note.
    Note(Note),
}

impl Question {
    pub(super) fn answer(self, session: &OwnedSession) -> anyhow::Result<Value> {
        let OwnedSession { opened, timeline } = session;
        match self {
            Self::Shape(track, seq) => {
                let reference = details::reference(opened, timeline, track, seq).context("there is no such span")?;
                details::answer(opened, timeline, reference)
            }
            Self::Span(text) => {
                let reference: Reference = text.parse().map_err(|words: String| anyhow!(words))?;
                details::answer(opened, timeline, reference)
            }
            Self::Search(text) => search::answer(opened, timeline, &text),
            Self::Coverage => Ok(coverage::answer(opened)),
            Self::Function(number) => function::answer(opened, timeline, number),
            Self::Notes => notes::answer(opened, timeline),
            Self::Note(note) => notes::put(opened, timeline, note),
        }
    }
}
