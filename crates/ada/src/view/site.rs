//! What one server shows: a session, or two beside each other.

use serde_json::Value;

use super::loaded::Shown;
use super::parameters::Parameters;

/// The sessions of a server.
pub(super) struct Site {
    /// The one that is asked for unless a question says otherwise.
    first: Shown,
    beside: Option<Beside>,
}

/// A second session, and what makes the difference.
struct Beside {
    shown: Shown,
    difference: Value,
}

impl Site {
    pub(super) fn one(shown: Shown) -> Self {
        Self { first: shown, beside: None }
    }

    pub(super) fn two(first: Shown, second: Shown, difference: Value) -> Self {
        Self { first, beside: Some(Beside { shown: second, difference }) }
    }

    /// The session that a question is about.
    pub(super) fn shown(&self, parameters: &Parameters) -> &Shown {
        match &self.beside {
            Some(beside) if parameters.get("side") == Some("b") => &beside.shown,
            _ => &self.first,
        }
    }

    /// What differs, where there are two.
    pub(super) fn difference(&self) -> Option<&Value> {
        self.beside.as_ref().map(|it| &it.difference)
    }

    /// The page that is the server's own address.
    pub(super) fn page(&self) -> &'static str {
        if self.beside.is_some() { COMPARISON } else { TIMELINE }
    }

    /// Whether there is a page at a path.
    pub(super) fn has_page(&self, path: &str) -> bool {
        path == TIMELINE || path == self.page()
    }
}

const TIMELINE: &str = "/";
/// Has two timelines in frames of its own.
const COMPARISON: &str = "/compare.html";
