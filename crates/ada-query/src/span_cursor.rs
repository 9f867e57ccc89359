//! Goes through spans, as all tables of spans do.

use ada_span::ThreadIndex;
use ada_span::table::{Column, Columns};
use rusqlite::types::{Null, Value};
use rusqlite::vtab::Context;

use crate::error::QueryError;
use crate::predicate::{Field, Ready, Subject, Test, prepare};
use crate::relation::{Ask, Op, RowCursor, signed};
use crate::scan::Matching;
use crate::shared::Shared;
use crate::span::{BlockRow, Extent, Frame, Span, SpanColumn, value};

/// The part of a condition that is safe to use before SQLite looks at it: with values of the column's own kind only.
fn hint(column: usize, op: Op, value: &Value) -> Option<Test> {
    let field = Field::of(SpanColumn::at(column)?)?;
    let fits = match value {
        Value::Integer(_) | Value::Real(_) => field.is_number(),
        // The application may give LIKE another meaning; ours is SQLite's own. It evaluates sets in GLOB.
        Value::Text(text) => !field.is_number() && (op != Op::Glob || !text.contains('[')),
        _ => false,
    };
    fits.then(|| Test::Compare(field, op, value.clone()))
}

/// What can be used of a question's conditions.
pub(crate) fn hints(ask: &Ask) -> Vec<Test> {
    ask.conditions.iter().filter_map(|it| hint(it.column, it.op, &it.value)).collect()
}

pub(crate) fn used_columns(ask: &Ask) -> Vec<Column> {
    let used = SpanColumn::ALL.iter().filter(|column| ask.uses(**column as usize)).flat_map(|column| column.needs());
    let used: Vec<Column> = used.copied().collect();
    Column::ALL.into_iter().filter(|column| used.contains(column)).collect()
}

/// Which spans are wanted.
pub(crate) struct SpanScan {
    pub(crate) test: Test,
    /// The columns that somebody wants to have.
    pub(crate) used: Vec<Column>,
    /// Only calls that these events of a thread open; none where nothing can be wanted.
    pub(crate) within: Option<Option<Extent>>,
    pub(crate) with_logical: bool,
}

/// Goes through spans.
pub(crate) struct SpanCursor {
    shared: Shared,
    scan: SpanScan,
    /// The process whose blocks are read.
    process: usize,
    matching: Option<Matching>,
    held: std::vec::IntoIter<Span>,
    current: Option<Span>,
    columns: Columns,
    thread: ThreadIndex,
    chosen: Option<Vec<u16>>,
    /// The index in `chosen`, or in the block.
    next: usize,
    count: usize,
    row: usize,
    is_done: bool,
}

impl SpanCursor {
    /// A cursor over spans that are known already.
    pub(crate) fn of(shared: Shared, rows: Vec<Span>) -> Result<Self, QueryError> {
        let scan = SpanScan { test: Test::All(Vec::new()), used: Vec::new(), within: Some(None), with_logical: false };
        let mut cursor = Self::new(shared, scan);
        cursor.held = rows.into_iter();
        cursor.advance()?;
        Ok(cursor)
    }

    pub(crate) fn open(shared: Shared, scan: SpanScan) -> Result<Self, QueryError> {
        let mut cursor = Self::new(shared, scan);
        cursor.begin_process();
        cursor.advance()?;
        Ok(cursor)
    }

    fn new(shared: Shared, scan: SpanScan) -> Self {
        Self {
            shared,
            scan,
            process: 0,
            matching: None,
            held: Vec::new().into_iter(),
            current: None,
            columns: Columns::new(),
            thread: ThreadIndex(0),
            chosen: None,
            next: 0,
            count: 0,
            row: 0,
            is_done: false,
        }
    }

    fn begin_process(&mut self) {
        let trace = &self.shared.trace;
        let Some(process) = trace.processes().get(self.process) else { return };
        if self.scan.with_logical {
            let rows = Span::logical(trace, self.process);
            let rows: Vec<Span> = rows.filter(|span| self.scan.test.matches_span(trace, span)).collect();
            self.held = rows.into_iter();
        }
        let ready = prepare(&self.scan.test, Subject::Spans, trace, process);
        let tables = &process.tables;
        self.matching = match &self.scan.within {
            None => Some(Matching::new(tables, ready, 0..tables.meta().blocks.len())),
            Some(Some(extent)) if extent.process == self.process => {
                let blocks = tables.blocks_of(extent.thread).filter(|&block| {
                    let entry = tables.block(block);
                    entry.first_seq <= *extent.seqs.end() && entry.last_seq >= *extent.seqs.start()
                });
                Some(Matching::new(tables, ready, blocks))
            }
            Some(_) => Some(Matching::new(tables, Ready::Always(false), 0..0)),
        };
    }

    /// Goes to the next block that has wanted rows. False at the end.
    fn next_block(&mut self) -> Result<bool, QueryError> {
        loop {
            let Some(matching) = &mut self.matching else { return Ok(false) };
            let trace = &self.shared.trace;
            let tables = &trace.processes()[self.process].tables;
            if let Some((block, chosen)) = matching.next(tables, &self.shared.cancel)? {
                let used = &self.scan.used;
                tables.read(block, |it| used.contains(&it) || it == Column::OpenSeq, &mut self.columns)?;
                self.thread = tables.block(block).thread;
                self.chosen = self.within_extent(chosen);
                self.count = self.chosen.as_ref().map_or(self.columns.rows(), Vec::len);
                self.next = 0;
                if self.count > 0 {
                    return Ok(true);
                }
                continue;
            }
            self.process += 1;
            self.matching = None;
            self.begin_process();
            if self.held.len() > 0 {
                return Ok(true);
            }
        }
    }

    /// Leaves out rows of the block that lie outside the wanted stretch.
    fn within_extent(&self, chosen: Option<Vec<u16>>) -> Option<Vec<u16>> {
        let Some(Some(extent)) = &self.scan.within else { return chosen };
        let from = self.columns.first_row_from(*extent.seqs.start());
        let until = self.columns.first_row_from(extent.seqs.end().next());
        Some(match chosen {
            Some(mut rows) => {
                rows.retain(|&row| (from..until).contains(&usize::from(row)));
                rows
            }
            None => (from as u16..until as u16).collect(),
        })
    }
}

impl RowCursor for SpanCursor {
    #[inline]
    fn is_done(&self) -> bool {
        self.is_done
    }

    #[inline]
    fn step(&mut self) -> bool {
        let is_there = self.next < self.count;
        if is_there {
            self.row = self.chosen.as_ref().map_or(self.next, |rows| usize::from(rows[self.next]));
            self.next += 1;
        }
        is_there
    }

    #[inline]
    fn number(&self, column: usize) -> Option<i64> {
        let column = match SpanColumn::at(column)? {
            SpanColumn::Duration => Column::Duration,
            SpanColumn::Start => Column::Start,
            SpanColumn::SelfTime => Column::SelfTime,
            SpanColumn::Depth => Column::Depth,
            _ => return None,
        };
        self.current.is_none().then(|| signed(self.columns.at(column, self.row)))
    }

    #[inline]
    fn advance(&mut self) -> Result<(), QueryError> {
        if self.step() {
            return Ok(());
        }
        loop {
            self.current = self.held.next();
            if self.current.is_some() {
                (self.next, self.count) = (0, 0);
                return Ok(());
            }
            if !self.next_block()? {
                self.is_done = true;
                return Ok(());
            }
            if self.held.len() == 0 {
                self.row = self.chosen.as_ref().map_or(0, |rows| usize::from(rows[0]));
                self.next = 1;
                return Ok(());
            }
        }
    }

    fn id(&self) -> i64 {
        let trace = &self.shared.trace;
        match &self.current {
            Some(row) => row.id(trace),
            None => trace.processes()[self.process].event_number(self.thread, self.columns.seq(self.row)),
        }
    }

    #[inline]
    fn put(&self, column: usize, out: &mut Context) -> rusqlite::Result<()> {
        let trace = &self.shared.trace;
        let Some(column) = SpanColumn::at(column) else { return out.set_result(Null) };
        match &self.current {
            Some(span) => span.value(trace, column).put(out),
            None => {
                let row = BlockRow { columns: &self.columns, row: self.row };
                let call = Frame { thread: self.thread, columns: row };
                value(trace, &trace.processes()[self.process], &call, column).put(out)
            }
        }
    }
}
