//! Goes through the calls whose values were captured.

use ada_span::table::Columns;

use crate::cancel::Cancel;
use crate::error::QueryError;
use crate::predicate::Ready;
use crate::scan::Matching;
use crate::span::Span;
use crate::trace::{CallValues, Trace, Wanted};

/// Goes through the calls of a process whose values were captured.
pub(crate) struct CapturedCalls {
    process: usize,
    matching: Matching,
}

impl CapturedCalls {
    /// `ready`: what else has to hold for them.
    pub(crate) fn new(trace: &Trace, process: usize, ready: Ready) -> Self {
        let it = &trace.processes()[process];
        let (tables, signatures) = (&it.tables, it.signatures());
        let functions: Vec<bool> =
            tables.meta().functions.iter().map(|stats| signatures.contains_key(&stats.function)).collect();
        let are_there = functions.contains(&true);
        let ready = Ready::All(vec![Ready::Always(are_there), Ready::Function(functions), ready]).simplified();
        Self { process, matching: Matching::new(tables, ready, 0..tables.meta().blocks.len()) }
    }

    /// Some of the next calls; none where there are no more.
    pub(crate) fn next(
        &mut self,
        trace: &Trace,
        cancel: &Cancel,
    ) -> Result<Option<Vec<(Span, CallValues)>>, QueryError> {
        let process = &trace.processes()[self.process];
        let tables = &process.tables;
        let Some((block, rows)) = self.matching.next(tables, cancel)? else { return Ok(None) };
        let mut columns = Columns::new();
        tables.read(block, |_| true, &mut columns)?;
        let thread = tables.block(block).thread;
        let rows = rows.unwrap_or_else(|| (0..columns.rows() as u16).collect());
        let call = |row: u16| {
            let span = Span::of_row(self.process, thread, &columns, row.into());
            Some((span, span.call_values(trace, Wanted::Captured)?))
        };
        let calls = rows.into_iter().filter_map(call).collect();
        if let Some(recorded) = trace.recorded(process).threads.get(thread.as_usize()) {
            recorded.release();
        }
        Ok(Some(calls))
    }
}
