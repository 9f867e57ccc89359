//! `windows`.

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;

/// The windows in which detail was written.
pub(super) struct Windows;

impl Described for Windows {
    const DOC: &'static TableDoc = &TableDoc {
        name: "windows",
        about: "stretches of time in which registers and stack were kept, and what opened them",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain("trigger", Kind::Text, "what opened it"),
            plain("thread_id", Kind::Integer, "the thread whose detail was written"),
            plain("start_ns", Kind::Integer, "where it begins, pre-roll included"),
            plain("end_ns", Kind::Integer, "where it ends, post-roll included"),
            plain("trigger_ns", Kind::Integer, "when it was opened"),
            plain("details", Kind::Integer, "how many events have detail"),
            plain("lost", Kind::Integer, "how many would have it, had it not been overwritten before"),
        ],
        parameters: &[],
    };
}

impl Relation for Windows {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        for process in trace.processes() {
            for window in trace.manifest(process).iter().flat_map(|it| &it.windows) {
                rows.push(vec![
                    text(&trace.session_of(process).name),
                    number(process.pid),
                    text(&window.trigger),
                    maybe(window.thread, number),
                    number(window.start_ns),
                    number(window.end_ns),
                    maybe(window.trigger_ns, number),
                    maybe(window.details, number),
                    maybe(window.lost, number),
                ]);
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        10.0
    }
}
