//! Makes thread spans of calls, starts and ends.

use std::collections::{BTreeMap, HashMap};

use ada_event::{EventSeq, FunctionId, RuntimeAddr, ThreadId, TraceNanos};

use super::call::ThreadCall;
use super::matching::{Started, match_threads};
use super::{PthreadSpan, ThreadEnd};
use crate::NONE;
use crate::outcome::{Outcome, Reason, Status};
use crate::replay::ProcessEnd;
use crate::role::Role;
use crate::thread_index::ThreadIndex;

/// The start routine's frame span on a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routine {
    pub(crate) seq: EventSeq,
    pub(crate) depth: u64,
    pub(crate) close_seq: Option<EventSeq>,
    pub(crate) start: TraceNanos,
    pub(crate) end: TraceNanos,
    pub(crate) outcome: Outcome,
    pub(crate) function: FunctionId,
    pub(crate) address: Option<RuntimeAddr>,
    pub(crate) argument: Option<u64>,
    pub(crate) result: Option<u64>,
    /// The program's own function that it led to.
    pub(crate) user_function: FunctionId,
}

/// A thread as the correlator sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadLife {
    /// Which one.
    pub(crate) thread: ThreadIndex,
    /// The event that it begins with.
    pub(crate) begin_seq: EventSeq,
    pub(crate) first_time: TraceNanos,
    pub(crate) last_time: TraceNanos,
    pub(crate) handle: Option<u64>,
    pub(crate) tid: Option<ThreadId>,
    /// The name that it had when it was first seen.
    pub(crate) name: Option<[u64; 2]>,
    pub(crate) routine: Option<Routine>,
    /// Whether it was there before the recording, so that its creation is not in the trace.
    pub(crate) is_midway: bool,
}

/// Places of spans by thread and beginning.
struct Lives(BTreeMap<(ThreadIndex, EventSeq), usize>);

impl Lives {
    /// The index of the span that an event of a thread belongs to.
    fn at(&self, thread: ThreadIndex, seq: EventSeq) -> Option<usize> {
        let (&(found, _), &index) = self.0.range(..=(thread, seq)).next_back()?;
        (found == thread).then_some(index)
    }
}

/// The spans of all created threads, by start.
pub(crate) fn correlate(lives: &[ThreadLife], mut calls: Vec<ThreadCall>, process: ProcessEnd) -> Vec<PthreadSpan> {
    calls.sort_by_key(|call| (call.time, call.thread, call.seq));
    let mut spans: Vec<PthreadSpan> = lives.iter().map(|it| life_span(it, process)).collect();
    let indexes = Lives(spans.iter().zip(0..).map(|(span, index)| ((span.thread, span.begin_seq), index)).collect());
    let creates = innermost(calls.iter().filter(|it| it.role == Role::ThreadCreate && !it.has_failed()));
    let started: Vec<Started> = lives
        .iter()
        .zip(0..)
        .filter(|(life, _)| !life.is_midway)
        .map(|(life, number)| Started {
            number,
            first_time: life.first_time,
            handle: life.handle,
            routine_address: life.routine.and_then(|routine| routine.address),
            argument: life.routine.and_then(|routine| routine.argument),
        })
        .collect();
    for found in match_threads(&creates, &started) {
        let (span, create) = (&mut spans[found.number as usize], &creates[found.create]);
        span.creator = Some(create.thread);
        span.create_seq = Some(create.seq);
        span.create_time = Some(create.time);
        span.confidence = found.confidence;
        if let Some(arguments) = create.arguments {
            (span.routine_address, span.argument) = (Some(RuntimeAddr(arguments[2])), arguments[3]);
        }
        if span.handle == NONE {
            span.handle = create.word().unwrap_or(NONE);
        }
        if let Some(is_detached) = create.starts_detached() {
            span.is_detached = is_detached.into();
        }
        if found.confidence < 90 {
            mark_uncertain(span);
        }
    }
    add_endings(&mut spans, &indexes, &calls);
    add_levels(&mut spans, &indexes);
    spans.sort_by_key(|span| (span.start, span.thread, span.begin_seq));
    spans
}

/// Of calls that lie within others of the same kind on the same thread, as `thrd_create` calls `pthread_create`, the
/// inner ones.
fn innermost<'a>(calls: impl Iterator<Item = &'a ThreadCall>) -> Vec<ThreadCall> {
    let mut kept: Vec<ThreadCall> = Vec::new();
    for call in calls {
        if let Some(outer) = kept.iter().rposition(|it| it.thread == call.thread)
            && kept[outer].close_seq.is_some_and(|close| close > call.seq)
        {
            kept.remove(outer);
        }
        kept.push(call.clone());
    }
    kept
}

fn life_span(life: &ThreadLife, process: ProcessEnd) -> PthreadSpan {
    let [name_low, name_high] = life.name.unwrap_or([NONE; 2]);
    let base = PthreadSpan {
        name_low,
        name_high,
        thread: life.thread,
        begin_seq: life.begin_seq,
        handle: life.handle.unwrap_or(NONE),
        tid: life.tid,
        ..PthreadSpan::default()
    };
    let Some(routine) = life.routine else {
        let reason = if life.is_midway { Reason::AttachedMidway } else { Reason::None };
        let outcome = match process {
            ProcessEnd::Alive => Outcome::new(Status::Open, reason),
            _ => Outcome::new(Status::Exited, reason),
        };
        return PthreadSpan {
            start: life.first_time,
            end: life.last_time,
            outcome: Outcome { is_uncertain: true, ..outcome }.to_byte().into(),
            end_how: ThreadEnd::Inferred as u64,
            ..base
        };
    };
    let end_how = match routine.outcome.status {
        Status::Completed => ThreadEnd::Return,
        Status::Exited => ThreadEnd::Exit,
        Status::Canceled => ThreadEnd::Cancel,
        Status::Open => ThreadEnd::Alive,
        _ if routine.outcome.reason == Reason::AttachedMidway => ThreadEnd::Return,
        _ => ThreadEnd::ProcessEnd,
    };
    PthreadSpan {
        start: routine.start,
        end: routine.end,
        outcome: routine.outcome.to_byte().into(),
        function: Some(routine.user_function),
        routine_seq: Some(routine.seq),
        routine_close_seq: routine.close_seq,
        routine_function: Some(routine.function),
        routine_address: routine.address,
        argument: routine.argument.unwrap_or(NONE),
        end_how: end_how as u64,
        exit_value: routine.result.filter(|_| end_how == ThreadEnd::Return).unwrap_or(NONE),
        ..base
    }
}

fn mark_uncertain(span: &mut PthreadSpan) {
    span.outcome = Outcome { is_uncertain: true, ..span.outcome() }.to_byte().into();
}

/// Exits, joins, detaches and cancellations. Handles are reused: each call means the newest thread that had it then.
fn add_endings(spans: &mut [PthreadSpan], indexes: &Lives, calls: &[ThreadCall]) {
    let mut by_handle: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&at| spans[at].start);
    for at in order {
        if spans[at].handle != NONE {
            by_handle.entry(spans[at].handle).or_default().push(at);
        }
    }
    for call in calls {
        if call.role == Role::ThreadExit {
            if let Some(span) = indexes.at(call.thread, call.seq).map(|at| &mut spans[at])
                && span.exit_seq.is_none()
            {
                span.exit_seq = Some(call.seq);
                span.exit_value = call.arguments.map_or(NONE, |arguments| arguments[0]);
                if span.end_how() == ThreadEnd::Return {
                    // Only the end of its routine was seen, which was not a return.
                    span.end_how = ThreadEnd::Exit as u64;
                }
            }
            continue;
        }
        let Some(handle) = call.arguments.map(|arguments| arguments[0]) else { continue };
        let Some(candidates) = by_handle.get(&handle) else { continue };
        // A call may come before the thread's first event, and a join ends after its last.
        let until = call.end_time.unwrap_or(call.time);
        let born = |at: usize| spans[at].create_time.unwrap_or(spans[at].start);
        let Some(&at) = candidates.iter().rev().find(|&&at| born(at) <= until) else { continue };
        let span = &mut spans[at];
        match call.role {
            Role::ThreadJoin | Role::ThreadJoinInt
                if call.has_returned() && !call.has_failed() && span.joiner.is_none() =>
            {
                span.joiner = Some(call.thread);
                span.join_seq = Some(call.seq);
                span.join_time = Some(call.time);
                span.join_end = Some(until);
                span.is_detached = 0;
                if span.exit_value == NONE
                    && let Some(value) = call.word()
                {
                    let is_int = call.role == Role::ThreadJoinInt;
                    span.exit_value = if is_int { u64::from(value as u32) } else { value };
                }
            }
            Role::ThreadName if !call.has_failed() => {
                if let Some(name) = call.name() {
                    (span.name_low, span.name_high) = name;
                }
            }
            Role::ThreadDetach if !call.has_failed() => span.is_detached = 1,
            Role::ThreadCancel if !call.has_failed() && span.canceler.is_none() => {
                span.canceler = Some(call.thread);
                span.cancel_seq = Some(call.seq);
            }
            _ => (),
        }
    }
}

/// Levels of creation that are counted.
const DEEPEST_LEVEL: u64 = 4096;

fn add_levels(spans: &mut [PthreadSpan], indexes: &Lives) {
    for at in 0..spans.len() {
        let (mut level, mut now) = (0, at);
        // A creator was there before; only damaged times make a circle.
        while level < DEEPEST_LEVEL {
            level += 1;
            let creation = spans[now].creator.zip(spans[now].create_seq);
            match creation.and_then(|(thread, seq)| indexes.at(thread, seq)) {
                Some(creator) => now = creator,
                None => break,
            }
        }
        spans[at].level = level;
    }
}
