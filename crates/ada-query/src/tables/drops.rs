//! `drops`.

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, number, text};
use crate::shared::Shared;

/// What is not in the trace.
pub(super) struct Drops;

impl Described for Drops {
    const DOC: &'static TableDoc = &TableDoc {
        name: "drops",
        about: "what was lost or left out, by lane and reason; no row means that nothing was; the processes of a trace share their rings, and each has all the rows",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain(
                "lane",
                Kind::Text,
                "index (events), detail (registers), probe, ring (let go on purpose; process_gone: with all else of their processes, in the first one's rows) or callback",
            ),
            plain("reason", Kind::Text, "why, such as ring_full or memory_limit"),
            plain("count", Kind::Integer, "how many"),
        ],
        parameters: &[],
    };
}

impl Relation for Drops {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        for process in trace.processes() {
            let mut row = |lane: &str, reason: &str, count: u64| {
                if count > 0 {
                    let session = text(&trace.session_of(process).name);
                    rows.push(vec![session, number(process.pid), text(lane), text(reason), number(count)]);
                }
            };
            if let Some(manifest) = trace.manifest(process) {
                manifest.drops.iter().for_each(|drop| row(&drop.lane, &drop.reason, drop.count));
                if let Some(ring) = &manifest.ring {
                    row("ring", "let_go", ring.let_go_events);
                    row("ring", "process_gone", ring.gone_events);
                }
            }
            row("callback", "too_many", process.tables.meta().callbacks_left_out);
        }
        Ok(Listed::new(rows))
    }

    fn expect(_: &Shared, _: &[(usize, Op)]) -> f64 {
        4.0
    }
}
