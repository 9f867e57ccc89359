//! The span that a reference means.

use ada_query::Reference;

use crate::analysis::{BlockView, CallbackView, OpenedSession, PthreadView, Row, Target, TaskView, read_frame};

/// The span that a reference means; an event's is that which it opens.
pub(super) fn find(opened: &OpenedSession, reference: Reference) -> anyhow::Result<Option<Row>> {
    for (number, process) in opened.processes.iter().enumerate() {
        if reference.pid.is_some_and(|pid| pid != process.pid) {
            continue;
        }
        let meta = process.tables.meta();
        let thread = |id: u32| meta.thread_index(id);
        let row = match reference.target {
            Target::Frame(id, seq) | Target::Event(id, seq) => match thread(id) {
                Some(thread) => read_frame(opened, number, thread, seq)?.map(Row::Frame),
                None => None,
            },
            Target::Thread(id, seq) => thread(id).and_then(|thread| {
                let span = *process.pthread(thread as u64, seq)?;
                Some(Row::Pthread(PthreadView { process: number, span }))
            }),
            Target::Task(id) => {
                let task = meta.tasks.iter().find(|task| task.id == id);
                task.map(|&span| Row::Task(TaskView { process: number, span }))
            }
            Target::Block(id, seq) => thread(id).and_then(|thread| {
                let span = meta.dispatched.iter().find(|it| it.thread == thread as u64 && it.seq == seq)?;
                Some(Row::Block(BlockView { process: number, span: *span }))
            }),
            Target::Callback(id, seq) => thread(id).and_then(|thread| {
                let span = meta.callbacks.iter().find(|it| it.thread == thread as u64 && it.seq == seq)?;
                Some(Row::Callback(CallbackView { process: number, span: *span }))
            }),
            Target::Function(_) => None,
        };
        if row.is_some() {
            return Ok(row);
        }
    }
    Ok(None)
}
