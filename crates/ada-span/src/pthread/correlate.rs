//! Makes thread spans of calls, starts and ends.

use std::collections::{BTreeMap, HashMap};

use ada_event::{EventSeq, RuntimeAddr};

use super::call::ThreadCall;
use super::creations::Creations;
use super::ending::{EndCalls, Ending};
use super::life::ThreadLife;
use super::{PthreadSpan, SURE, ThreadEnd};
use crate::NONE;
use crate::outcome::{Outcome, Reason, Status};
use crate::replay::ReplayOptions;
use crate::role::Role;
use crate::thread_index::ThreadIndex;

/// Places of spans by thread and beginning.
struct Lives(BTreeMap<(ThreadIndex, EventSeq), usize>);

impl Lives {
    /// The index of the span that an event of a thread belongs to.
    fn at(&self, thread: ThreadIndex, seq: EventSeq) -> Option<usize> {
        let (&(found, _), &index) = self.0.range(..=(thread, seq)).next_back()?;
        (found == thread).then_some(index)
    }
}

/// The spans of all created threads, by start. `calls` are sorted by time.
pub(crate) fn correlate(
    lives: &[ThreadLife],
    creations: &Creations,
    calls: &[ThreadCall],
    options: &ReplayOptions,
    knows_teardown: bool,
) -> Vec<PthreadSpan> {
    let indexes = Lives(lives.iter().zip(0..).map(|(life, index)| ((life.thread, life.begin_seq), index)).collect());
    let mut end_calls = vec![EndCalls::default(); lives.len()];
    for call in calls {
        if let Some(index) = indexes.at(call.thread, call.seq) {
            end_calls[index].has_exited |= call.role == Role::ThreadExit;
            end_calls[index].is_unwound |= matches!(call.role, Role::ThreadUnwind | Role::ForcedUnwind);
        }
    }
    let endings = lives.iter().zip(end_calls).map(|(life, calls)| Ending::of(life, calls, options, knows_teardown));
    let mut spans: Vec<PthreadSpan> =
        lives.iter().zip(endings).map(|(life, ending)| life_span(life, &ending)).collect();
    for (index, span) in spans.iter_mut().enumerate() {
        let Some(creation) = creations.of(index) else { continue };
        let create = creation.call;
        span.creator = Some(create.thread);
        span.create_seq = Some(create.seq);
        span.create_time = Some(create.time);
        span.confidence = creation.confidence;
        if let Some(arguments) = create.arguments {
            (span.routine_address, span.argument) = (Some(RuntimeAddr(arguments[2])), arguments[3]);
        }
        if span.handle == NONE {
            span.handle = create.word().unwrap_or(NONE);
        }
        if let Some(is_detached) = create.starts_detached() {
            span.is_detached = is_detached.into();
        }
        if creation.confidence < SURE {
            mark_uncertain(span);
        }
    }
    add_endings(&mut spans, &indexes, calls);
    add_levels(&mut spans, &indexes);
    spans.sort_by_key(|span| (span.start, span.thread, span.begin_seq));
    spans
}

fn life_span(life: &ThreadLife, ending: &Ending) -> PthreadSpan {
    let [name_low, name_high] = life.name.unwrap_or([NONE; 2]);
    let routine = life.routine;
    let start = routine.map_or(life.ready_time, |routine| routine.start);
    let result = routine.and_then(|routine| routine.result).filter(|_| ending.how == ThreadEnd::Return);
    let has_ended = matches!(ending.how, ThreadEnd::Return | ThreadEnd::Exit | ThreadEnd::Cancel);
    let left = life.exit_value.filter(|_| has_ended && life.teardown.is_some());
    PthreadSpan {
        name_low,
        name_high,
        thread: life.thread,
        begin_seq: life.begin_seq,
        handle: life.handle.unwrap_or(NONE),
        tid: life.tid,
        start,
        end: ending.time.max(start),
        outcome: ending.outcome.to_byte().into(),
        function: routine.and_then(|routine| routine.user_function),
        routine_seq: routine.and_then(|routine| routine.seq),
        routine_close_seq: routine.and_then(|routine| routine.close_seq),
        routine_function: routine.and_then(|routine| routine.function),
        routine_address: routine.and_then(|routine| routine.address),
        argument: routine.and_then(|routine| routine.argument).unwrap_or(NONE),
        end_how: ending.how as u64,
        exit_value: result.or(left).unwrap_or(NONE),
        ..PthreadSpan::default()
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
                if span.end_how() == ThreadEnd::Return && span.outcome().status != Status::Completed {
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
                if matches!(span.end_how(), ThreadEnd::ProcessEnd | ThreadEnd::Alive) {
                    // It has ended before: its last events are missing.
                    span.end = span.end.min(until).max(span.start);
                    span.end_how = ThreadEnd::Inferred as u64;
                    let outcome = Outcome { is_uncertain: true, ..Outcome::new(Status::Exited, Reason::None) };
                    span.outcome = outcome.to_byte().into();
                }
                let is_int = call.role == Role::ThreadJoinInt;
                if (span.exit_value == NONE || is_int)
                    && let Some(value) = call.word()
                {
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
                span.cancel_time = Some(call.time);
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
