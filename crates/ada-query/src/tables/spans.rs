//! `spans`.

use crate::doc::TableDoc;
use crate::error::QueryError;
use crate::predicate::Test;
use crate::relation::{Ask, Described, Op, Relation};
use crate::shared::Shared;
use crate::span::{COLUMNS, Extent, SpanColumn, find};
use crate::span_cursor::{SpanCursor, SpanScan, hints, used_columns};
use crate::trace::Reference;

/// All spans: threads and callbacks of a process, then its calls by thread and start.
pub(crate) struct Spans;

impl Described for Spans {
    const DOC: &'static TableDoc = &TableDoc {
        name: "spans",
        about: "calls of functions, and the threads and callbacks that they stand for",
        columns: COLUMNS,
        parameters: &[],
    };
}

impl Relation for Spans {
    type Cursor = SpanCursor;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<SpanCursor, QueryError> {
        let session = ask.text(SpanColumn::Session as usize);
        if let Some(id) = ask.text(SpanColumn::SpanId as usize) {
            let rows = match id.parse::<Reference>() {
                Ok(reference) => find::all(&shared.trace, session, reference)?,
                Err(_) => Vec::new(),
            };
            return SpanCursor::of(shared.clone(), rows);
        }
        let mut scan =
            SpanScan { test: Test::All(hints(ask)), used: used_columns(ask), within: None, with_logical: true };
        if let Some(parent) = ask.text(SpanColumn::Cause as usize).and_then(|id| id.parse::<Reference>().ok()) {
            // Children of a call lie behind it on its thread; logical ones can be anywhere, and are few.
            scan.within = Some(Extent::of(&shared.trace, session, parent)?);
        }
        SpanCursor::open(shared.clone(), scan)
    }

    fn expect(shared: &Shared, conditions: &[(usize, Op)]) -> f64 {
        let spans =
            |process: &crate::TraceProcess| process.tables.meta().threads.iter().map(|it| it.spans).sum::<u64>();
        let mut rows = shared.trace.processes().iter().map(spans).sum::<u64>() as f64;
        for (column, op) in conditions {
            rows /= match (SpanColumn::at(*column), op) {
                (Some(SpanColumn::SpanId), Op::Eq) => return 1.0,
                (Some(SpanColumn::Cause), Op::Eq) => 1000.0,
                (Some(SpanColumn::Name | SpanColumn::FunctionId), _) => 100.0,
                (Some(SpanColumn::Type | SpanColumn::Runtime | SpanColumn::Session | SpanColumn::Pid), _) => 1.0,
                _ => 4.0,
            };
        }
        rows
    }
}
