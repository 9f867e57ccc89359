//! Who waits for whom: what the waits of a process mean together.

mod blocked;
mod call_places;
mod readers;
mod sums;
mod tasks;

pub use blocked::{Deadlock, Party, blocked_at, deadlocks, held_at, hides_releases};
pub use call_places::CallPlaces;
pub use readers::Readers;
pub use sums::{By, WaitSum, sums};
pub use tasks::{all_waits, suspended, suspended_at};

use ada_event::{EventSeq, TraceNanos};
use ada_span::concurrency::Context;
use ada_span::wait::{WaitKind, WaitSpan};
use ada_span::{NONE, ThreadIndex};
use serde_json::{Value, json};

use crate::trace::{RemoteHolder, RemoteWaker, Target, Trace, TraceProcess};

/// What was waited for, as people and tables call it.
pub fn object_name(process: &TraceProcess, wait: &WaitSpan) -> Option<String> {
    let address = || (wait.object != NONE).then(|| format!("{:#x}", wait.object));
    if let Some((_, suspension)) = suspended(process, wait) {
        return match wait.kind() {
            WaitKind::Sleep => None,
            WaitKind::Task => (wait.object != NONE).then(|| format!("task {}", wait.object)),
            WaitKind::Executor => {
                process.executor(suspension.executor).map(|it| process.executor_name(it)).or_else(address)
            }
            _ => address(),
        };
    }
    if let Some(name) = wait.shared_object.and_then(|number| process.shared_object(number)) {
        return Some(name.to_owned());
    }
    match (wait.kind(), wait.holder) {
        (WaitKind::Sleep | WaitKind::Signal, _) => None,
        (WaitKind::Yield, _) => Some(format!("{} yields", wait.object)),
        (WaitKind::Input, _) => {
            let known = process.io_object(wait.object).map(str::to_owned);
            known.or(wait.descriptor.map(|descriptor| format!("descriptor {descriptor}")))
        }
        (WaitKind::Queue, _) => process.queue_name(wait.object),
        (WaitKind::Join, Some(thread)) => Some(format!("thread {}", process.thread_id(thread))),
        _ => address(),
    }
}

/// Who waited: a call of a thread's, or a task.
pub fn waiter(process: &TraceProcess, wait: &WaitSpan) -> Target {
    match suspended(process, wait) {
        Some((task, _)) => Target::Task(task.id),
        None => Target::Frame(process.thread_id(wait.thread), wait.seq),
    }
}

/// The thread that waited. One that runs tasks does not wait with them.
pub fn waiting_thread(wait: &WaitSpan) -> Option<ThreadIndex> {
    wait.suspension.is_none().then_some(wait.thread)
}

/// The task that ended a wait, by its runtime's id.
pub(crate) fn waker_task(process: &TraceProcess, wait: &WaitSpan) -> Option<u64> {
    if wait.kind() == WaitKind::Task && wait.waker.is_some() && wait.suspension.is_some() {
        return Some(wait.object);
    }
    let context = match suspended(process, wait) {
        Some((_, suspension)) => suspension.resumer(),
        None => process.context_at(wait.waker?, wait.wake_seq?),
    };
    let Context::Task(task) = context else { return None };
    process.tables.meta().tasks.get(task as usize).map(|task| task.id)
}

/// What a task's runtime calls the reason of its wait; of a mutex, that the thread which had it has ended.
pub(crate) fn reason(process: &TraceProcess, wait: &WaitSpan) -> Option<&'static str> {
    if wait.has_died == 1 {
        return Some("owner died");
    }
    suspended(process, wait).map(|(_, suspension)| suspension.kind().word())
}

/// The words for what is not certain about a wait.
pub fn doubt_words(wait: &WaitSpan) -> Vec<&'static str> {
    wait.doubts().iter().map(|doubt| doubt.word()).collect()
}

/// A wait as JSON, with all that is known of it.
pub fn to_json(trace: &Trace, process: &TraceProcess, wait: &WaitSpan, places: &CallPlaces) -> Value {
    let remote = trace.remote_waker(wait);
    let holder = trace.remote_holder(wait);
    let frame = |thread: Option<ThreadIndex>, seq: Option<EventSeq>| {
        let (thread, seq) = thread.zip(seq)?;
        Some(process.refer(Target::Frame(process.thread_id(thread), seq)))
    };
    let place = |thread: Option<ThreadIndex>, seq: Option<EventSeq>| places.name(process, thread?, seq?);
    let id = |thread: Option<ThreadIndex>| process.known_thread_id(thread).map(|id| id.0);
    let time = |time: Option<TraceNanos>| time.map(|time| time.0);
    json!({
        "pid": process.pid.0,
        "kind": wait.kind().word(),
        "object": object_name(process, wait),
        "mutex": (wait.mutex != NONE).then(|| format!("{:#x}", wait.mutex)),
        "reason": reason(process, wait),
        "thread_id": id(waiting_thread(wait)),
        "task_id": suspended(process, wait).map(|(task, _)| task.id),
        "span_id": process.refer(waiter(process, wait)),
        "function": places.name_of_waiter(process, wait),
        "start_ns": wait.start.0,
        "end_ns": wait.end.0,
        "duration_ns": wait.duration(),
        "state": state(wait),
        "is_timed": wait.is_timed == 1,
        "holder_thread_id": id(wait.holder).or(wait.holder_tid.map(|id| id.0)),
        "holder_pid": holder_pid(process, wait, holder.as_ref()),
        "hold_span_id": frame(wait.holder, wait.hold_seq).or(holder.as_ref().and_then(|it| it.span.clone())),
        "hold_function": place(wait.holder, wait.hold_seq).or(places.remote_hold_name(wait)),
        "hold_start_ns": time(wait.hold_start),
        "waker_thread_id": id(wait.waker).or(remote.as_ref().map(|it| it.thread_id.0)),
        "wake_span_id": frame(wait.waker, wait.wake_seq).or(remote.as_ref().and_then(|it| it.span.clone())),
        "waker_task_id": waker_task(process, wait),
        "wake_function": place(wait.waker, wait.wake_seq).or(places.remote_name(wait)),
        "wake_ns": time(wait.wake_time),
        "descriptor": wait.descriptor,
        "waker_pid": waker_pid(process, wait, remote.as_ref()),
        "uncertain": doubt_words(wait),
    })
}

/// The process of who held what was waited for.
pub(crate) fn holder_pid(process: &TraceProcess, wait: &WaitSpan, remote: Option<&RemoteHolder<'_>>) -> Option<u32> {
    wait.holder.map(|_| process.pid.0).or(remote.map(|it| it.process.pid.0))
}

/// The process of who ended a wait.
pub(crate) fn waker_pid(process: &TraceProcess, wait: &WaitSpan, remote: Option<&RemoteWaker<'_>>) -> Option<u32> {
    wait.waker.map(|_| process.pid.0).or(remote.map(|it| it.process.pid.0))
}

/// Whether a wait has ended, in a word.
pub fn state(wait: &WaitSpan) -> &'static str {
    match wait.has_ended {
        0 => "open",
        1 => "ended",
        _ => "unknown",
    }
}
