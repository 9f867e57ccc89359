//! Finds what a thread ran: its start routine, and the program's own function under the language runtime's.

use std::ops::Range;

use ada_event::{EventSeq, FunctionId, TraceNanos};

use crate::error::SpanError;
use crate::function_traits::FunctionTraits;
use crate::outcome::{Outcome, Reason, Status};
use crate::pthread::Routine;
use crate::role::Role;
use crate::source::ProcessSource;
use crate::table::{Column, Columns, Tables};
use crate::thread_index::ThreadIndex;

/// What a thread ran that began before the recording: the outermost of the program's own functions that was open at the
/// attach, or returned to callers from before.
pub(super) fn routine_begun_before(
    tables: &Tables,
    thread: ThreadIndex,
    traits: &FunctionTraits,
    first_time: TraceNanos,
    attached_time: Option<TraceNanos>,
) -> Result<Option<Routine>, SpanError> {
    let was_open = |columns: &Columns, row: usize| attached_time == Some(columns.start(row));
    let mut blocks = tables.blocks_of(thread);
    let Some(first) = blocks.next() else { return Ok(None) };
    let last = blocks.next_back().unwrap_or(first);
    let found = match outermost_own(tables, first, traits, was_open)? {
        Some(open) => Some(open),
        None => outermost_own(tables, last, traits, is_end_alone)?.map(|alone| Routine {
            close_seq: None,
            outcome: Outcome::new(Status::Unmatched, Reason::AttachedMidway),
            ..alone
        }),
    };
    Ok(found.map(|routine| Routine { start: first_time, ..routine }))
}

/// The outermost of the program's own functions in a block, among the rows that are meant.
fn outermost_own(
    tables: &Tables,
    block: usize,
    traits: &FunctionTraits,
    is_meant: impl Fn(&Columns, usize) -> bool,
) -> Result<Option<Routine>, SpanError> {
    let mut columns = Columns::new();
    tables.read(block, |_| true, &mut columns)?;
    let rows = Rows { tables, columns: &columns, traits, range: 0..columns.rows() };
    let own = (0..columns.rows()).filter(|&row| is_meant(&columns, row) && rows.is_own(row));
    let outermost = own.min_by_key(|&row| columns.at(Column::Depth, row));
    Ok(outermost.map(|row| rows.routine_in(row, row)))
}

/// Whether of a span only its end is known: it began before the first event of its thread.
fn is_end_alone(columns: &Columns, row: usize) -> bool {
    // One whose end was lost has a length.
    let is_moment = columns.start(row) == columns.end(row);
    is_moment && matches!(columns.outcome(row).reason, Reason::AttachedMidway | Reason::Dropped)
}

/// The first spans of one life of a thread.
pub(super) struct Rows<'a> {
    pub(super) tables: &'a Tables,
    pub(super) columns: &'a Columns,
    pub(super) traits: &'a FunctionTraits,
    pub(super) range: Range<usize>,
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

    /// The C library's first function.
    fn start(&self) -> Option<usize> {
        self.range.clone().find(|&row| self.role(row) == Role::ThreadStart)
    }

    /// glibc hands a thread's own handle to its first function.
    pub(super) fn handed_to_start(&self, source: &dyn ProcessSource, thread: ThreadIndex) -> Option<u64> {
        let detail = source.event_detail(thread, self.columns.seq(self.start()?))?;
        Some(detail.registers[0])
    }

    /// When the C library was ready to call the start routine.
    pub(super) fn ready_time(&self) -> Option<TraceNanos> {
        let start = self.start()?;
        let depth = |row: usize| self.columns.at(Column::Depth, row);
        let mut time = self.columns.start(start);
        let mut goes_on = false;
        for row in (start + 1..self.range.end).filter(|&row| depth(row) <= depth(start) + 1) {
            // `_setjmp` jumps to a function that may have no name.
            if depth(row) <= depth(start) || !goes_on && self.role(row) != Role::ThreadSetup {
                break;
            }
            time = self.columns.end(row);
            goes_on = self.columns.outcome(row).reason == Reason::TailCall;
        }
        Some(time)
    }

    /// The first of the program's own functions.
    pub(super) fn first_own(&self) -> Option<FunctionId> {
        self.first_own_from(self.range.start).map(|row| self.function(row))
    }

    /// The same from a row on. Where it is inlined, the language's function that runs it stands for it.
    fn first_own_from(&self, row: usize) -> Option<usize> {
        let rows = || row..self.range.end;
        let is_runner = |row: &usize| {
            let known = self.traits.get(self.function(*row));
            !known.is_library && known.role == Role::Plain && !known.is_entry_only
        };
        rows().find(|&row| self.is_own(row)).or_else(|| rows().find(is_runner))
    }

    /// The call of the start routine, if it is this function.
    pub(super) fn routine_of(&self, routine: FunctionId) -> Option<Routine> {
        let depth = |row: usize| self.columns.at(Column::Depth, row);
        let below = self.start().map(|start| depth(start) + 1);
        let is_routine = |row: &usize| self.function(*row) == routine && below.is_none_or(|it| it == depth(*row));
        let row = self.range.clone().find(is_routine)?;
        let known = self.traits.get(routine);
        let called = if known.is_runtime { self.first_own_from(row) } else { None };
        Some(self.routine_in(row, called.unwrap_or(row)))
    }

    /// The start routine is the outermost span, below the C library's own first function, that leads to the first
    /// function of the program.
    pub(super) fn routine(&self) -> Option<Routine> {
        let at = |column: Column, row: usize| self.columns.at(column, row);
        let user = self.range.clone().find(|&row| self.is_own(row));
        // Without a function of the program: what the C library's first function called longest.
        let row = user.or_else(|| {
            let start = self.start()?;
            let is_below = |row: &usize| at(Column::Depth, *row) == at(Column::Depth, start) + 1;
            let is_plain = |row: &usize| !matches!(self.role(*row), Role::ThreadSetup | Role::ThreadTeardown);
            let calls = (start + 1..self.range.end).filter(is_below).filter(is_plain);
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
        Some(self.routine_in(top, row))
    }

    fn routine_in(&self, row: usize, user_row: usize) -> Routine {
        let function = self.function(row);
        Routine {
            seq: Some(self.columns.seq(row)),
            depth: self.columns.at(Column::Depth, row),
            close_seq: self.columns.close_seq(row),
            start: self.columns.start(row),
            end: self.columns.end(row),
            outcome: self.columns.outcome(row),
            function: Some(function),
            address: self.traits.get(function).address,
            argument: None,
            result: None,
            user_function: Some(self.function(user_row)),
        }
    }
}

/// A start routine that ends by jumping to another function goes on in that: the thread ends when the last one does.
pub(super) fn after_jumps(
    tables: &Tables,
    thread: ThreadIndex,
    mut routine: Routine,
    until: EventSeq,
) -> Result<Routine, SpanError> {
    let mut columns = Columns::new();
    let Some(mut seq) = routine.seq else { return Ok(routine) };
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

pub(super) fn with_registers(routine: Routine, source: &dyn ProcessSource, thread: ThreadIndex) -> Routine {
    let register = |seq: EventSeq| source.event_detail(thread, seq).map(|detail| detail.registers[0]);
    Routine { argument: routine.seq.and_then(register), result: routine.close_seq.and_then(register), ..routine }
}
