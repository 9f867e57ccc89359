//! Goroutines from calls of their scheduler.

use super::*;
use crate::outcome::{Outcome, Reason, Status};
use crate::role::Role;

const OPTIONS: ReplayOptions = ReplayOptions { end_time: TraceNanos(1000), ..ReplayOptions::COMPLETE };

const CHAN_RECEIVE: u64 = 14;

fn call(go: GoCall, thread: u32, time: u64, id: u64) -> LogicalCall {
    let status = go.statuses().first().map_or(0, |&status| status.into());
    let head = [status, id, 0];
    let words = match go {
        GoCall::Create => Words::NewGoroutine { entry: NONE, head },
        _ if id == 0 => Words::Nothing,
        _ => Words::Goroutine { head, key: 7, site: NONE },
    };
    LogicalCall { arguments: [NONE, NONE, NONE, CHAN_RECEIVE], words, ..LogicalCall::at(Role::Go(go), thread, time) }
}

/// The tables that calls lead to, with a loss before those that follow it.
fn tables(calls: &[LogicalCall], losses: &[Loss], options: &ReplayOptions) -> TaskTables {
    tables_until(calls, losses, options, None)
}

/// The same of goroutines that are no longer followed from a time on.
fn tables_until(
    calls: &[LogicalCall],
    losses: &[Loss],
    options: &ReplayOptions,
    until: Option<TraceNanos>,
) -> TaskTables {
    let (traits, code) = (FunctionTraits::default(), CodeMap::default());
    let unfollowed = until.map(|until| (until, TraceNanos::MAX));
    let lost = Losses::new(losses.iter().map(|loss| (loss.from, loss.to)).chain(unfollowed).collect());
    let mut goroutines = Goroutines::new(calls, &traits, &code, &lost).expect("a layout");
    let (mut contexts, mut losses) = (Contexts::default(), losses.iter().peekable());
    for call in calls {
        while let Some(loss) = losses.next_if(|loss| loss.from < call.time) {
            goroutines.lose(loss, &mut contexts);
        }
        let Role::Go(go) = call.role else { continue };
        goroutines.begin(call, go, &mut contexts);
    }
    losses.for_each(|loss| goroutines.lose(loss, &mut contexts));
    if let Some(until) = until {
        goroutines.stop_following(until, &mut contexts);
    }
    goroutines.finish(options)
}

#[test]
fn nothing_is_said_of_goroutines_that_are_no_longer_followed() {
    let calls = [
        call(GoCall::Create, 0, 5, 2),
        call(GoCall::Create, 0, 6, 3),
        call(GoCall::Create, 0, 7, 4),
        call(GoCall::Execute, 0, 10, 2),
        call(GoCall::Execute, 1, 11, 3),
        call(GoCall::Park, 1, 12, 3),
        call(GoCall::Parked, 1, 13, 0),
    ];
    let made = tables_until(&calls, &[], &OPTIONS, Some(TraceNanos(20)));
    // One ran, one waited, and one had not begun.
    let dropped = Outcome::new(Status::Unmatched, Reason::Dropped);
    assert!(made.tasks.iter().all(|task| Outcome { is_uncertain: false, ..task.outcome() } == dropped));
    assert_eq!(made.tasks.iter().map(|task| task.end.0).collect::<Vec<u64>>(), [20, 13, 7]);
    assert!(made.suspensions.iter().all(|wait| wait.end.is_some()), "nobody is known to wait until the end");
}

#[test]
fn a_wait_ends_where_another_thread_goes_on_with_it() {
    let made = tables(
        &[
            call(GoCall::Create, 0, 5, 2),
            call(GoCall::Execute, 0, 10, 2),
            call(GoCall::Park, 0, 18, 2),
            call(GoCall::Parked, 0, 20, 0),
            call(GoCall::Schedule, 0, 21, 0),
            call(GoCall::Create, 0, 22, 3),
            call(GoCall::Execute, 0, 25, 3),
            call(GoCall::Ready, 0, 30, 2),
            call(GoCall::Execute, 1, 40, 2),
            call(GoCall::SystemCall, 1, 42, 0),
            call(GoCall::SystemCallEnd, 1, 45, 0),
            call(GoCall::End, 1, 50, 2),
        ],
        &[],
        &OPTIONS,
    );
    let (task, wait) = (made.tasks[0], made.suspensions[0]);
    assert_eq!((task.running_ns, task.suspended_ns, task.end - task.start), (20, 20, 40));
    assert_eq!((task.outcome(), task.end_how(), task.runs), (Outcome::default(), TaskEnd::Return, 2));
    assert_eq!((task.system_calls, task.system_call_ns), (1, 3));
    assert_eq!(
        (wait.kind(), wait.key, wait.start, wait.end),
        (WaitKind::ChanReceive, 7, TraceNanos(20), Some(TraceNanos(40)))
    );
    assert_eq!((wait.resumer(), wait.resume_time), (Context::Task(1), Some(TraceNanos(30))));
    // The other one still ran when the process ended.
    assert_eq!(made.tasks[1].outcome(), ProcessEnd::Exited.outcome());
}

#[test]
fn what_was_there_before_the_recording_has_no_beginning() {
    let calls = [
        call(GoCall::Park, 0, 10, 2),
        call(GoCall::Parked, 0, 12, 0),
        call(GoCall::Ready, 1, 20, 3),
        call(GoCall::Execute, 1, 25, 3),
        call(GoCall::End, 1, 30, 3),
    ];
    let made = tables(&calls, &[], &ReplayOptions { is_attached: true, end: ProcessEnd::Alive, ..OPTIONS });
    let midway = Outcome::new(Status::Unmatched, Reason::AttachedMidway);
    assert!(made.tasks.iter().all(|task| task.outcome() == midway), "{:?}", made.tasks);
    assert_eq!((made.tasks[0].start, made.tasks[1].start), (TraceNanos(10), TraceNanos(25)));
    assert_eq!(made.suspensions.len(), 1, "a wait that began before is not known");
}

#[test]
fn nothing_is_said_of_what_happened_among_lost_events() {
    let loss = |thread, from, to| Loss { thread: ThreadIndex(thread), from: TraceNanos(from), to: TraceNanos(to) };
    let calls = [
        call(GoCall::Create, 0, 5, 2),
        call(GoCall::Create, 0, 6, 3),
        call(GoCall::Execute, 0, 10, 2),
        call(GoCall::Execute, 1, 10, 3),
        call(GoCall::Park, 1, 18, 3),
        call(GoCall::Parked, 1, 20, 0),
        call(GoCall::Schedule, 1, 21, 0),
        // Thread 0 loses events from 25 to 60, and has another goroutine then.
        call(GoCall::Park, 0, 60, 4),
        call(GoCall::Parked, 0, 61, 0),
    ];
    let made = tables(&calls, &[loss(0, 25, 60)], &OPTIONS);
    let dropped = Outcome::new(Status::Unmatched, Reason::Dropped);
    let of = |id: u64| made.tasks.iter().find(|task| task.id == id).expect("a goroutine");
    // The one that ran may have ended; the one that waited may have gone on.
    for (id, end) in [(2, 25), (3, 20)] {
        let outcome = Outcome { is_uncertain: false, ..of(id).outcome() };
        assert_eq!((outcome, of(id).end), (dropped, TraceNanos(end)), "{id}");
    }
    assert_eq!(of(4).outcome().reason, Reason::Dropped, "its beginning may be among them");
    let is_open =
        made.suspensions.iter().filter(|wait| wait.end.is_none()).map(|wait| made.tasks[wait.task as usize].id);
    assert_eq!(is_open.collect::<Vec<_>>(), [4], "only what was seen to wait afterwards still does");
}

#[test]
fn coroutines_switch_without_the_scheduler() {
    let made = tables(
        &[
            call(GoCall::Create, 0, 5, 2),
            call(GoCall::Execute, 0, 10, 2),
            call(GoCall::Create, 0, 12, 3),
            call(GoCall::Switch, 0, 20, 3),
            call(GoCall::Switched, 0, 21, 0),
            call(GoCall::Switch, 0, 30, 2),
            call(GoCall::Switched, 0, 31, 0),
            call(GoCall::Switch, 0, 40, 3),
            call(GoCall::Switched, 0, 41, 0),
            // It ends: nothing is said before it.
            call(GoCall::Switched, 0, 50, 0),
            call(GoCall::End, 0, 60, 2),
        ],
        &[],
        &OPTIONS,
    );
    assert!(made.tasks.iter().all(|task| task.outcome() == Outcome::default()), "{:?}", made.tasks);
    let times: Vec<(u64, u64)> = made.tasks.iter().map(|task| (task.running_ns, task.suspended_ns)).collect();
    assert_eq!(times, [(11 + 10 + 10, 10 + 9), (10 + 9, 10)]);
    assert!(made.suspensions.iter().all(|wait| wait.kind() == WaitKind::Coroutine && wait.resume_time.is_some()));
}

#[test]
fn one_that_does_not_wait_after_all_has_not_paused() {
    let made = tables(
        &[
            call(GoCall::Create, 0, 5, 2),
            call(GoCall::Execute, 0, 10, 2),
            call(GoCall::Park, 0, 18, 2),
            call(GoCall::Parked, 0, 20, 0),
            call(GoCall::Execute, 0, 22, 2),
            call(GoCall::Goexit, 0, 25, 0),
            call(GoCall::End, 0, 30, 2),
        ],
        &[],
        &OPTIONS,
    );
    assert_eq!((made.suspensions.len(), made.runs.len(), made.tasks[0].running_ns), (0, 1, 20));
    assert_eq!(made.tasks[0].end_how(), TaskEnd::Goexit);
}

#[test]
fn one_that_paused_elsewhere_has_paused() {
    // The scheduler's calls are not recorded: both threads have last paused the same one.
    let made = tables(
        &[
            call(GoCall::Execute, 0, 10, 2),
            call(GoCall::Park, 0, 18, 2),
            call(GoCall::Parked, 0, 20, 0),
            call(GoCall::Execute, 1, 30, 2),
            call(GoCall::Park, 1, 38, 2),
            call(GoCall::Parked, 1, 40, 0),
            call(GoCall::Execute, 0, 50, 2),
            call(GoCall::Park, 0, 58, 2),
            call(GoCall::Parked, 0, 60, 0),
            // It was woken, if by the thread that goes on with it.
            call(GoCall::Ready, 0, 70, 2),
            call(GoCall::Execute, 0, 80, 2),
            call(GoCall::End, 0, 90, 2),
        ],
        &[],
        &OPTIONS,
    );
    let runs: Vec<_> = made.runs.iter().map(|run| (run.thread.as_usize(), run.start.0, run.end.0)).collect();
    assert_eq!(runs, [(0, 10, 20), (1, 30, 40), (0, 50, 60), (0, 80, 90)]);
}

#[test]
fn one_whose_pause_was_not_seen_runs_on_one_thread_at_a_time() {
    let made = tables(
        &[
            call(GoCall::Execute, 0, 10, 2),
            call(GoCall::Execute, 1, 20, 2),
            // It left this thread before it went on there.
            call(GoCall::Execute, 0, 30, 3),
            call(GoCall::End, 1, 40, 2),
            call(GoCall::Execute, 1, 41, 4),
        ],
        &[],
        &ReplayOptions { is_attached: true, ..OPTIONS },
    );
    let runs: Vec<_> = made.runs.iter().map(|run| (run.task, run.thread.as_usize(), run.start.0, run.end.0)).collect();
    assert_eq!(runs, [(0, 0, 10, 20), (0, 1, 20, 40), (1, 0, 30, 1000), (2, 1, 41, 1000)]);
    assert!(made.tasks[0].outcome().is_uncertain && made.suspensions.is_empty());
}
