//! `locks`.

use std::collections::BTreeMap;

use ada_span::table::FunctionIndex;

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;
use crate::waits::{By, CallPlaces, WaitSum, all_waits, object_name, sums, waiter};

/// What threads waited for.
pub(super) struct Locks;

impl Described for Locks {
    const DOC: &'static TableDoc = &TableDoc {
        name: "locks",
        about: "locks, conditions, channels and what else threads and tasks waited for, each with the sums of its waits; the longest time first",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain("kind", Kind::Text, "mutex, rwlock, condition and so on, as in waits"),
            plain("object", Kind::Text, "its address, in hex; a thread that was joined; what a descriptor stood for"),
            plain("waits", Kind::Integer, "how often it was waited for"),
            plain("open", Kind::Integer, "how many of the waits had not ended when the recording did"),
            plain("total_ns", Kind::Integer, "their time"),
            plain("longest_ns", Kind::Integer, "the longest one's"),
            plain("longest_span_id", Kind::Text, "the longest one's call"),
            plain("waiters", Kind::Integer, "how many threads and tasks waited"),
            plain("holders", Kind::Integer, "how many threads held it meanwhile"),
            plain("waited_in", Kind::Text, "the program's own function that waited longest"),
            plain("held_in", Kind::Text, "the program's own function that took it, and made others wait longest"),
            plain("uncertain", Kind::Integer, "waits of which something is not certain"),
        ],
        parameters: &[],
    };
}

impl Relation for Locks {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        for process in trace.processes() {
            let waits = all_waits(process);
            let places = CallPlaces::of_waits(trace, process, waits.iter())?;
            let name = |by_function: &BTreeMap<FunctionIndex, u64>| {
                let label = WaitSum::most(by_function).and_then(|function| process.label_at(function));
                maybe(label, |label| text(&label.name))
            };
            for sum in sums(process, waits.iter(), &places, By::Object) {
                rows.push(vec![
                    text(&trace.session_of(process).name),
                    number(process.pid),
                    text(sum.kind.word()),
                    maybe(object_name(process, &sum.longest), text),
                    number(sum.count),
                    number(sum.open),
                    number(sum.total_ns),
                    number(sum.longest.duration()),
                    text(process.refer(waiter(process, &sum.longest))),
                    number((sum.waiters.len() + sum.tasks) as u64),
                    number((sum.holders.len() + sum.remote_holders.len()) as u64),
                    name(&sum.waited_in),
                    maybe(sum.mostly_held_in(process), text),
                    number(sum.uncertain),
                ]);
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        100.0
    }
}
