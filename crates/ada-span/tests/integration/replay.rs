//! Single situations, and what the replay says of them.

use ada_event::{Event, EventKind, EventSeq, FunctionId, TraceNanos};
use ada_span::{AnomalyKind, Outcome, ProcessEnd, Reason, Replay, ReplayOptions, Role, Status};

use crate::collected::{Collected, replay, replay_with_losses};
use crate::program::{Machine, Step, THREAD_START, id, traits};

const ALIVE: ReplayOptions =
    ReplayOptions { end: ProcessEnd::Alive, timeout_ns: 5_000_000_000, ..ReplayOptions::COMPLETE };

fn outcomes(collected: &Collected) -> Vec<(Status, Reason)> {
    collected.spans.iter().map(|span| span.closed().outcome).map(|it| (it.status, it.reason)).collect()
}

fn kinds(collected: &Collected) -> Vec<AnomalyKind> {
    collected.anomalies.iter().map(|anomaly| anomaly.kind).collect()
}

#[test]
fn what_is_open_at_the_end_depends_on_how_the_process_ended() {
    let machine = Machine::run(&[Step::Call(0), Step::Call(1)]);
    for (end, expected) in [
        (ProcessEnd::Alive, (Status::Open, Reason::None)),
        (ProcessEnd::Exited, (Status::Unmatched, Reason::ProcessExit)),
        (ProcessEnd::Killed, (Status::Unmatched, Reason::Crash)),
    ] {
        let collected = replay(&machine.events, &traits(), ReplayOptions { end, end_time: TraceNanos(2000), ..ALIVE });
        assert_eq!(outcomes(&collected), [expected; 2]);
        assert!(
            collected.spans.iter().all(|span| span.end() == TraceNanos(2000)),
            "it was open until the process ended"
        );
    }
}

/// Nothing is known of a thread after the last of its events that was written: others may have been written for longer.
#[test]
fn where_the_newest_events_may_be_missing_what_is_open_ends_with_its_own_thread() {
    let machine = Machine::run(&[Step::Call(0), Step::Call(1)]);
    let last = machine.events[1].timestamp;
    let end_time = TraceNanos(last.0 + 1_000_000);
    let cut_short = ReplayOptions { end_time, is_cut_short: true, ..ALIVE };
    let incomplete = ReplayOptions { end: ProcessEnd::Exited, end_time, is_incomplete: true, ..ALIVE };
    for (options, expected) in
        [(cut_short, (Status::Open, Reason::None)), (incomplete, (Status::Unmatched, Reason::Dropped))]
    {
        let collected = replay(&machine.events, &traits(), options);
        assert_eq!(outcomes(&collected), [expected; 2]);
        assert!(collected.spans.iter().all(|span| span.end() == last));
    }
}

#[test]
fn a_thread_that_ended_in_the_library_has_exited_though_the_process_went_on() {
    let machine = Machine::run(&[Step::Call(THREAD_START), Step::Call(1), Step::Return]);
    let options = ReplayOptions { end: ProcessEnd::Exited, end_time: TraceNanos(1_000_000), ..ALIVE };
    let collected = replay(&machine.events, &traits(), options);
    assert_eq!(outcomes(&collected), [(Status::Exited, Reason::None), (Status::Completed, Reason::None)]);
    assert_eq!(collected.spans[0].end(), machine.events[2].timestamp);
}

#[test]
fn leaving_a_thread_and_being_cancelled_close_its_frames_with_their_reason() {
    for (is_canceled, expected) in
        [(false, (Status::Exited, Reason::Unwind)), (true, (Status::Canceled, Reason::Canceled))]
    {
        let mut machine = Machine::run(&[Step::Call(THREAD_START), Step::Call(1), Step::Call(2)]);
        let context = EventSeq(machine.events.len() as u64);
        machine.leave_thread(is_canceled);
        let collected = replay(&machine.events, &traits(), ALIVE);
        let body = &collected.spans[1];
        assert_eq!(outcomes(&collected)[1..], vec![expected; collected.spans.len() - 1]);
        assert_eq!(body.closed().context, Some(context), "the call that ended the thread is the context");
    }
}

#[test]
fn positions_that_are_left_out_are_a_loss() {
    let machine = Machine::run(&[Step::Call(0), Step::Call(1), Step::Return, Step::Return]);
    let mut replay = Replay::new(Collected::new(&traits()), ALIVE);
    let [outer, inner, inner_end, outer_end] = machine.events[..] else { panic!("four events") };
    replay.event(outer);
    replay.go_on_at(EventSeq(1));
    replay.event(inner);
    replay.event(inner_end);
    replay.go_on_at(EventSeq(100));
    replay.event(outer_end);
    let (collected, facts) = replay.finish();
    assert_eq!(facts.events, 101);
    let guesses: Vec<bool> = collected.spans.iter().map(|span| span.closed().outcome.is_uncertain).collect();
    assert_eq!(kinds(&collected), [AnomalyKind::Unreadable]);
    assert_eq!(collected.anomalies[0].seq, EventSeq(3));
    assert_eq!(guesses, [true, false], "the outer call may have ended among the lost ones, the inner one did not");
}

#[test]
fn an_exception_is_the_context_of_every_span_that_it_closed() {
    let mut steps = vec![Step::Call(0)];
    steps.extend([Step::Call(1); 50]);
    let throw = EventSeq(steps.len() as u64);
    steps.extend([Step::Throw(50), Step::Call(2), Step::Return, Step::Return]);
    let collected = replay(&Machine::run(&steps).events, &traits(), ALIVE);
    let closed: Vec<_> = collected.spans[1..=51].iter().map(|span| span.closed()).collect();
    assert!(closed.iter().all(|closed| closed.outcome == Outcome::new(Status::Unmatched, Reason::Exception)));
    assert!(closed.iter().all(|closed| closed.context == Some(throw)));
    assert_eq!(collected.spans[0].closed().outcome, Outcome::default());
}

#[test]
fn an_unwinding_without_a_known_cause_after_an_exception_is_not_put_down_to_it() {
    let mut machine = Machine::run(&[
        Step::Call(0),
        Step::Call(1),
        Step::Call(2),
        Step::Throw(1),
        Step::Return,
        Step::Call(3),
        Step::Return,
    ]);
    let last = machine.events.last_mut().expect("there are events");
    last.kind = EventKind::EXCEPTION;
    let collected = replay(&machine.events, &traits(), ALIVE);
    let closed = collected.spans.last().expect("there are spans").closed();
    assert_eq!((closed.outcome, closed.context), (Outcome::new(Status::Unmatched, Reason::Unwind), None));
}

#[test]
fn a_span_longer_than_the_timeout_says_so_when_it_completes() {
    let steps = [Step::Call(0), Step::Call(1), Step::Return, Step::Wait(6_000_000_000), Step::Return];
    let collected = replay(&Machine::run(&steps).events, &traits(), ALIVE);
    assert_eq!(outcomes(&collected), [(Status::Completed, Reason::Timeout), (Status::Completed, Reason::None)]);
}

#[test]
fn frames_from_before_the_recording_are_kept_as_their_ends() {
    let mut machine =
        Machine::run(&[Step::Call(0), Step::Call(1), Step::Call(2), Step::Return, Step::Return, Step::Return]);
    machine.events.drain(..2);
    let collected = replay(&machine.events, &traits(), ALIVE);
    let midway = (Status::Unmatched, Reason::AttachedMidway);
    assert_eq!(outcomes(&collected), [(Status::Completed, Reason::None), midway, midway]);
    assert!(collected.anomalies.is_empty());
}

#[test]
fn lost_ends_are_put_down_to_drops_only_if_there_were_some() {
    let mut machine =
        Machine::run(&[Step::Call(0), Step::Call(1), Step::Call(2), Step::Return, Step::Return, Step::Return]);
    machine.events.drain(3..5);
    for (has_drops, reason) in [(false, Reason::None), (true, Reason::Dropped)] {
        let collected = replay(&machine.events, &traits(), ReplayOptions { has_drops, ..ALIVE });
        assert_eq!(outcomes(&collected)[1..], [(Status::Unmatched, reason); 2]);
        assert_eq!(outcomes(&collected)[0], (Status::Completed, Reason::None));
        assert_eq!(kinds(&collected), [AnomalyKind::BeginningWithoutEnd; 2]);
    }
}

#[test]
fn a_loss_explains_only_what_it_can_have_cut() {
    let mut machine =
        Machine::run(&[Step::Call(0), Step::Call(1), Step::Call(2), Step::Return, Step::Return, Step::Return]);
    machine.events.drain(3..5);
    let time = |at: usize| machine.events[at].timestamp.0;
    // Before the first call, before that of the innermost, and where the two ends are missing.
    for (loss, expected) in [
        (time(0), [Reason::None, Reason::None]),
        (time(2), [Reason::Dropped, Reason::None]),
        (time(3), [Reason::Dropped, Reason::Dropped]),
    ] {
        let collected = replay_with_losses(&machine.events, &traits(), ALIVE, &[loss]);
        assert_eq!(outcomes(&collected)[1..], expected.map(|reason| (Status::Unmatched, reason)), "{loss}");
    }
}

#[test]
fn an_end_behind_a_loss_may_be_that_of_another_call() {
    let steps = [Step::Call(0), Step::Call(1), Step::Return, Step::Call(1), Step::Return, Step::Call(1), Step::Return];
    let mut machine = Machine::run(&steps);
    // A return, and the next call of the same function.
    machine.events.drain(2..4);
    let collected = replay_with_losses(&machine.events, &traits(), ALIVE, &[machine.events[2].timestamp.0]);
    let ends: Vec<Outcome> = collected.spans.iter().map(|span| span.closed().outcome).collect();
    assert_eq!(ends[1], Outcome { is_uncertain: true, ..Outcome::default() });
    assert_eq!(ends[2], Outcome::default(), "what begins behind it is as certain as ever");
}

#[test]
fn what_was_open_when_the_rest_was_lost_has_that_reason() {
    let machine = Machine::run(&[Step::Call(0), Step::Call(1), Step::Return]);
    let after = machine.events[2].timestamp.0 + 1;
    let exited = ReplayOptions { end: ProcessEnd::Exited, ..ALIVE };
    let collected = replay_with_losses(&machine.events, &traits(), exited, &[after]);
    assert_eq!(outcomes(&collected)[0], (Status::Unmatched, Reason::Dropped));
    let collected = replay_with_losses(&machine.events, &traits(), exited, &[after - 1]);
    assert_eq!(outcomes(&collected)[0], (Status::Unmatched, Reason::ProcessExit));
}

#[test]
fn a_call_whose_caller_is_not_caught_has_no_end_and_ends_nothing() {
    let mut machine = Machine::run(&[
        Step::Call(0),
        Step::Call(1),
        Step::Call(2),
        Step::Return,
        Step::Return,
        Step::Call(1),
        Step::Return,
        Step::Return,
    ]);
    // The first call of function 1 comes from code that nobody knows: no frame of its own, no return.
    machine.events.remove(4);
    machine.events[1].kind = EventKind::ENTRY;
    machine.events[2].depth = 1;
    machine.events[3].depth = 1;
    let collected = replay(&machine.events, &traits(), ALIVE);
    let completed = (Status::Completed, Reason::None);
    assert_eq!(outcomes(&collected), [completed, (Status::EntryOnly, Reason::None), completed, completed]);
    assert!(collected.anomalies.is_empty(), "{:?}", collected.anomalies);
}

#[test]
fn another_program_in_this_ones_place_ends_what_is_open() {
    let machine = Machine::run(&[Step::Call(0), Step::Call(1), Step::Call(2)]);
    let next = Machine::run(&[Step::Call(3), Step::Return]).events;
    let begin = machine.events[2].timestamp.0 + 10;
    let moved = next.iter().map(|event| Event { timestamp: TraceNanos(event.timestamp.0 + begin), ..*event });
    let events: Vec<Event> = machine.events.iter().copied().chain(moved).collect();
    let mut traits = traits();
    traits.set_role(machine.events[2].function, Role::Exec);
    let collected = replay(&events, &traits, ALIVE);
    let gone = (Status::Unmatched, Reason::ProcessExit);
    assert_eq!(outcomes(&collected), [gone, gone, gone, (Status::Completed, Reason::None)]);
    assert!(collected.anomalies.is_empty(), "{:?}", collected.anomalies);
}

#[test]
fn a_tail_call_among_drops_is_a_guess() {
    let machine = Machine::run(&[Step::Call(0), Step::Call(1), Step::TailCall(2), Step::Return, Step::Return]);
    for has_drops in [false, true] {
        let collected = replay(&machine.events, &traits(), ReplayOptions { has_drops, ..ALIVE });
        let expected = Outcome { status: Status::Unmatched, reason: Reason::TailCall, is_uncertain: has_drops };
        assert_eq!(collected.spans[1].closed().outcome, expected);
    }
}

#[test]
fn calls_that_are_missing_in_between_are_a_jump_in_depth() {
    let mut machine =
        Machine::run(&[Step::Call(0), Step::Call(1), Step::Call(2), Step::Return, Step::Return, Step::Return]);
    machine.events.remove(1);
    let collected = replay(&machine.events, &traits(), ALIVE);
    assert_eq!(kinds(&collected), [AnomalyKind::DepthJump, AnomalyKind::EndWithoutBeginning]);
    assert_eq!(collected.spans[1].opened.parent, Some(EventSeq(0)), "the nearest caller that is known");
}

#[test]
fn time_does_not_run_backwards_in_spans() {
    let mut events: Vec<Event> = Machine::run(&[Step::Call(0), Step::Call(1), Step::Return, Step::Return]).events;
    events[2].timestamp.0 = 5;
    let collected = replay(&events, &traits(), ALIVE);
    assert_eq!(kinds(&collected), [AnomalyKind::TimeBackwards]);
    assert_eq!(collected.spans[1].closed().duration, 0);
}

fn event(time: u64, kind: EventKind, function: u64, depth: u32) -> Event {
    let (timestamp, function) = (TraceNanos(time), FunctionId(function));
    Event { timestamp, function, kind, depth, ..Event::default() }
}

/// Two stacks take turns in the middle of their calls. Who waits is not busy.
#[test]
fn each_stack_has_calls_of_its_own() {
    const OTHER: u64 = 7;
    let (call, back, stack) = (EventKind::CALL, EventKind::RETURN, EventKind::STACK);
    let events = [
        event(0, call, 0, 0),
        event(10, call, 1, 1),
        event(20, stack, OTHER, 0),
        event(20, call, 2, 0),
        event(30, call, 1, 1),
        event(40, stack, 0, 2),
        event(40, back, 1, 1),
        event(45, stack, 0, 1),
        event(50, stack, OTHER, 2),
        event(50, back, 1, 1),
        event(60, back, 2, 0),
        event(60, stack, 0, 1),
        event(70, back, 0, 0),
    ];
    let collected = replay(&events, &traits(), ALIVE);
    assert_eq!(outcomes(&collected), [(Status::Completed, Reason::None); 4]);
    assert_eq!(kinds(&collected), []);
    let found: Vec<_> = collected
        .spans
        .iter()
        .map(|it| (it.opened.parent.map(|parent| parent.0), it.opened.depth, it.closed().duration, it.closed().self_ns))
        .collect();
    // The first one is busy from 0 to 10, from 40 to 50 and from 60 on; the call within waits from 20 to 40.
    assert_eq!(found, [(None, 0, 70, 30), (Some(0), 1, 30, 10), (None, 0, 40, 20), (Some(3), 1, 20, 10)]);
}

/// A stack that is met in the middle, and calls that nobody goes back to.
#[test]
fn what_waits_at_the_end_is_open() {
    let events = [
        event(0, EventKind::CALL, 0, 0),
        event(10, EventKind::STACK, 9, 3),
        event(10, EventKind::RETURN, 1, 2),
        event(20, EventKind::CALL, 2, 2),
        event(30, EventKind::STACK, 0, 1),
    ];
    let collected = replay(&events, &traits(), ALIVE);
    assert_eq!(
        outcomes(&collected),
        [(Status::Open, Reason::None), (Status::Unmatched, Reason::AttachedMidway), (Status::Open, Reason::None)]
    );
    assert_eq!(kinds(&collected), []);
}

/// A child of `posix_spawn` runs on a stack of its own, as its parent's thread, until it runs another program.
#[test]
fn calls_of_a_program_that_was_replaced_end_when_it_was() {
    const CHILDS: u64 = 9;
    let (call, back, gone, stack) = (EventKind::CALL, EventKind::RETURN, EventKind::EXCEPTION, EventKind::STACK);
    let exec = id(3).0;
    let child = |begin: u64| {
        [
            event(begin, call, 1, 1),
            event(begin + 10, stack, CHILDS, 0),
            event(begin + 10, call, 2, 0),
            event(begin + 20, call, exec, 1),
            event(begin + 30, stack, 0, 2),
            event(begin + 30, back, 1, 1),
        ]
    };
    // The second child finds what the first one has left there.
    let [spawns, on_its_stack, rest @ ..] = child(1000);
    let left = [event(1010, gone, exec, 1), event(1010, gone, 2, 0)];
    let events: Vec<Event> = [event(0, call, 0, 0)]
        .into_iter()
        .chain(child(100))
        .chain([spawns, on_its_stack])
        .chain(left)
        .chain(rest)
        .chain([event(2000, back, 0, 0)])
        .collect();
    let mut traits = traits();
    traits.set_role(FunctionId(exec), Role::Exec);
    let collected = replay(&events, &traits, ReplayOptions { end_time: TraceNanos(3000), ..ALIVE });
    let (done, replaced) = ((Status::Completed, Reason::None), (Status::Unmatched, Reason::ProcessExit));
    assert_eq!(outcomes(&collected), [done, done, replaced, replaced, done, replaced, replaced]);
    let ends: Vec<u64> = collected.spans.iter().map(|span| span.end().0).collect();
    assert_eq!(ends, [2000, 130, 130, 130, 1030, 1030, 1030]);
    assert_eq!(kinds(&collected), []);
}
