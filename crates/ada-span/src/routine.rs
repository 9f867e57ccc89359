//! Finds what a thread ran: its start routine, and the program's own function behind the machinery of its language.

use ada_event::FunctionId;

use crate::error::SpanError;
use crate::outcome::Outcome;
use crate::pthread::{Routine, ThreadLife};
use crate::source::{ProcessSource, ThreadInfo};
use crate::table::{Column, Columns, Tables};
use crate::traits::{FunctionTraits, Role};

/// What is known of all threads before they are matched with their creations.
pub(crate) fn lives(
    tables: &Tables,
    source: &dyn ProcessSource,
    threads: &[ThreadInfo],
    traits: &FunctionTraits,
) -> Result<Vec<ThreadLife>, SpanError> {
    let mut columns = Columns::new();
    let mut lives = Vec::with_capacity(threads.len());
    for (place, (info, entry)) in threads.iter().zip(&tables.meta().threads).enumerate() {
        let (mut routine, mut handle) = (None, info.handle);
        if !info.is_first && !tables.blocks_of(place).is_empty() {
            tables.read(tables.blocks_of(place).start, |_| true, &mut columns)?;
            handle = handle.or_else(|| handed_to_start(tables, &columns, traits, source, place));
            routine = find(tables, &columns, traits).map(|it| with_registers(it, source, place));
        }
        lives.push(ThreadLife {
            thread: place as u32,
            is_first: info.is_first,
            facts: entry.facts,
            handle,
            tid: info.tid,
            routine,
        });
    }
    Ok(lives)
}

/// glibc hands a thread's own handle to its first function.
fn handed_to_start(
    tables: &Tables,
    columns: &Columns,
    traits: &FunctionTraits,
    source: &dyn ProcessSource,
    thread: usize,
) -> Option<u64> {
    let function = tables.meta().functions.get(columns.at(Column::Function, 0) as usize)?.function;
    let is_start = traits.get(function).role == Role::ThreadStart;
    is_start.then(|| source.event_detail(thread, columns.at(Column::OpenSeq, 0)))?.map(|detail| detail.registers[0])
}

/// Looks through a thread's first spans. The start routine is the outermost span, below the C library's own first
/// function, that leads to the first function of the program.
fn find(tables: &Tables, columns: &Columns, traits: &FunctionTraits) -> Option<Routine> {
    let function_at = |row: usize| {
        let place = columns.at(Column::Function, row) as usize;
        tables.meta().functions.get(place).map_or(FunctionId(u64::MAX), |stats| stats.function)
    };
    let is_own = |row: usize| {
        let traits = traits.get(function_at(row));
        !traits.is_runtime && traits.role == Role::Plain && !traits.is_entry_only
    };
    let user = (0..columns.rows()).find(|&row| is_own(row));
    // Without a function of the program: what the C library's first function called longest.
    let row = user.or_else(|| {
        (1..columns.rows())
            .filter(|&row| columns.at(Column::Depth, row) == columns.at(Column::Depth, 0) + 1)
            .max_by_key(|&row| columns.at(Column::Duration, row))
            .filter(|_| traits.get(function_at(0)).role == Role::ThreadStart)
    })?;
    let mut top = row;
    loop {
        let delta = columns.at(Column::ParentDelta, top);
        let parent = columns.at(Column::OpenSeq, top).wrapping_sub(delta);
        let Ok(parent) = columns.get(Column::OpenSeq).binary_search(&parent) else { break };
        if delta == 0 || traits.get(function_at(parent)).role == Role::ThreadStart {
            break;
        }
        // Whatever is outermost, if the library's first function is not to be seen, is the library's first function,
        // unless it is the program's.
        if columns.at(Column::ParentDelta, parent) == 0 && !is_own(parent) {
            break;
        }
        top = parent;
    }
    let (seq, start) = (columns.at(Column::OpenSeq, top), columns.at(Column::Start, top));
    let close_delta = columns.at(Column::CloseDelta, top);
    Some(Routine {
        seq,
        close_seq: (close_delta > 0).then(|| seq + close_delta),
        start,
        end: start.saturating_add(columns.at(Column::Duration, top)),
        outcome: Outcome::from_byte(columns.at(Column::Outcome, top) as u8).unwrap_or_default(),
        function: function_at(top).0,
        address: traits.get(function_at(top)).address,
        argument: None,
        result: None,
        user_function: function_at(row).0,
    })
}

fn with_registers(routine: Routine, source: &dyn ProcessSource, thread: usize) -> Routine {
    let register = |seq: u64| source.event_detail(thread, seq).map(|detail| detail.registers[0]);
    Routine { argument: register(routine.seq), result: routine.close_seq.and_then(register), ..routine }
}
