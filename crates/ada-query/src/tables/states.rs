//! `states`.

use ada_event::{ThreadId, TraceNanos};
use ada_span::state::{StateSpan, ThreadState};
use ada_span::wait::WaitSpan;
use rusqlite::types::Value;

use crate::doc::{Kind, TableDoc, plain};
use crate::error::QueryError;
use crate::relation::{Ask, Described, Listed, Op, Relation, maybe, number, text};
use crate::shared::Shared;
use crate::trace::{Life, Trace, TraceProcess};

/// What threads did when.
pub(super) struct States;

impl Described for States {
    const DOC: &'static TableDoc = &TableDoc {
        name: "states",
        about: "states of threads: on or off the processor; each thread's lie one behind the other from its start to its end",
        columns: &[
            plain("session", Kind::Text, "the session's folder"),
            plain("pid", Kind::Integer, "the process"),
            plain("thread_id", Kind::Integer, "the thread"),
            plain("start_ns", Kind::Integer, "when the state began"),
            plain("end_ns", Kind::Integer, "when it ended"),
            plain("duration_ns", Kind::Integer, "how long it was"),
            plain(
                "state",
                Kind::Text,
                "running, ready (another thread had the processor), blocked or unknown; awake: running or ready",
            ),
            plain("cpu", Kind::Integer, "the processor that it ran on"),
            plain(
                "blocked_in",
                Kind::Text,
                "of a blocked thread, the kind of the wait that it was in, as in waits: io, sleep, mutex, …; null where it was in none that is known, as at a page fault",
            ),
            plain(
                "known_by",
                Kind::Text,
                "kernel; calls, where only those that wait are known; null of what is unknown",
            ),
        ],
        parameters: &[],
    };
}

impl Relation for States {
    type Cursor = Listed;
    type Source = Shared;

    fn doc(_: &Shared) -> &'static TableDoc {
        Self::DOC
    }

    fn open(shared: &Shared, _: &Ask) -> Result<Listed, QueryError> {
        let trace = &shared.trace;
        let mut rows = Vec::new();
        for process in trace.processes() {
            for life in process.lives() {
                let waits = process.tables.meta().waits.iter().filter(|wait| wait.thread == life.thread).collect();
                let mut row = Row { trace, process, thread: process.thread_id(life.thread), waits, rows: &mut rows };
                match process.thread_states(life.thread) {
                    Some(states) => states.spans(life.start, life.end).for_each(|span| row.by_kernel(span)),
                    None => row.by_calls(&life),
                }
            }
        }
        Ok(Listed::new(rows))
    }

    fn expect(shared: &Shared, _: &[(usize, Op)]) -> f64 {
        /// A guess: to count them would be to make them.
        const OF_A_THREAD: usize = 1000;
        let threads: usize = shared.trace.processes().iter().map(|it| it.tables.meta().threads.len()).sum();
        (threads * OF_A_THREAD) as f64
    }
}

/// Makes rows of a thread.
struct Row<'a> {
    trace: &'a Trace,
    process: &'a TraceProcess,
    thread: ThreadId,
    /// Its waits, by their starts.
    waits: Vec<&'a WaitSpan>,
    rows: &'a mut Vec<Vec<Value>>,
}

impl<'a> Row<'a> {
    fn add(&mut self, StateSpan { start, end, cpu, .. }: StateSpan, state: &str, known_by: Option<&str>) {
        let wait = if state == ThreadState::Blocked.word() { self.wait_at(start) } else { None };
        self.rows.push(vec![
            text(&self.trace.session_of(self.process).name),
            number(self.process.pid),
            number(self.thread),
            number(start),
            number(end),
            number(end.since(start)),
            text(state),
            maybe(cpu, number),
            maybe(wait, |wait| text(wait.kind().word())),
            maybe(known_by, text),
        ]);
    }

    /// The innermost wait that was under way at a moment.
    fn wait_at(&self, time: TraceNanos) -> Option<&'a WaitSpan> {
        /// Waits in waits, as of a signal's handler.
        const MOST: usize = 16;
        let begun = &self.waits[..self.waits.partition_point(|wait| wait.start <= time)];
        begun.iter().rev().take(MOST).copied().find(|wait| wait.end > time || wait.is_open())
    }

    fn by_kernel(&mut self, span: StateSpan) {
        let known_by = (span.state != ThreadState::Unknown).then_some("kernel");
        self.add(span, span.state.word(), known_by);
    }

    /// Where the kernel has not told, a thread is blocked in the calls that wait. What it does between them is not known.
    fn by_calls(&mut self, life: &Life<'_>) {
        let mut at = life.start;
        let between = |start, end| StateSpan { start, end, state: ThreadState::Unknown, cpu: None };
        for wait in self.waits.clone().into_iter().filter(|wait| wait.end > life.start) {
            let (start, end) = (wait.start.clamp(at, life.end), wait.end.clamp(at, life.end));
            if at < start {
                self.add(between(at, start), "awake", Some("calls"));
            }
            if start < end {
                self.add(between(start, end), ThreadState::Blocked.word(), Some("calls"));
            }
            at = end.max(at);
        }
        if at < life.end {
            self.add(between(at, life.end), "awake", Some("calls"));
        }
    }
}
