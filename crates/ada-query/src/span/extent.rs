//! What lies below a span on its thread.

use std::ops::RangeInclusive;

use ada_event::EventSeq;
use ada_span::table::{Column, Columns};
use ada_span::{SpanError, ThreadIndex};

use super::FrameSpan;
use super::find;
use crate::error::QueryError;
use crate::trace::{Reference, Trace};

/// A stretch of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) process: usize,
    pub(crate) thread: ThreadIndex,
    pub(crate) seqs: RangeInclusive<EventSeq>,
}

impl Extent {
    /// The stretch in which everything lies that the span of a reference encloses.
    pub(crate) fn of(trace: &Trace, session: Option<&str>, reference: Reference) -> Result<Option<Self>, QueryError> {
        let Some(span) = find::all(trace, session, reference)?.first().copied() else { return Ok(None) };
        let Some(call) = span.call(trace)? else { return Ok(None) };
        Ok(Some(Self::below(trace, span.process, &call)?))
    }

    /// The stretch of the calls that a call encloses.
    pub(crate) fn below(trace: &Trace, process: usize, call: &FrameSpan) -> Result<Self, SpanError> {
        let last = match call.close_seq() {
            Some(close) => close,
            None => last_below(trace, process, call)?,
        };
        Ok(Self { process, thread: call.thread, seqs: call.seq().next()..=last })
    }
}

/// The last call below one that no event has ended: rows are in the order of a walk through the tree.
fn last_below(trace: &Trace, process: usize, call: &FrameSpan) -> Result<EventSeq, SpanError> {
    let tables = &trace.processes()[process].tables;
    let (root, depth) = (call.seq(), call.depth());
    let mut last = root;
    let mut columns = Columns::new();
    let wanted = |column| matches!(column, Column::OpenSeq | Column::Depth | Column::ParentDelta);
    for block in tables.blocks_of(call.thread).filter(|&block| tables.block(block).last_seq > root) {
        if u64::from(tables.block(block).min_depth) > depth && tables.block(block).first_seq > root {
            last = tables.block(block).last_seq;
            continue;
        }
        tables.read(block, wanted, &mut columns)?;
        for row in 0..columns.rows() {
            let seq = columns.seq(row);
            if seq <= root {
                continue;
            }
            if columns.at(Column::Depth, row) <= depth {
                return Ok(last);
            }
            last = seq;
        }
    }
    Ok(last)
}
