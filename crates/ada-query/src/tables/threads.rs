//! `threads`.

use ada_event::TraceNanos;
use ada_span::state::ThreadState;
use ada_span::{NONE, Reason, ThreadIndex};
use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;
use crate::span::{join_wait, mode};
use crate::trace::{Target, TraceProcess};

/// How long a thread was in each state between two moments.
fn in_states(process: &TraceProcess, thread: ThreadIndex, start: TraceNanos, end: TraceNanos) -> [Value; 3] {
    let times = process.known_state_times(thread, start, end);
    let states = [ThreadState::Running, ThreadState::Ready, ThreadState::Blocked];
    states.map(|state| maybe(times.map(|times| times.of(state)), number))
}

/// Threads, those that share an id one by one.
pub(super) struct Threads;

impl Described for Threads {
    const DOC: &'static TableDoc = &TableDoc {
        name: "threads",
        about: "threads: who made them, what they ran, how they ended, who waited for them",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain("thread_id", Kind::Integer, "its id"),
            plain("span_id", Kind::Text, "its span; null of the thread that the process began with"),
            plain("name", Kind::Text, "the program's function that it ran, or main"),
            plain("given_name", Kind::Text, "the name that it was given"),
            plain("events", Kind::Integer, "how many events the id has"),
            plain("spans", Kind::Integer, "how many calls the id has"),
            plain("first_ns", Kind::Integer, "its first event"),
            plain("last_ns", Kind::Integer, "its last event"),
            plain("deepest", Kind::Integer, "the largest depth"),
            plain("creator_thread_id", Kind::Integer, "the thread that created it"),
            plain("create_span_id", Kind::Text, "the call that created it"),
            plain("create_ns", Kind::Integer, "when"),
            plain("start_ns", Kind::Integer, "when its start routine began"),
            plain("end_ns", Kind::Integer, "when that ended"),
            plain("spawn_latency_ns", Kind::Integer, "from the creation to the start routine"),
            plain("lifetime_ns", Kind::Integer, "from its start to its end"),
            plain("status", Kind::Text, "how it ended, as spans do"),
            plain("reason", Kind::Text, "why, where that is known"),
            plain("is_uncertain", Kind::Integer, "1 where the trace allows another reading"),
            plain("end_by", Kind::Text, "return, pthread_exit, canceled, process_end, alive or inferred"),
            plain("exit_value", Kind::Text, "what it returned or exited with, in hex"),
            plain("level", Kind::Integer, "how many creations lead to it; 0 of the first thread"),
            plain("mode", Kind::Text, "joinable or detached, where that is known"),
            plain("joiner_thread_id", Kind::Integer, "the thread that waited for its end"),
            plain("join_ns", Kind::Integer, "when it began to wait"),
            plain("join_wait_ns", Kind::Integer, "how long it waited"),
            plain("canceler_thread_id", Kind::Integer, "the thread that cancelled it"),
            plain("cancel_ns", Kind::Integer, "when"),
            plain("start_routine", Kind::Text, "the function that the C library called"),
            plain("start_routine_address", Kind::Text, "its address, in hex"),
            plain("argument", Kind::Text, "what it was called with, in hex"),
            plain("handle", Kind::Text, "its pthread_t, in hex"),
            plain("tid", Kind::Integer, "the kernel's id"),
            plain("confidence", Kind::Real, "how sure the match with its creation is, from 0 to 1"),
            plain(
                "on_cpu_ns",
                Kind::Integer,
                "how long of its life it was on a processor; null where that is not known",
            ),
            plain("ready_ns", Kind::Integer, "how long it could have run, and others had the processors"),
            plain("blocked_ns", Kind::Integer, "how long it waited, until it ran again"),
        ],
        parameters: &[],
    };
}

impl Relation for Threads {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        for process in trace.processes() {
            let meta = process.tables.meta();
            for (index, thread) in ThreadIndex::all(meta.threads.len()).zip(&meta.threads) {
                let facts = &thread.facts;
                let begin = |span_id: Value, name: Value, given: Value| {
                    vec![
                        text(&trace.session_of(process).name),
                        number(process.pid),
                        number(thread.id),
                        span_id,
                        name,
                        given,
                        number(facts.events),
                        number(thread.spans),
                        number(facts.first_time),
                        number(facts.last_time),
                        number(facts.deepest),
                    ]
                };
                let mut lives = meta.pthreads.iter().filter(|span| span.thread == index).peekable();
                if lives.peek().is_none() {
                    let mut row = begin(Value::Null, text("main"), Value::Null);
                    row.resize(Self::DOC.columns.len(), Value::Null);
                    let known = [
                        ("start_ns", number(facts.first_time)),
                        ("end_ns", number(facts.end_time)),
                        ("lifetime_ns", number(facts.end_time.since(facts.first_time))),
                        ("level", number(0_u64)),
                    ];
                    let [on_cpu, ready, blocked] = in_states(process, index, facts.first_time, facts.end_time);
                    let states = [("on_cpu_ns", on_cpu), ("ready_ns", ready), ("blocked_ns", blocked)];
                    for (name, value) in known.into_iter().chain(states) {
                        if let Some(at) = Self::DOC.columns.iter().position(|column| column.name == name) {
                            row[at] = value;
                        }
                    }
                    rows.push(row);
                }
                for span in lives {
                    let thread_number = |thread: Option<ThreadIndex>| maybe(process.known_thread_id(thread), number);
                    let address = |word: u64| if word == NONE { Value::Null } else { text(format!("{word:#x}")) };
                    let outcome = span.outcome();
                    let created = process.known_thread_id(span.creator).zip(span.create_seq);
                    let mut row = begin(
                        text(process.refer(Target::Thread(thread.id, span.begin_seq))),
                        text(process.thread_name(span)),
                        maybe(span.given_name(), text),
                    );
                    row.extend([
                        thread_number(span.creator),
                        maybe(created, |(id, seq)| text(process.refer(Target::Frame(id, seq)))),
                        maybe(span.create_time, number),
                        number(span.start),
                        number(span.end),
                        maybe(span.spawn_latency(), number),
                        number(span.end.since(span.start)),
                        text(outcome.status.word()),
                        if outcome.reason == Reason::None { Value::Null } else { text(outcome.reason.word()) },
                        number(u64::from(outcome.is_uncertain)),
                        text(span.end_how().word()),
                        address(span.exit_value),
                        if span.level == NONE { Value::Null } else { number(span.level) },
                        maybe(mode(span), text),
                        thread_number(span.joiner),
                        maybe(span.join_time, number),
                        maybe(join_wait(span), number),
                        thread_number(span.canceler),
                        maybe(span.cancel_time, number),
                        maybe(span.routine_function, |function| text(&process.label(function).name)),
                        maybe(span.routine_address, |address| text(format!("{:#x}", address.0))),
                        address(span.argument),
                        address(span.handle),
                        maybe(span.tid, number),
                        match span.confidence {
                            NONE => Value::Null,
                            percent => Value::Real(percent as f64 / 100.0),
                        },
                    ]);
                    row.extend(in_states(process, index, span.start, span.end));
                    rows.push(row);
                }
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(shared: &Shared, _: &[(usize, Op)]) -> f64 {
        shared.trace.processes().iter().map(|it| it.tables.meta().threads.len()).sum::<usize>() as f64
    }
}
