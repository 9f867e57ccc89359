//! Spans by their references.

use ada_span::NONE;
use ada_span::table::{Column, Columns};

use crate::error::QueryError;
use crate::mistake::Mistake;
use crate::scan::read_frame;
use crate::span::SpanRow;
use crate::tables::Extent;
use crate::trace::Trace;
use crate::trace::{Reference, Target};

/// The spans that a reference means: several where several sessions have one.
pub(crate) fn all(trace: &Trace, session: Option<&str>, reference: Reference) -> Result<Vec<SpanRow>, QueryError> {
    let mut found = Vec::new();
    for (number, process) in trace.processes().iter().enumerate() {
        let is_meant = reference.pid.is_none_or(|pid| pid == process.pid)
            && session.is_none_or(|name| trace.session_of(process).name == name);
        if is_meant {
            found.extend(in_process(trace, number, reference.target)?);
        }
    }
    Ok(found)
}

/// The one span that a reference means.
pub(crate) fn one(trace: &Trace, session: Option<&str>, id: &str) -> Result<SpanRow, QueryError> {
    let wrong = |words: String| QueryError::Mistake(Mistake::new(words, "", None));
    let reference: Reference = id.parse().map_err(|words| wrong(format!("{id}: {words}")))?;
    let found = all(trace, session, reference)?;
    match found[..] {
        [row] => Ok(row),
        [] => Err(wrong(format!("no span is {id}"))),
        _ => Err(wrong(format!(
            "several sessions or processes have a span {id}; write PID/ before it, or name the session"
        ))),
    }
}

fn in_process(trace: &Trace, number: usize, target: Target) -> Result<Option<SpanRow>, QueryError> {
    let process = &trace.processes()[number];
    let meta = process.tables.meta();
    let (id, seq) = match target {
        Target::Frame(id, seq) | Target::Callback(id, seq) | Target::Thread(id, seq) | Target::Block(id, seq) => {
            (id, seq)
        }
        Target::Task(id) => {
            return Ok(meta.tasks.iter().position(|it| it.id == id).map(|at| SpanRow::Task(number, at)));
        }
        Target::Event(..) | Target::Function(_) => return Ok(None),
    };
    let Some(thread) = meta.thread_index(id) else { return Ok(None) };
    let place = thread as u64;
    Ok(match target {
        Target::Frame(..) => {
            read_frame(&process.tables, thread, seq)?.map(|values| SpanRow::Frame(number, thread, values))
        }
        Target::Callback(..) => {
            let at = meta.callbacks.iter().position(|it| it.thread == place && it.seq == seq);
            at.map(|at| SpanRow::Callback(number, at))
        }
        Target::Block(..) => {
            let at = meta.dispatched.iter().position(|it| it.thread == place && it.seq == seq);
            at.map(|at| SpanRow::Block(number, at))
        }
        _ => {
            let at = meta.pthreads.iter().position(|it| it.thread == place && it.begin_seq == seq);
            at.map(|at| SpanRow::Pthread(number, at))
        }
    })
}

/// The call behind a span: itself, or what a thread or callback ran.
pub(crate) fn call_of(trace: &Trace, row: SpanRow) -> Result<Option<SpanRow>, QueryError> {
    let number = row.process();
    let tables = &trace.processes()[number].tables;
    let (thread, seq) = match row {
        SpanRow::Frame(..) => return Ok(Some(row)),
        SpanRow::Pthread(_, at) => (tables.meta().pthreads[at].thread as usize, tables.meta().pthreads[at].routine_seq),
        // A task runs in many pieces, and no call holds them.
        SpanRow::Task(..) => return Ok(None),
        SpanRow::Block(_, at) => {
            let span = &tables.meta().dispatched[at];
            (span.thread as usize, if span.has_run() { span.seq } else { NONE })
        }
        SpanRow::Callback(_, at) => (tables.meta().callbacks[at].thread as usize, tables.meta().callbacks[at].seq),
    };
    if seq == NONE {
        return Ok(None);
    }
    Ok(read_frame(tables, thread, seq)?.map(|values| SpanRow::Frame(number, thread, values)))
}

/// The stretch of its thread in which everything lies that a span encloses.
pub(crate) fn extent(trace: &Trace, session: Option<&str>, reference: Reference) -> Result<Option<Extent>, QueryError> {
    let Some(&row) = all(trace, session, reference)?.first() else { return Ok(None) };
    match call_of(trace, row)? {
        Some(SpanRow::Frame(process, thread, values)) => Ok(Some(below(trace, process, thread, &values)?)),
        _ => Ok(None),
    }
}

/// The stretch of the calls that a call encloses.
pub(crate) fn below(
    trace: &Trace,
    process: usize,
    thread: usize,
    values: &crate::scan::FrameValues,
) -> Result<Extent, QueryError> {
    let seq = values[Column::OpenSeq as usize];
    let last = match values[Column::CloseDelta as usize] {
        0 => last_below(trace, process, thread, values)?,
        delta => seq.saturating_add(delta),
    };
    Ok(Extent { process, thread, seqs: seq.saturating_add(1)..=last })
}

/// The last call below one that no event has ended: rows are in the order of a walk through the tree.
fn last_below(
    trace: &Trace,
    process: usize,
    thread: usize,
    values: &crate::scan::FrameValues,
) -> Result<u64, QueryError> {
    let tables = &trace.processes()[process].tables;
    let (root, depth) = (values[Column::OpenSeq as usize], values[Column::Depth as usize]);
    let mut last = root;
    let mut columns = Columns::new();
    let wanted = |column| matches!(column, Column::OpenSeq | Column::Depth | Column::ParentDelta);
    for block in tables.blocks_of(thread).filter(|&block| tables.block(block).last_seq > root) {
        if u64::from(tables.block(block).min_depth) > depth && tables.block(block).first_seq > root {
            last = tables.block(block).last_seq;
            continue;
        }
        tables.read(block, wanted, &mut columns)?;
        for row in 0..columns.rows() {
            let seq = columns.at(Column::OpenSeq, row);
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
