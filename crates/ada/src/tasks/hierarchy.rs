//! Tasks below the tasks that made them.

use ada_span::concurrency::Context;

use crate::analysis::{OpenedSession, TraceProcess};

/// A task in its place of the hierarchy.
pub(super) struct Line {
    pub(super) process: usize,
    /// The task's place in the tables.
    pub(super) place: usize,
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
    for (place, task) in tasks.iter().enumerate() {
        match maker(process, task.parent()) {
            Some(parent) if parent != place => made[parent].push(place),
            _ => roots.push(place),
        }
    }
    let by_time = |places: &mut Vec<usize>| {
        // Those whose creation was not seen come when they are first heard of.
        places.sort_by_key(|&place| (tasks[place].create_time.min(tasks[place].start), tasks[place].id));
    };
    made.iter_mut().for_each(by_time);
    by_time(&mut roots);
    let mut lines = Vec::with_capacity(tasks.len());
    let mut stack: Vec<(usize, usize)> = roots.into_iter().rev().map(|place| (place, 0)).collect();
    while let Some((place, level)) = stack.pop() {
        lines.push(Line { process: number, place, level });
        let below = std::mem::take(&mut made[place]);
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
            Context::Task(place) => return Some(place as usize),
            Context::Block(place) => context = process.tables.meta().dispatched[place as usize].parent(),
        }
    }
    None
}
