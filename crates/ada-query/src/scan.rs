//! Goes through blocks of frame spans, with all processors where that pays.

use ada_format::parallel::in_parallel_with;
use ada_span::table::{Columns, Tables};

use crate::batch::SpanBatch;
use crate::cancel::Cancel;
use crate::error::QueryError;
use crate::predicate::Ready;

/// Blocks that are looked through at once, at first and at most: the first rows are to come soon.
const FIRST_WINDOW: usize = 2;
const LARGEST_WINDOW: usize = 1024;

/// [`in_parallel_with`], until it is cancelled.
pub(crate) fn scan_pieces<S: Send>(
    pieces: usize,
    cancel: &Cancel,
    state: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize) -> Result<(), QueryError> + Sync,
) -> Result<Vec<S>, QueryError> {
    in_parallel_with(pieces, state, |state, piece| {
        if piece.is_multiple_of(16) {
            cancel.check()?;
        }
        job(state, piece)
    })
}

/// A block with the rows that match; none for all of them.
type Chosen = (usize, Option<Vec<u16>>);

/// Finds the rows of a process's blocks that match, a window of blocks at a time.
pub(crate) struct Matching {
    blocks: std::vec::IntoIter<usize>,
    ready: Ready,
    window: usize,
    found: std::collections::VecDeque<Chosen>,
}

impl Matching {
    /// `blocks` are those that may be looked at, in the order of the answer.
    pub(crate) fn new(tables: &Tables, ready: Ready, blocks: impl Iterator<Item = usize>) -> Self {
        let blocks: Vec<usize> = blocks.filter(|&block| ready.can_be_in(tables.block(block))).collect();
        Self { blocks: blocks.into_iter(), ready, window: FIRST_WINDOW, found: Default::default() }
    }

    /// The next block that has matching rows.
    pub(crate) fn next(&mut self, tables: &Tables, cancel: &Cancel) -> Result<Option<Chosen>, QueryError> {
        loop {
            if let Some(found) = self.found.pop_front() {
                return Ok(Some(found));
            }
            cancel.check()?;
            let window: Vec<usize> = self.blocks.by_ref().take(self.window).collect();
            if window.is_empty() {
                return Ok(None);
            }
            self.window = (self.window * 2).min(LARGEST_WINDOW);
            self.look_through(tables, cancel, &window)?;
        }
    }

    fn look_through(&mut self, tables: &Tables, cancel: &Cancel, window: &[usize]) -> Result<(), QueryError> {
        let ready = &self.ready;
        if window.iter().all(|&block| ready.is_all_of(tables.block(block))) {
            self.found.extend(window.iter().map(|&block| (block, None)));
            return Ok(());
        }
        type Found = Vec<Chosen>;
        let state = || (Columns::new(), Vec::new(), Found::new());
        let states = scan_pieces(window.len(), cancel, state, |(columns, flags, found), piece| {
            let block = window[piece];
            let entry = tables.block(block);
            if ready.is_all_of(entry) {
                found.push((piece, None));
                return Ok(());
            }
            tables.read(block, |column| ready.needs(column), columns)?;
            ready.select(&SpanBatch { thread: entry.thread, columns }, flags);
            let rows: Vec<u16> = flags.iter().zip(0..).filter(|(flag, _)| **flag).map(|(_, row)| row).collect();
            if !rows.is_empty() {
                found.push((piece, Some(rows)));
            }
            Ok(())
        })?;
        let mut found: Found = states.into_iter().flat_map(|(.., found)| found).collect();
        found.sort_by_key(|(piece, _)| *piece);
        self.found.extend(found.into_iter().map(|(piece, rows)| (window[piece], rows)));
        Ok(())
    }
}
