//! `processes`.

use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;

/// The traced processes.
pub(super) struct Processes;

impl Described for Processes {
    const DOC: &'static TableDoc = &TableDoc {
        name: "processes",
        about: "the traced processes: what was run, how it ended, what was recorded",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain("parent_pid", Kind::Integer, "the process that started it, if that was traced too"),
            plain("command", Kind::Text, "the program and its arguments"),
            plain("exit_code", Kind::Integer, "its exit code, if it exited"),
            plain("signal", Kind::Integer, "the signal that killed it"),
            plain("is_finished", Kind::Integer, "0 where the recording was cut short"),
            plain("start_ns", Kind::Integer, "the earliest event"),
            plain("end_ns", Kind::Integer, "the latest event"),
            plain("threads", Kind::Integer, "how many threads"),
            plain("events", Kind::Integer, "how many events"),
            plain("spans", Kind::Integer, "how many calls"),
            plain("dropped", Kind::Integer, "events that were lost, over all lanes; table drops has them by lane"),
            plain("cpu_user_ns", Kind::Integer, "processor time in its own code, once it has ended"),
            plain("cpu_system_ns", Kind::Integer, "processor time in the kernel"),
            plain("hook_pair_ns", Kind::Real, "by how much a recorded call and its return took longer, as measured"),
            plain("path", Kind::Text, "its folder"),
        ],
        parameters: &[],
    };
}

impl Relation for Processes {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        for process in trace.processes() {
            let manifest = trace.manifest(process);
            let exit = manifest.and_then(|it| it.exit.as_ref());
            let threads = &process.tables.meta().threads;
            let facts = || threads.iter().map(|it| it.facts).filter(|it| it.events > 0);
            let dropped = manifest.map(|it| it.drops.iter().fold(0, |sum: u64, drop| sum.saturating_add(drop.count)));
            let time = |of: fn(&ada_format::atf::Manifest) -> Option<u64>| maybe(manifest.and_then(of), number);
            rows.push(vec![
                text(&trace.session_of(process).name),
                number(process.pid),
                maybe(manifest.and_then(|it| it.parent_pid), number),
                maybe(manifest, |it| text(it.command_line.join(" "))),
                maybe(exit.and_then(|it| it.code), |code| Value::Integer(code.into())),
                maybe(exit.and_then(|it| it.signal), |signal| Value::Integer(signal.into())),
                maybe(manifest.and_then(|it| it.finished), |it| Value::Integer(it.into())),
                maybe(facts().map(|it| it.first_time).min(), number),
                maybe(facts().map(|it| it.last_time).max(), number),
                number(threads.len() as u64),
                number(threads.iter().map(|it| it.facts.events).sum::<u64>()),
                number(threads.iter().map(|it| it.spans).sum::<u64>()),
                maybe(dropped, number),
                time(|it| it.cpu_user_ns),
                time(|it| it.cpu_system_ns),
                maybe(manifest.and_then(|it| it.hook_cost_ns.as_ref()), |it| Value::Real(it.pair)),
                text(trace.recorded(process).path.display().to_string()),
            ]);
        }
        Ok(Listed::new(rows))
    }

    fn expect(shared: &Shared, _: &[(usize, Op)]) -> f64 {
        shared.trace.processes().len() as f64
    }
}
