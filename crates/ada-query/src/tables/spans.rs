//! `spans`.

use std::ops::RangeInclusive;

use ada_span::table::{Column, Columns};
use rusqlite::types::Value;
use rusqlite::vtab::Context;

use crate::doc::TableDoc;
use crate::error::QueryError;
use crate::predicate::{Ready, Test, prepare};
use crate::relation::{Ask, Described, Op, Relation, RowCursor, signed};
use crate::scan::Matching;
use crate::shared::Shared;
use crate::span::find;
use crate::span::{self, SpanRow, at, field, logical_rows, put_frame};
use crate::trace::Reference;

/// All spans: threads and callbacks of a process, then its calls by thread and start.
pub(crate) struct Spans;

impl Described for Spans {
    const DOC: &'static TableDoc = &TableDoc {
        name: "spans",
        about: "calls of functions, and the threads and callbacks that they stand for",
        columns: span::COLUMNS,
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
        let session = ask.text(at::SESSION);
        if let Some(id) = ask.text(at::SPAN_ID) {
            let rows = match id.parse::<Reference>() {
                Ok(reference) => find::all(&shared.trace, session, reference)?,
                Err(_) => Vec::new(),
            };
            return SpanCursor::of(shared.clone(), rows);
        }
        let mut scan =
            SpanScan { test: Test::All(hints(ask)), used: used_columns(ask), within: None, with_logical: true };
        if let Some(parent) = ask.text(at::PARENT).and_then(|id| id.parse::<Reference>().ok()) {
            // Children of a call lie behind it on its thread; logical ones can be anywhere, and are few.
            scan.within = Some(find::extent(&shared.trace, session, parent)?);
        }
        SpanCursor::open(shared.clone(), scan)
    }

    fn expect(shared: &Shared, conditions: &[(usize, Op)]) -> f64 {
        let spans =
            |process: &crate::TraceProcess| process.tables.meta().threads.iter().map(|it| it.spans).sum::<u64>();
        let mut rows = shared.trace.processes().iter().map(spans).sum::<u64>() as f64;
        for (column, op) in conditions {
            rows /= match (*column, op) {
                (at::SPAN_ID, Op::Eq) => return 1.0,
                (at::PARENT, Op::Eq) => 1000.0,
                (at::NAME | at::FUNCTION_ID, _) => 100.0,
                (at::TYPE | at::RUNTIME | at::SESSION | at::PID, _) => 1.0,
                _ => 4.0,
            };
        }
        rows
    }
}

/// The part of a condition that is safe to use before SQLite looks at it: with values of the column's own kind only.
fn hint(column: usize, op: Op, value: &Value) -> Option<Test> {
    let field = field(column)?;
    let fits = match value {
        Value::Integer(_) | Value::Real(_) => field.is_number(),
        // The application may give LIKE another meaning; ours is SQLite's own. Sets in GLOB are left to it.
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
    let used = (0..span::COLUMNS.len()).filter(|&column| ask.uses(column)).flat_map(span::needs);
    let used: Vec<Column> = used.copied().collect();
    Column::ALL.into_iter().filter(|column| used.contains(column)).collect()
}

/// Which spans are wanted.
pub(crate) struct SpanScan {
    pub(crate) test: Test,
    /// The columns that somebody wants to have.
    pub(crate) used: Vec<Column>,
    /// Only calls that these events of a thread, by process and place, open; none where nothing can be wanted.
    pub(crate) within: Option<Option<Extent>>,
    pub(crate) with_logical: bool,
}

/// A stretch of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) process: usize,
    pub(crate) thread: usize,
    pub(crate) seqs: RangeInclusive<u64>,
}

/// Goes through spans.
pub(crate) struct SpanCursor {
    shared: Shared,
    scan: SpanScan,
    /// The process whose blocks are read.
    process: usize,
    matching: Option<Matching>,
    held: std::vec::IntoIter<SpanRow>,
    current: Option<SpanRow>,
    columns: Columns,
    thread: usize,
    chosen: Option<Vec<u16>>,
    /// The place in `chosen`, or in the block.
    next: usize,
    count: usize,
    row: usize,
    is_done: bool,
}

impl SpanCursor {
    /// A cursor over spans that are known already.
    pub(crate) fn of(shared: Shared, rows: Vec<SpanRow>) -> Result<Self, QueryError> {
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
            thread: 0,
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
            let rows = logical_rows(trace, self.process);
            let rows: Vec<SpanRow> =
                rows.filter(|row| self.scan.test.matches(&|field| row.field(trace, field))).collect();
            self.held = rows.into_iter();
        }
        let ready = prepare(&self.scan.test, trace, process);
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
                self.thread = tables.block(block).thread as usize;
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
        let seqs = self.columns.get(Column::OpenSeq);
        let from = seqs.partition_point(|seq| seq < extent.seqs.start());
        let until = seqs.partition_point(|seq| seq <= extent.seqs.end());
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
        let column = match column {
            at::DURATION => Column::Duration,
            at::START => Column::Start,
            at::SELF => Column::SelfTime,
            at::DEPTH => Column::Depth,
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
            None => {
                trace.processes()[self.process].event_number(self.thread, self.columns.at(Column::OpenSeq, self.row))
            }
        }
    }

    #[inline]
    fn put(&self, column: usize, out: &mut Context) -> rusqlite::Result<()> {
        let trace = &self.shared.trace;
        match &self.current {
            Some(row) => row.put(trace, column, out),
            None => {
                let process = &trace.processes()[self.process];
                put_frame(trace, process, self.thread, |it| self.columns.at(it, self.row), column, out)
            }
        }
    }
}
