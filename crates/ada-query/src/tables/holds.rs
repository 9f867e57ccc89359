//! `holds`.

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;
use crate::trace::Target;
use crate::waits::{CallPlaces, hides_releases};

/// Who had which lock when.
pub(super) struct Holds;

impl Described for Holds {
    const DOC: &'static TableDoc = &TableDoc {
        name: "holds",
        about: "stretches of time in which a thread certainly held a lock that somebody waited for",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain("kind", Kind::Text, "mutex or rwlock"),
            plain("object", Kind::Text, "the lock's address, in hex"),
            plain("thread_id", Kind::Integer, "the thread that held it"),
            plain("span_id", Kind::Text, "the call that took it"),
            plain("function", Kind::Text, "the program's own function that made it"),
            plain("start_ns", Kind::Integer, "when that call was over"),
            plain("end_ns", Kind::Integer, "when the thread's next call began that can have let go of it"),
            plain("duration_ns", Kind::Integer, "how long it was certainly held"),
            plain("mode", Kind::Text, "read where others may have it too, or write"),
        ],
        parameters: &[],
    };
}

impl Relation for Holds {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let needs_places = Self::DOC.column("function").is_some_and(|column| ask.uses(column));
        let mut rows = Vec::new();
        for process in trace.processes().iter().filter(|process| !hides_releases(process)) {
            let holds = &process.tables.meta().holds;
            let calls = holds.iter().filter(|_| needs_places).map(|hold| (hold.thread, hold.seq));
            let places = CallPlaces::of_calls(trace, process, calls)?;
            for hold in holds {
                let id = process.thread_id(hold.thread);
                rows.push(vec![
                    text(&trace.session_of(process).name),
                    number(process.pid),
                    text(hold.kind().word()),
                    text(format!("{:#x}", hold.object)),
                    number(id),
                    text(process.refer(Target::Frame(id, hold.seq))),
                    maybe(places.name(process, hold.thread, hold.seq), text),
                    number(hold.start),
                    number(hold.end),
                    number(hold.end.since(hold.start)),
                    text(if hold.is_shared == 1 { "read" } else { "write" }),
                ]);
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(shared: &Shared, _: &[(usize, Op)]) -> f64 {
        shared.trace.processes().iter().map(|process| process.tables.meta().holds.len()).sum::<usize>() as f64
    }
}
