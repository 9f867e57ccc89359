//! Who makes a task.

use ada_event::{FunctionId, RuntimeAddr};

use super::Tasks;
use crate::concurrency::{Context, Contexts, LogicalCall};
use crate::task::{TaskKind, WaitKind};

impl Tasks {
    pub(super) fn create(
        &mut self,
        call: &LogicalCall,
        task: u32,
        (entry, head): (u64, u64),
        contexts: &mut Contexts,
        function_at: &dyn Fn(RuntimeAddr) -> Option<FunctionId>,
    ) {
        let parent = contexts.now(call.thread);
        let span = &mut self.tasks[task as usize].life.span;
        // One function of the runtime calls the other; the outer one has the flags as they were meant.
        if span.create_seq.is_some() {
            return;
        }
        span.kind = TaskKind::of(call.arguments[0], head as u32) as u64;
        // What runs it may have begun before the call returned, and so before its id was known here.
        if let Some(function) = function_at(RuntimeAddr(entry)) {
            span.function = Some(function);
        }
        span.create_thread = Some(call.thread);
        span.create_seq = Some(call.seq);
        span.create_time = Some(call.time);
        span.parent = parent.to_word();
        let kind = span.kind();
        let Context::Task(parent) = parent else { return };
        match kind {
            // What a task makes of these between its continuation and its wait is what ends its sleep.
            TaskKind::Helper => self.tasks[parent as usize].purpose = WaitKind::Sleep,
            // A child of a task that is cancelled is so from the start.
            TaskKind::AsyncLet | TaskKind::Group => {
                self.tasks[parent as usize].children.push(task);
                self.inherit_cancellation(task, parent, call.time);
            }
            _ => (),
        }
    }
}
