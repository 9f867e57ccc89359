//! `waits`.

use ada_event::EventSeq;
use ada_span::{NONE, ThreadIndex};

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;
use crate::trace::Target;
use crate::waits::{
    CallPlaces, Readers, all_waits, doubt_words, holder_pid, object_name, reason, state, suspended, waiter,
    waiting_thread, waker_pid, waker_task,
};

/// Waits of threads and tasks for each other.
pub(super) struct Waits;

impl Described for Waits {
    const DOC: &'static TableDoc = &TableDoc {
        name: "waits",
        about: "waits: for what, who held it, and who ended the wait",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain(
                "kind",
                Kind::Text,
                "mutex, rwlock, condition, semaphore, barrier, join, once, yield, futex, sleep, io, queue or \
                 signal; of tasks also channel, select, task, group, continuation, executor or runtime",
            ),
            plain(
                "object",
                Kind::Text,
                "the address of what was waited for, in hex; a thread that was joined; what a descriptor stood for; an actor",
            ),
            plain("mutex", Kind::Text, "the mutex that a condition goes with"),
            plain("thread_id", Kind::Integer, "the thread that waited; null where it is a task"),
            plain("span_id", Kind::Text, "the call that waited, or the task"),
            plain("function", Kind::Text, "the program's own function that made it; where the task goes on"),
            plain("start_ns", Kind::Integer, "when the wait began"),
            plain("end_ns", Kind::Integer, "when it ended, or the recording did"),
            plain("duration_ns", Kind::Integer, "how long it took"),
            plain("state", Kind::Text, "ended, open (at the end of the recording) or unknown"),
            plain("is_timed", Kind::Integer, "1 if it gives up after a while"),
            plain(
                "holder_thread_id",
                Kind::Integer,
                "the thread that held the lock when the wait began; that was joined",
            ),
            plain("hold_span_id", Kind::Text, "the call that took the lock"),
            plain("hold_function", Kind::Text, "the program's own function that made it"),
            plain("hold_start_ns", Kind::Integer, "since when the lock was held"),
            plain("waker_thread_id", Kind::Integer, "the thread that ended the wait"),
            plain("wake_span_id", Kind::Text, "the call that ended it"),
            plain("wake_function", Kind::Text, "the program's own function that made it"),
            plain("wake_ns", Kind::Integer, "when that was"),
            plain("uncertain", Kind::Text, "what is not certain, and why; empty where all is"),
            plain("descriptor", Kind::Integer, "the descriptor that was waited for"),
            plain("waker_pid", Kind::Integer, "the process of who ended the wait"),
            plain("task_id", Kind::Integer, "the task or goroutine that waited"),
            plain(
                "reason",
                Kind::Text,
                "of a task: what its runtime calls it; owner died: the thread that had a robust mutex ended, and did not let go of it",
            ),
            plain(
                "reader_thread_ids",
                Kind::Text,
                "the threads that certainly read a read-write lock when the wait for it began; there may be more",
            ),
            plain("waker_task_id", Kind::Integer, "the task or goroutine that ended the wait"),
            plain("holder_pid", Kind::Integer, "the process of who held the lock when the wait began"),
        ],
        parameters: &[],
    };
}

impl Relation for Waits {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, ask: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        let needs_places = ["function", "hold_function", "wake_function"]
            .into_iter()
            .filter_map(|name| Self::DOC.column(name))
            .any(|column| ask.uses(column));
        for process in trace.processes() {
            let waits = all_waits(process);
            let places =
                if needs_places { CallPlaces::of_waits(trace, process, waits.iter())? } else { CallPlaces::default() };
            let frame = |thread: Option<ThreadIndex>, seq: Option<EventSeq>| {
                let call = thread.zip(seq).map(|(thread, seq)| Target::Frame(process.thread_id(thread), seq));
                maybe(call, |call| text(process.refer(call)))
            };
            let place = |thread: Option<ThreadIndex>, seq: Option<EventSeq>| {
                maybe(thread.zip(seq).and_then(|(thread, seq)| places.name(process, thread, seq)), text)
            };
            let readers = Readers::of_process(process);
            for wait in waits.iter() {
                let holder = process.known_thread_id(wait.holder).or(wait.holder_tid);
                let remote = trace.remote_waker(wait);
                let waker = process.known_thread_id(wait.waker).or(remote.as_ref().map(|it| it.thread_id));
                let remote_holder = trace.remote_holder(wait);
                let hold_span = match remote_holder.as_ref().and_then(|it| it.span.clone()) {
                    Some(span) => text(span),
                    None => frame(wait.holder, wait.hold_seq),
                };
                let hold_place = match places.remote_hold_name(wait) {
                    Some(name) => text(name),
                    None => place(wait.holder, wait.hold_seq),
                };
                let wake_span = match remote.as_ref().and_then(|it| it.span.clone()) {
                    Some(span) => text(span),
                    None => frame(wait.waker, wait.wake_seq),
                };
                let wake_place = match places.remote_name(wait) {
                    Some(name) => text(name),
                    None => place(wait.waker, wait.wake_seq),
                };
                rows.push(vec![
                    text(&trace.session_of(process).name),
                    number(process.pid),
                    text(wait.kind().word()),
                    maybe(object_name(process, wait), text),
                    maybe((wait.mutex != NONE).then(|| format!("{:#x}", wait.mutex)), text),
                    maybe(process.known_thread_id(waiting_thread(wait)), number),
                    text(process.refer(waiter(process, wait))),
                    maybe(places.name_of_waiter(process, wait), text),
                    number(wait.start),
                    number(wait.end),
                    number(wait.duration()),
                    text(state(wait)),
                    number(u64::from(wait.is_timed == 1)),
                    maybe(holder, number),
                    hold_span,
                    hold_place,
                    maybe(wait.hold_start, number),
                    maybe(waker, number),
                    wake_span,
                    wake_place,
                    maybe(wait.wake_time, number),
                    text(doubt_words(wait).join(", ")),
                    maybe(wait.descriptor, number),
                    maybe(waker_pid(process, wait, remote.as_ref()), number),
                    maybe(suspended(process, wait).map(|(task, _)| task.id), number),
                    maybe(reason(process, wait), text),
                    maybe(readers.of(process, wait), text),
                    maybe(waker_task(process, wait), number),
                    maybe(holder_pid(process, wait, remote_holder.as_ref()), number),
                ]);
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(shared: &Shared, _: &[(usize, Op)]) -> f64 {
        shared
            .trace
            .processes()
            .iter()
            .map(|process| process.tables.meta())
            .map(|meta| meta.waits.len() + meta.suspensions.len())
            .sum::<usize>() as f64
    }
}
