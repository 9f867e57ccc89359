//! What becomes of one task: when it ran, and when it did not.

use ada_event::{EventSeq, TraceNanos};

use super::{Suspension, TaskEnd, TaskHop, TaskKind, TaskRun, TaskRuntime, TaskSpan, TaskTables};
use crate::concurrency::{LogicalCall, Loss, Losses};
use crate::outcome::{Outcome, Reason, Status};
use crate::replay::{ProcessEnd, ReplayOptions};
use crate::thread_index::ThreadIndex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    New,
    Running,
    Suspended,
    Done,
}

/// A task, as far as it is known.
pub(crate) struct TaskLife {
    /// Its index among all.
    index: u32,
    pub(crate) span: TaskSpan,
    pub(crate) state: State,
    pub(crate) runs: Vec<TaskRun>,
    pub(crate) suspensions: Vec<Suspension>,
    pub(crate) hops: Vec<TaskHop>,
    /// The time of the newest event about it.
    pub(crate) seen: TraceNanos,
}

impl TaskLife {
    /// A task that a call is the first to be about.
    pub(crate) fn new(index: u32, runtime: TaskRuntime, id: u64, call: &LogicalCall) -> Self {
        let span = TaskSpan {
            id,
            runtime: runtime as u64,
            kind: TaskKind::Unknown as u64,
            thread: call.thread,
            begin_seq: call.seq,
            start: call.time,
            end: call.time,
            end_how: TaskEnd::None as u64,
            running_ns: 0,
            suspended_ns: 0,
            ..TaskSpan::default()
        };
        let (runs, suspensions, hops) = (Vec::new(), Vec::new(), Vec::new());
        Self { index, span, state: State::New, runs, suspensions, hops, seen: call.time }
    }

    /// Takes note of an event about it, and of events that may be missing since the last one.
    pub(crate) fn see(&mut self, time: TraceNanos, losses: &Losses) {
        let before = self.seen;
        self.seen = before.max(time);
        // What runs is known by its own thread, see `lose`. What does not may have run meanwhile.
        let may_have_run = matches!(self.state, State::New | State::Suspended);
        if may_have_run && before < time && losses.between(before, time) {
            self.mark_uncertain();
            if let Some(wait) = self.open_wait() {
                wait.is_cut = 1;
            }
        }
    }

    /// Until its end is known, a span's outcome only says whether anything is in doubt.
    pub(crate) fn mark_uncertain(&mut self) {
        self.span.outcome = 0;
    }

    /// The wait that it is in.
    pub(crate) fn open_wait(&mut self) -> Option<&mut Suspension> {
        self.suspensions.last_mut().filter(|wait| wait.end.is_none())
    }

    fn open_run(&mut self) -> Option<&mut TaskRun> {
        self.runs.last_mut().filter(|run| run.end == TaskRun::STILL)
    }

    fn end_run(&mut self, time: TraceNanos, seq: Option<EventSeq>) {
        if let Some(run) = self.open_run() {
            (run.end, run.end_seq) = (time.max(run.start), seq);
            let ran = run.end - run.start;
            self.span.running_ns += ran;
        }
    }

    /// It begins to run, or goes on.
    pub(crate) fn run(&mut self, call: &LogicalCall) {
        match self.state {
            State::New => {
                self.span.thread = call.thread;
                (self.span.begin_seq, self.span.start) = (call.seq, call.time);
            }
            State::Suspended => {
                if let Some(wait) = self.suspensions.last_mut() {
                    wait.end = Some(call.time.max(wait.start));
                    self.span.suspended_ns += call.time.since(wait.start);
                }
            }
            // Its pause was not seen, or it is said to have ended: events are missing.
            State::Running | State::Done => {
                if self.open_run().is_some() {
                    self.end_run(call.time, Some(call.seq));
                } else {
                    self.span.suspended_ns += call.time.since(self.span.end);
                }
                self.mark_uncertain();
            }
        }
        self.state = State::Running;
        self.runs.push(TaskRun {
            task: self.index.into(),
            thread: call.thread,
            start: call.time,
            end: TaskRun::STILL,
            start_seq: call.seq,
            end_seq: None,
        });
    }

    /// Whether its newest pause was on this thread, and nobody has woken it since.
    pub(crate) fn has_just_paused(&self, thread: ThreadIndex) -> bool {
        self.runs.last().is_some_and(|run| run.thread == thread)
            && self.suspensions.last().is_some_and(|wait| wait.end.is_none() && wait.resume_time.is_none())
    }

    /// It was about to wait when what it waited for had happened: it has not paused at all.
    pub(crate) fn has_not_paused(&mut self) {
        self.suspensions.pop();
        if let Some(run) = self.runs.last_mut() {
            (run.end, run.end_seq) = (TaskRun::STILL, None);
            self.span.running_ns -= self.span.end.since(run.start);
        }
        self.state = State::Running;
    }

    /// It pauses. `wait` says what for.
    pub(crate) fn pause(&mut self, call: &LogicalCall, wait: Suspension) {
        if self.state == State::New {
            // It began before the recording, or among events that are missing.
            self.span.thread = call.thread;
            (self.span.begin_seq, self.span.start) = (call.seq, call.time);
        }
        if self.state != State::Running {
            // It ran up to now, since nobody knows when.
            if let Some(wait) = self.open_wait() {
                (wait.end, wait.is_cut) = (Some(call.time.max(wait.start)), 1);
                let waited = call.time.since(wait.start);
                self.span.suspended_ns += waited;
                self.mark_uncertain();
            } else if self.state == State::Done {
                self.span.suspended_ns += call.time.since(self.span.end);
                self.mark_uncertain();
            }
            let (start, end, seq) = (call.time, call.time, call.seq);
            let (task, thread) = (self.index.into(), call.thread);
            self.runs.push(TaskRun { task, thread, start, end, start_seq: seq, end_seq: Some(seq) });
        }
        self.end_run(call.time, Some(call.seq));
        self.span.end = call.time;
        self.span.end_thread = Some(call.thread);
        self.span.end_seq = Some(call.seq);
        self.state = State::Suspended;
        self.suspensions.push(Suspension {
            task: self.index.into(),
            start: call.time,
            thread: call.thread,
            seq: call.seq,
            is_cut: 0,
            ..wait
        });
    }

    /// It runs on an executor from now on.
    pub(crate) fn hop(&mut self, time: TraceNanos, executor: u32) {
        let executor = executor.into();
        if self.hops.last().is_none_or(|last| last.executor != executor) {
            self.hops.push(TaskHop { task: self.index.into(), time, executor });
        }
    }

    /// It ends.
    pub(crate) fn complete(&mut self, thread: ThreadIndex, time: TraceNanos, seq: Option<EventSeq>, how: TaskEnd) {
        self.state = State::Done;
        self.seen = time.max(self.seen);
        self.end_run(time, seq);
        self.span.end = time.max(self.span.start);
        self.span.end_thread = Some(thread);
        self.span.end_seq = seq;
        self.span.end_how = how as u64;
    }

    /// Events of the thread that it runs on are missing: it may have gone on anywhere.
    pub(crate) fn lose(&mut self, loss: &Loss, unknown: Suspension) {
        let Some(&TaskRun { start, start_seq, .. }) = self.open_run().as_deref() else { return };
        self.end_run(loss.from, None);
        let end = loss.from.max(start);
        (self.seen, self.span.end) = (end, end);
        (self.span.end_thread, self.span.end_seq) = (Some(loss.thread), None);
        self.state = State::Suspended;
        self.suspensions.push(Suspension {
            task: self.index.into(),
            start: end,
            thread: loss.thread,
            seq: start_seq,
            is_cut: 1,
            ..unknown
        });
        self.mark_uncertain();
    }

    /// Whether it had not ended when it was last seen, and may have since, among events that are missing.
    fn may_have_gone_on(&self, losses: &Losses, options: &ReplayOptions) -> bool {
        match self.state {
            State::Done => false,
            _ if options.is_cut_short => true,
            State::New | State::Suspended => losses.since(self.seen),
            // What its thread has lost would have ended its run.
            State::Running => options.has_drops,
        }
    }

    /// Ends it with the newest event about it: nothing is known of later.
    fn end_where_seen(&mut self) {
        match self.state {
            State::Suspended => drop(self.suspensions.pop_if(|wait| wait.end.is_none())),
            State::Running => {
                if let Some(run) = self.open_run() {
                    let end = run.start;
                    self.end_run(self.seen, None);
                    self.span.end = self.seen.max(end);
                }
            }
            State::New | State::Done => (),
        }
    }

    /// Why its beginning was not seen, if it was not.
    fn unseen_beginning(&self, losses: &Losses, options: &ReplayOptions) -> Option<Reason> {
        if self.span.create_seq.is_some() || self.state == State::New {
            return None;
        }
        let is_of_ring = options.let_go_until > TraceNanos(0);
        match losses.between(options.let_go_until, self.span.start) {
            true => Some(Reason::Dropped),
            false => (is_of_ring || options.is_attached).then_some(Reason::AttachedMidway),
        }
    }

    /// Ends what is open, and adds it to the tables.
    pub(crate) fn finish(
        mut self,
        is_canceled: bool,
        losses: &Losses,
        options: &ReplayOptions,
        tables: &mut TaskTables,
    ) {
        let is_lost = self.may_have_gone_on(losses, options);
        if is_lost {
            self.end_where_seen();
        }
        let is_certain = self.span.outcome == crate::NONE;
        let unseen_beginning = self.unseen_beginning(losses, options);
        let mut outcome = match (self.state, options.end) {
            // Where the recording was cut short nothing was dropped, and nothing is known of later.
            (_, end) if is_lost && options.is_cut_short && !losses.since(self.seen) => end.outcome(),
            _ if is_lost => Outcome::new(Status::Unmatched, Reason::Dropped),
            _ if unseen_beginning.is_some() => Outcome::new(Status::Unmatched, unseen_beginning.unwrap_or_default()),
            (State::Done, _) => match self.span.end_how() {
                TaskEnd::Panic => Outcome::new(Status::Unmatched, Reason::Exception),
                TaskEnd::Fatal => Outcome::new(Status::Unmatched, Reason::ProcessExit),
                _ => Outcome::new(Status::Completed, Reason::None),
            },
            (State::New, ProcessEnd::Alive) => Outcome::new(Status::Pending, Reason::None),
            (State::New, _) => Outcome::new(Status::Pending, Reason::ProcessExit),
            (_, end) => end.outcome(),
        };
        let span = &mut self.span;
        let creation = span.create_thread.zip(span.create_seq).zip(span.create_time);
        if let Some(((thread, seq), time)) = creation.filter(|_| self.state == State::New) {
            (span.thread, span.begin_seq, span.start, span.end) = (thread, seq, time, time);
        } else if self.state != State::New && self.state != State::Done && !is_lost {
            span.end = options.end_time.max(span.end).max(span.start);
            if let Some(run) = self.runs.last_mut().filter(|run| run.end == TaskRun::STILL) {
                run.end = span.end.max(run.start);
                span.running_ns += run.end - run.start;
            } else if let Some(wait) = self.suspensions.last() {
                span.suspended_ns += span.end.since(wait.start);
            }
        }
        if is_canceled && self.state != State::New && !is_lost && unseen_beginning.is_none() {
            outcome = Outcome::new(Status::Canceled, Reason::Canceled);
        }
        let is_slow = span.end - span.start > options.timeout_ns && outcome.reason == Reason::None;
        if is_slow {
            outcome.reason = Reason::Timeout;
        }
        span.outcome = Outcome { is_uncertain: !is_certain, ..outcome }.to_byte().into();
        tables.push(self.span, self.runs, self.suspensions, self.hops);
    }
}
