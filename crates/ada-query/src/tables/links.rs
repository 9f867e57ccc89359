//! `links`.

use ada_span::NONE;
use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, number, text};
use crate::shared::Shared;
use crate::trace::Target;

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
                "create (call to thread), join (thread to waiting call), cancel, callback (call to callback), task (call to task), submit (call to block)",
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
            let id = |place: u64| process.thread_id(place as usize);
            let mut link = |kind: &str, from: Target, to: Target, threads: (u64, u64), times: (u64, u64), sure: u64| {
                let time = |time: u64| if time == NONE { Value::Null } else { number(time) };
                let latency = if times.0 == NONE || times.1 == NONE {
                    Value::Null
                } else {
                    number(times.1.saturating_sub(times.0))
                };
                rows.push(vec![
                    text(&trace.session_of(process).name),
                    number(process.pid.into()),
                    text(kind),
                    text(trace.refer(process, from)),
                    text(trace.refer(process, to)),
                    number(id(threads.0).into()),
                    number(id(threads.1).into()),
                    time(times.0),
                    time(times.1),
                    latency,
                    if sure == NONE { Value::Null } else { Value::Real(sure as f64 / 100.0) },
                ]);
            };
            for span in &process.tables.meta().pthreads {
                let own = Target::Thread(id(span.thread), span.begin_seq);
                if span.creator != NONE && span.create_seq != NONE {
                    let from = Target::Frame(id(span.creator), span.create_seq);
                    let times = (span.create_time, span.start);
                    link("create", from, own, (span.creator, span.thread), times, span.confidence);
                }
                if span.joiner != NONE && span.join_seq != NONE {
                    let to = Target::Frame(id(span.joiner), span.join_seq);
                    link("join", own, to, (span.thread, span.joiner), (span.end, span.join_end), NONE);
                }
                if span.canceler != NONE && span.cancel_seq != NONE {
                    let from = Target::Frame(id(span.canceler), span.cancel_seq);
                    link("cancel", from, own, (span.canceler, span.thread), (NONE, span.end), NONE);
                }
            }
            for span in
                process.tables.meta().tasks.iter().filter(|it| it.create_thread != NONE && it.create_seq != NONE)
            {
                let from = Target::Frame(id(span.create_thread), span.create_seq);
                let times = (span.create_time, span.start);
                link("task", from, Target::Task(span.id), (span.create_thread, span.thread), times, NONE);
            }
            for span in &process.tables.meta().dispatched {
                let from = Target::Frame(id(span.submit_thread), span.submit_seq);
                let to = Target::Block(id(span.thread), span.seq);
                let times = (span.submit_time, span.start);
                link("submit", from, to, (span.submit_thread, span.thread), times, span.confidence);
            }
            for span in &process.tables.meta().callbacks {
                let from = Target::Frame(id(span.initiator_thread), span.initiator_seq);
                let to = Target::Callback(id(span.thread), span.seq);
                let threads = (span.initiator_thread, span.thread);
                link("callback", from, to, threads, (span.initiator_time, span.start), span.confidence);
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(shared: &Shared, _: &[(usize, Op)]) -> f64 {
        let links = |process: &crate::TraceProcess| {
            process.tables.meta().pthreads.len() * 2 + process.tables.meta().callbacks.len()
        };
        shared.trace.processes().iter().map(links).sum::<usize>() as f64
    }
}
