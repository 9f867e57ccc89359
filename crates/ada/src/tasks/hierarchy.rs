//! Tasks below the tasks that made them.

use ada_span::concurrency::Context;
use ada_span::task::TaskSpan;

use crate::analysis::{OpenedSession, TraceProcess};

/// A task, with its level of the hierarchy.
pub(super) struct Line {
    pub(super) process: usize,
    /// The task's index in the tables.
    pub(super) index: usize,
    pub(super) level: usize,
}

/// All tasks, each behind the one that made it, in the order of their creation.
pub(super) fn hierarchy(opened: &OpenedSession) -> Vec<Line> {
    opened.processes().iter().enumerate().flat_map(|(number, process)| of_process(number, process)).collect()
}

fn of_process(number: usize, process: &TraceProcess) -> Vec<Line> {
    let tasks = &process.tables.meta().tasks;
    let mut made: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    let mut roots = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        match maker(process, task.parent()) {
            Some(parent) if parent != index => made[parent].push(index),
            _ => roots.push(index),
        }
    }
    let by_time = |indexes: &mut Vec<usize>| {
        // Those whose creation was not seen come when they are first seen.
        let first_seen = |task: &TaskSpan| task.create_time.map_or(task.start, |time| time.min(task.start));
        indexes.sort_by_key(|&index| (first_seen(&tasks[index]), tasks[index].id));
    };
    made.iter_mut().for_each(by_time);
    by_time(&mut roots);
    let mut lines = Vec::with_capacity(tasks.len());
    let mut stack: Vec<(usize, usize)> = roots.into_iter().rev().map(|index| (index, 0)).collect();
    while let Some((index, level)) = stack.pop() {
        lines.push(Line { process: number, index, level });
        let below = std::mem::take(&mut made[index]);
        stack.extend(below.into_iter().rev().map(|child| (child, level + 1)));
    }
    lines
}

/// The task that is behind a context: itself, or the one whose block, or block's block, it is.
fn maker(process: &TraceProcess, mut context: Context) -> Option<usize> {
    /// Blocks that submit blocks, before it is given up.
    const DEEPEST: usize = 4096;
    for _ in 0..DEEPEST {
        match context {
            Context::Thread => return None,
            Context::Task(index) => return Some(index as usize),
            Context::Block(index) => context = process.tables.meta().dispatched[index as usize].parent(),
        }
    }
    None
}
