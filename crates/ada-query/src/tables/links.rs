//! `links`.

use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;
use crate::trace::{CausalLink, Trace, TraceProcess, causal_links, remote_links};

/// Causal edges between spans.
pub(super) struct Links;

impl Described for Links {
    const DOC: &'static TableDoc = &TableDoc {
        name: "links",
        about: "causal edges between spans beyond plain calls, which parent_span_id has",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain(
                "kind",
                Kind::Text,
                "create (call to thread), join (thread to waiting call), cancel, callback (call to callback), task (call to task), submit (call to block), wake (call that ended a wait to the call that waited), hold (call that took a lock to the call that waited for it)",
            ),
            plain("from_span_id", Kind::Text, "the cause"),
            plain("to_span_id", Kind::Text, "the effect"),
            plain("from_thread_id", Kind::Integer, "the cause's thread"),
            plain("to_thread_id", Kind::Integer, "the effect's thread"),
            plain("from_ns", Kind::Integer, "when the cause happened"),
            plain("to_ns", Kind::Integer, "when the effect did"),
            plain("latency_ns", Kind::Integer, "the time between"),
            plain("confidence", Kind::Real, "how sure the match is, from 0 to 1"),
        ],
        parameters: &[],
    };
}

impl Relation for Links {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        for process in trace.processes() {
            let mut links = causal_links(process.tables.meta());
            // Tasks are resumed at waits, which are no spans.
            links.retain(|link| link.kind != "resume");
            links.sort_by_key(|link| link.kind == "callback");
            rows.extend(links.iter().map(|link| row(trace, link, [process, process])));
        }
        rows.extend(remote_links(trace).iter().map(|it| {
            let [from, to] = [it.from_process, it.to_process].map(|number| &trace.processes()[number]);
            row(trace, &it.link, [from, to])
        }));
        Ok(Listed::new(rows))
    }

    fn expect(shared: &Shared, _: &[(usize, Op)]) -> f64 {
        let links = |process: &TraceProcess| {
            let meta = process.tables.meta();
            meta.pthreads.len() * 2 + meta.callbacks.len() + meta.waits.len() * 2
        };
        shared.trace.processes().iter().map(links).sum::<usize>() as f64
    }
}

/// An edge from one process to another, or within one; it is a row of where its effect is.
fn row(trace: &Trace, link: &CausalLink, [cause, effect]: [&TraceProcess; 2]) -> Vec<Value> {
    let CausalLink { kind, from, to, confidence, .. } = link;
    vec![
        text(&trace.session_of(effect).name),
        number(effect.pid),
        text(*kind),
        text(cause.refer(from.target)),
        text(effect.refer(to.target)),
        number(cause.thread_id(from.thread)),
        number(effect.thread_id(to.thread)),
        maybe(from.time, number),
        maybe(to.time, number),
        maybe(from.time.zip(to.time).map(|(from, to)| to.since(from)), number),
        maybe(*confidence, |percent| Value::Real(percent as f64 / 100.0)),
    ]
}
