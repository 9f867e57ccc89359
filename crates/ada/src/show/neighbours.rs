//! The spans around a frame span: what it called, and what its caller called before and after it.

use ada_span::SpanError;
use ada_span::table::Columns;

use super::ThreadRef;
use crate::analysis::{FrameSpan, Span};

/// Blocks that are read in each direction; what lies further is not next to it.
const NEAR: usize = 64;

#[derive(Default)]
pub(super) struct Neighbours {
    pub(super) callees: Vec<Span>,
    pub(super) before: Vec<Span>,
    pub(super) after: Vec<Span>,
}

/// At most `limit` of each.
pub(super) fn find(thread_ref: &ThreadRef<'_>, frame: &FrameSpan, limit: usize) -> Result<Neighbours, SpanError> {
    let &ThreadRef { opened, process, thread } = thread_ref;
    let it = &opened.processes()[process];
    let mut found = Neighbours::default();
    let Some(own) = it.tables.block_of(thread, frame.seq()) else { return Ok(found) };
    let blocks = it.tables.blocks_of(thread);
    let mut columns = Columns::new();
    let end = frame.end();
    for block in (own..blocks.end).take(NEAR) {
        if found.callees.len() >= limit && found.after.len() >= limit {
            break;
        }
        it.tables.read(block, |_| true, &mut columns)?;
        for row in 0..columns.rows() {
            if columns.seq(row) <= frame.seq() {
                continue;
            }
            let parent = columns.parent_seq(row);
            let list = if parent == Some(frame.seq()) {
                &mut found.callees
            } else if parent == frame.parent_seq() && columns.start(row) >= end {
                &mut found.after
            } else {
                continue;
            };
            if list.len() < limit {
                list.push(Span::frame(process, FrameSpan::of_row(thread, &columns, row)));
            }
        }
    }
    for block in (blocks.start..=own).rev().take(NEAR) {
        if found.before.len() >= limit {
            break;
        }
        it.tables.read(block, |_| true, &mut columns)?;
        for row in (0..columns.rows()).rev() {
            let is_sibling = columns.seq(row) < frame.seq() && columns.parent_seq(row) == frame.parent_seq();
            if is_sibling && found.before.len() < limit {
                found.before.push(Span::frame(process, FrameSpan::of_row(thread, &columns, row)));
            }
        }
    }
    found.before.reverse();
    Ok(found)
}
