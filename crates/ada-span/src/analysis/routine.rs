//! Finds what a thread ran: its start routine, and the program's own function under the language runtime's.

use std::ops::Range;

use ada_event::{EventSeq, FunctionId, TraceNanos};

use crate::error::SpanError;
use crate::function_traits::FunctionTraits;
use crate::observer::ThreadStart;
use crate::outcome::Reason;
use crate::pthread::{Routine, ThreadLife};
use crate::role::Role;
use crate::source::{ProcessSource, ThreadInfo};
use crate::table::{Column, Columns, Tables};
use crate::thread_index::ThreadIndex;

/// Thread ids have 22 bits on Linux; the bits above number the threads, or parts of one, that had the same id.
const GENERATION_SHIFT: u32 = 22;

/// What is known of all threads before they are matched with their creations. A thread of the trace can be several in
/// turn, where the system has used an id again.
pub(crate) fn lives(
    tables: &Tables,
    source: &dyn ProcessSource,
    threads: &[ThreadInfo],
    traits: &FunctionTraits,
    mut starts: Vec<ThreadStart>,
) -> Result<Vec<ThreadLife>, SpanError> {
    starts.sort_by_key(|start| (start.thread, start.seq));
    let mut columns = Columns::new();
    let mut lives = Vec::with_capacity(threads.len());
    for (thread, (info, entry)) in ThreadIndex::all(threads.len()).zip(threads.iter().zip(&tables.meta().threads)) {
        let first = starts.partition_point(|start| start.thread < thread);
        let count = starts[first..].iter().take_while(|start| start.thread == thread).count();
        let starts = &starts[first..first + count];
        let is_continued = entry.facts.begun_at_depth > 0 && info.id.0 >> GENERATION_SHIFT > 0 && count == 0;
        let rows = tables.blocks_of(thread);
        if info.is_first || is_continued || rows.is_empty() {
            continue;
        }
        let (first_time, last_time) = (entry.facts.first_time, entry.facts.last_time);
        if count == 0 && (entry.facts.begun_at_depth > 0 || info.is_attached) {
            lives.push(ThreadLife {
                thread,
                begin_seq: EventSeq(0),
                first_time,
                last_time,
                handle: info.handle,
                tid: info.tid,
                name: info.name,
                routine: routine_begun_before(tables, thread, traits, first_time)?,
                is_midway: true,
            });
            continue;
        }
        // What comes before the library's first function, or without it, is the first life.
        let begin = ThreadStart { thread, seq: EventSeq(0), time: first_time };
        let begins: Vec<ThreadStart> = std::iter::once(begin).chain(starts.iter().skip(1).copied()).collect();
        for (number, begin) in begins.iter().enumerate() {
            let next = begins.get(number + 1);
            let until = next.map_or(EventSeq(u64::MAX), |next| next.seq);
            let block = tables.block_of(thread, begin.seq).unwrap_or(rows.start);
            tables.read(block, |_| true, &mut columns)?;
            let of_life = Rows { tables, columns: &columns, traits, range: row_range(&columns, begin.seq, until) };
            lives.push(ThreadLife {
                thread,
                begin_seq: begin.seq,
                first_time: begin.time,
                last_time: next.map_or(last_time, |next| next.time),
                handle: info.handle.or_else(|| of_life.handed_to_start(source, thread)),
                tid: info.tid,
                name: None,
                routine: match of_life.routine() {
                    Some(routine) => {
                        let whole = after_jumps(tables, thread, routine, until)?;
                        Some(with_registers(whole, source, thread))
                    }
                    None => None,
                },
                is_midway: false,
            });
        }
    }
    Ok(lives)
}

/// What a thread ran that began before the recording, if its end is there: the outermost of the program's own functions
/// that returned to callers from before.
fn routine_begun_before(
    tables: &Tables,
    thread: ThreadIndex,
    traits: &FunctionTraits,
    first_time: TraceNanos,
) -> Result<Option<Routine>, SpanError> {
    let mut columns = Columns::new();
    let Some(last) = tables.blocks_of(thread).last() else { return Ok(None) };
    tables.read(last, |_| true, &mut columns)?;
    let rows = Rows { tables, columns: &columns, traits, range: 0..columns.rows() };
    let began_before = (0..columns.rows()).filter(|&row| columns.outcome(row).reason == Reason::AttachedMidway);
    let outermost = began_before.filter(|&row| rows.is_own(row)).min_by_key(|&row| columns.at(Column::Depth, row));
    Ok(outermost.map(|row| {
        let (seq, function) = (columns.seq(row), rows.function(row));
        Routine {
            seq,
            depth: columns.at(Column::Depth, row),
            close_seq: None,
            start: first_time,
            end: columns.start(row),
            outcome: columns.outcome(row),
            function,
            address: traits.get(function).address,
            argument: None,
            result: None,
            user_function: function,
        }
    }))
}

fn row_range(columns: &Columns, from: EventSeq, until: EventSeq) -> Range<usize> {
    columns.first_row_from(from)..columns.first_row_from(until)
}

/// The first spans of one life of a thread.
struct Rows<'a> {
    tables: &'a Tables,
    columns: &'a Columns,
    traits: &'a FunctionTraits,
    range: Range<usize>,
}

impl Rows<'_> {
    fn function(&self, row: usize) -> FunctionId {
        let functions = &self.tables.meta().functions;
        functions.get(self.columns.function(row).as_usize()).map_or(FunctionId(u64::MAX), |stats| stats.function)
    }

    fn role(&self, row: usize) -> Role {
        self.traits.get(self.function(row)).role
    }

    /// Whether a row is of the program's own code.
    fn is_own(&self, row: usize) -> bool {
        let known = self.traits.get(self.function(row));
        !known.is_runtime && known.role == Role::Plain && !known.is_entry_only
    }

    /// glibc hands a thread's own handle to its first function.
    fn handed_to_start(&self, source: &dyn ProcessSource, thread: ThreadIndex) -> Option<u64> {
        let row = self.range.clone().find(|&row| self.role(row) == Role::ThreadStart)?;
        let detail = source.event_detail(thread, self.columns.seq(row))?;
        Some(detail.registers[0])
    }

    /// The start routine is the outermost span, below the C library's own first function, that leads to the first
    /// function of the program.
    fn routine(&self) -> Option<Routine> {
        let at = |column: Column, row: usize| self.columns.at(column, row);
        let user = self.range.clone().find(|&row| self.is_own(row));
        // Without a function of the program: what the C library's first function called longest.
        let row = user.or_else(|| {
            let start = self.range.clone().find(|&row| self.role(row) == Role::ThreadStart)?;
            let is_below = |row: &usize| at(Column::Depth, *row) == at(Column::Depth, start) + 1;
            let calls = (start + 1..self.range.end).filter(is_below);
            calls.max_by_key(|&row| at(Column::Duration, row)).filter(|&row| at(Column::Duration, row) > 0)
        })?;
        let mut top = row;
        loop {
            let parent = self.columns.parent_seq(top).and_then(|seq| self.columns.row_of(seq));
            let Some(parent) = parent.filter(|&row| self.role(row) != Role::ThreadStart) else { break };
            // Whatever is outermost, if the library's first function is not to be seen, is that function, unless it is
            // the program's.
            if at(Column::ParentDelta, parent) == 0 && !self.is_own(parent) {
                break;
            }
            top = parent;
        }
        Some(Routine {
            seq: self.columns.seq(top),
            depth: at(Column::Depth, top),
            close_seq: self.columns.close_seq(top),
            start: self.columns.start(top),
            end: self.columns.end(top),
            outcome: self.columns.outcome(top),
            function: self.function(top),
            address: self.traits.get(self.function(top)).address,
            argument: None,
            result: None,
            user_function: self.function(row),
        })
    }
}

/// A start routine that ends by jumping to another function goes on in that: the thread ends when the last one does.
fn after_jumps(
    tables: &Tables,
    thread: ThreadIndex,
    mut routine: Routine,
    until: EventSeq,
) -> Result<Routine, SpanError> {
    let mut columns = Columns::new();
    let mut seq = routine.seq;
    for block in tables.blocks_of(thread) {
        let entry = tables.block(block);
        if routine.outcome.reason != Reason::TailCall || entry.first_seq >= until {
            break;
        }
        if entry.last_seq <= seq || u64::from(entry.min_depth) > routine.depth {
            continue;
        }
        tables.read(block, |column| column != Column::SelfTime && column != Column::Context, &mut columns)?;
        for row in 0..columns.rows() {
            let (open, depth) = (columns.seq(row), columns.at(Column::Depth, row));
            if open <= seq || depth > routine.depth {
                continue;
            }
            if routine.outcome.reason != Reason::TailCall || open >= until || depth < routine.depth {
                return Ok(routine);
            }
            seq = open;
            routine.end = columns.end(row);
            routine.outcome = columns.outcome(row);
            routine.close_seq = columns.close_seq(row);
        }
    }
    Ok(routine)
}

fn with_registers(routine: Routine, source: &dyn ProcessSource, thread: ThreadIndex) -> Routine {
    let register = |seq: EventSeq| source.event_detail(thread, seq).map(|detail| detail.registers[0]);
    Routine { argument: register(routine.seq), result: routine.close_seq.and_then(register), ..routine }
}
