//! Who asks tasks to end.

use ada_event::{EventSeq, TraceNanos};

use super::{IS_COMPLETE, Tasks};
use crate::NONE;
use crate::concurrency::{Contexts, LogicalCall};
use crate::task::{State, TaskSpan};
use crate::thread_index::ThreadIndex;

impl Tasks {
    pub(super) fn cancel(&mut self, call: &LogicalCall, task: u32, status: u64, contexts: &mut Contexts) {
        let canceler = contexts.now(call.thread);
        if status != NONE && status & IS_COMPLETE != 0 {
            return;
        }
        let request =
            CancelRequest { time: call.time, thread: call.thread, seq: call.seq, canceler: canceler.to_word() };
        self.cancel_with_children(task, &request);
    }

    /// A child of a task that is cancelled is so from its beginning.
    pub(super) fn inherit_cancellation(&mut self, task: u32, parent: u32, time: TraceNanos) {
        if let Some(request) = CancelRequest::of(&self.tasks[parent as usize].life.span) {
            self.cancel_with_children(task, &CancelRequest { time, ..request });
        }
    }

    /// A request reaches the children that `async let` and groups have made too: the runtime marks them within the same
    /// call, and only some of them by a call of their own.
    fn cancel_with_children(&mut self, task: u32, request: &CancelRequest) {
        let mut reached = vec![task];
        while let Some(index) = reached.pop() {
            let task = &mut self.tasks[index as usize];
            let span = &mut task.life.span;
            if task.life.state == State::Done || span.cancel_time.is_some() {
                continue;
            }
            span.cancel_time = Some(request.time);
            span.cancel_thread = Some(request.thread);
            span.cancel_seq = Some(request.seq);
            span.canceler = request.canceler;
            span.canceled_continuation = task.continuation.unwrap_or(NONE);
            reached.extend(&task.children);
        }
    }
}

/// Who asked a task to end, and when.
#[derive(Clone, Copy)]
struct CancelRequest {
    time: TraceNanos,
    thread: ThreadIndex,
    seq: EventSeq,
    canceler: u64,
}

impl CancelRequest {
    /// The one that a task was cancelled by.
    fn of(span: &TaskSpan) -> Option<Self> {
        let (time, thread, seq) = (span.cancel_time?, span.cancel_thread?, span.cancel_seq?);
        Some(Self { time, thread, seq, canceler: span.canceler })
    }
}
