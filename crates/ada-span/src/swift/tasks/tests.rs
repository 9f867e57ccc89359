//! Tasks by the calls of the runtime, made by hand.

use super::*;
use crate::outcome::{Outcome, Reason, Status};
use crate::role::Role;
use crate::task::TaskSpan;

const OPTIONS: ReplayOptions = ReplayOptions { end_time: TraceNanos(1000), ..ReplayOptions::COMPLETE };

const NOTHING: TaskSurroundings<'static> = TaskSurroundings { function_at: &|_| None, labels: &[] };

#[test]
fn children_are_cancelled_with_their_parent() {
    let made = |id: u64, time: u64, flags: u64| {
        let words = Words::New { entry: NONE, head: id << 32 | flags, completion: NONE };
        let (swift, mut call) = call(SwiftCall::Create, 0, time, words);
        call.arguments[0] = 0x1000;
        (swift, call)
    };
    const ASYNC_LET: u64 = 1 << 28 | 1 << 24;
    let (tasks, _) = feed(&[
        call(SwiftCall::Enter, 0, 10, about(1, 0)),
        made(2, 11, ASYNC_LET),
        made(3, 12, 0),
        call(SwiftCall::Cancel, 1, 20, about(1, 0)),
        made(4, 25, ASYNC_LET),
        call(SwiftCall::Enter, 1, 30, about(2, IS_CANCELED)),
        call(SwiftCall::Complete, 1, 31, Words::Nothing),
    ]);
    let made = tasks.finish(&OPTIONS, &mut TextTable::default()).0.tasks;
    // The detached one is nobody's child; a child that comes later is cancelled from its beginning.
    let times: Vec<Option<u64>> = made.iter().map(|task| task.cancel_time.map(|time| time.0)).collect();
    assert_eq!(times, [Some(20), Some(20), None, Some(25)]);
    assert_eq!(made[1].outcome(), Outcome::new(Status::Canceled, Reason::Canceled));
}

/// Task 1 pauses before a loss, task 2 runs on the thread that loses events, task 3 is made and never seen again.
#[test]
fn what_may_have_ended_among_missing_events_is_neither_pending_nor_suspended() {
    let words = Words::New { entry: NONE, head: 3 << 32, completion: NONE };
    let before = [
        call(SwiftCall::Enter, 0, 10, about(1, 0)),
        call(SwiftCall::Create, 0, 12, words),
        call(SwiftCall::Exit, 0, 16, about(1, 0)),
        call(SwiftCall::Enter, 1, 20, about(2, 0)),
    ];
    let loss = Loss { thread: ThreadIndex(1), from: TraceNanos(25), to: TraceNanos(60) };
    let (mut tasks, mut contexts) = (Tasks::new(Losses::new(vec![(loss.from, loss.to)])), Contexts::default());
    before.iter().for_each(|(swift, call)| tasks.begin(call, *swift, &mut contexts, &NOTHING));
    tasks.lose(&loss, &mut contexts);
    let late = call(SwiftCall::Exit, 1, 70, about(2, 0)).1;
    tasks.begin(&late, SwiftCall::Exit, &mut contexts, &NOTHING);
    let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
    let dropped = Outcome::new(Status::Unmatched, Reason::Dropped);
    assert_eq!((tables.tasks[0].outcome(), tables.tasks[0].end), (dropped, TraceNanos(16)));
    assert_eq!((tables.tasks[1].outcome(), tables.tasks[1].runs), (dropped, 0));
    // It was seen again, waiting, after the loss: that it still waits is known, what it did meanwhile is not.
    let again = tables.tasks[2];
    assert!(again.outcome().is_uncertain);
    assert_eq!(again.running_ns + again.suspended_ns, again.end - again.start);
    let runs: Vec<(u64, u64)> =
        tables.runs.iter().filter(|run| run.task == 2).map(|it| (it.start.0, it.end.0)).collect();
    assert_eq!(runs, [(20, 25), (70, 70)]);
}

/// A call on a thread at a time, which is also its event.
fn call(swift: SwiftCall, thread: u32, time: u64, words: Words) -> (SwiftCall, LogicalCall) {
    let arguments = [0x77, 0x88, 0, 0];
    let call = LogicalCall { arguments, words, ..LogicalCall::at(Role::Swift(swift), thread, time) };
    (swift, call)
}

fn about(id: u64, status: u64) -> Words {
    Words::Task { head: id << 32, context: 0, status }
}

fn feed(calls: &[(SwiftCall, LogicalCall)]) -> (Tasks, Contexts) {
    let (mut tasks, mut contexts) = (Tasks::default(), Contexts::default());
    for (swift, call) in calls {
        tasks.begin(call, *swift, &mut contexts, &NOTHING);
        if *swift == SwiftCall::JobRun && call.end.is_some() {
            tasks.end(call, *swift, &mut contexts);
        }
    }
    (tasks, contexts)
}

#[test]
fn the_end_is_inferred_where_nothing_reports_it() {
    let mut run = call(SwiftCall::JobRun, 0, 30, Words::Nothing);
    (run.1.end, run.1.close_seq) = (Some(TraceNanos(40)), Some(EventSeq(40)));
    let (mut tasks, mut contexts) = feed(&[
        call(SwiftCall::JobRun, 0, 1, Words::Nothing),
        call(SwiftCall::Enter, 0, 10, about(1, 0)),
        // Another one begins in the same job: the first one is done.
        call(SwiftCall::Enter, 0, 20, about(2, 0)),
    ]);
    let (_, job) = run;
    tasks.end(&job, SwiftCall::JobRun, &mut contexts);
    let made = tasks.finish(&OPTIONS, &mut TextTable::default()).0.tasks;
    let ends: Vec<(TraceNanos, TaskEnd)> = made.iter().map(|task| (task.end, task.end_how())).collect();
    assert_eq!(ends, [(TraceNanos(20), TaskEnd::Inferred), (TraceNanos(40), TaskEnd::Inferred)]);
    assert!(made.iter().all(|task| task.outcome() == Outcome::default() && task.suspended_ns == 0));
}

#[test]
fn a_task_that_lost_the_race_to_its_resume_has_not_paused() {
    let (tasks, _) = feed(&[
        call(SwiftCall::Enter, 0, 10, about(1, 0)),
        call(SwiftCall::ContinuationInit, 0, 12, about(1, 0)),
        call(SwiftCall::ContinuationAwait, 0, 14, Words::Nothing),
        call(SwiftCall::Exit, 0, 16, about(1, 0)),
        call(SwiftCall::Enter, 0, 18, about(1, 0)),
        call(SwiftCall::Complete, 0, 30, Words::Nothing),
    ]);
    let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
    assert_eq!((tables.suspensions.len(), tables.runs.len()), (0, 1));
    let task = tables.tasks[0];
    assert_eq!((task.running_ns, task.suspended_ns, task.end - task.start), (20, 0, 20));
}

#[test]
fn a_task_has_thrown_where_its_end_was_called_with_an_error() {
    let ended = |thread, time, error| call(SwiftCall::Complete, thread, time, Words::Ended { error });
    let mut thrown = ended(0, 20, 0x55);
    thrown.1.label = Some(0);
    let calls = [
        call(SwiftCall::Enter, 0, 10, about(1, 0)),
        thrown,
        call(SwiftCall::Enter, 0, 30, about(2, 0)),
        ended(0, 40, 0),
        call(SwiftCall::Enter, 0, 50, about(3, 0)),
        call(SwiftCall::Complete, 0, 60, Words::Nothing),
        // Nobody runs: the function has jumped to another of its kind.
        ended(0, 61, 0x66),
        call(SwiftCall::Enter, 0, 70, about(4, 0)),
        call(SwiftCall::FutureWait, 0, 71, about(1, 0)),
    ];
    let (mut tasks, mut contexts) = (Tasks::default(), Contexts::default());
    let labels = [Text { bytes: b"second\0Failure\0app\0".to_vec(), is_cut: false }];
    let around = TaskSurroundings { labels: &labels, ..NOTHING };
    calls.iter().for_each(|(swift, call)| tasks.begin(call, *swift, &mut contexts, &around));
    let mut texts = TextTable::default();
    let made = tasks.finish(&OPTIONS, &mut texts).0.tasks;
    let results: Vec<TaskResult> = made.iter().map(TaskSpan::result).collect();
    assert_eq!(results, [TaskResult::Threw, TaskResult::Returned, TaskResult::Unknown, TaskResult::Unknown]);
    let words = [made[0].error_type, made[0].error_module, made[0].error_case];
    assert_eq!(words.map(|word| texts.texts[word as usize].as_str()), ["Failure", "app", "second"]);
    assert_eq!((made[0].result_requests, made[1].result_requests, made[1].error_type), (1, 0, NONE));
    // A request that may be for any of them.
    let (tasks, _) = feed(&[calls[0], calls[1], call(SwiftCall::FutureWait, 0, 80, Words::Nothing)]);
    assert_eq!(tasks.finish(&OPTIONS, &mut TextTable::default()).0.tasks[0].result_requests, NONE);
}

#[test]
fn a_task_runs_where_it_was_handed_to_and_where_it_went_on() {
    let with = |it: (SwiftCall, LogicalCall), identity: u64| {
        let (swift, call) = it;
        (swift, LogicalCall { arguments: [0x77, identity, 0, 0], ..call })
    };
    let (tasks, _) = feed(&[
        with(call(SwiftCall::Enqueue, 0, 5, about(1, 0)), 0),
        call(SwiftCall::Enter, 0, 10, about(1, 0)),
        // An actor that is free, and one that is not.
        with(call(SwiftCall::Switch, 0, 12, Words::Nothing), 0xa0),
        with(call(SwiftCall::Switch, 0, 14, Words::Nothing), 0xb0),
        call(SwiftCall::Exit, 0, 16, about(1, IS_ENQUEUED)),
        with(call(SwiftCall::Enqueue, 0, 17, about(1, 0)), 0xb0),
        call(SwiftCall::Enter, 1, 20, about(1, 0)),
        call(SwiftCall::Complete, 1, 30, Words::Nothing),
    ]);
    let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
    let address = |executor: u64| tables.executors[executor as usize].address.0;
    let hops: Vec<(u64, u64)> = tables.hops.iter().map(|hop| (hop.time.0, address(hop.executor))).collect();
    assert_eq!(hops, [(10, 0), (12, 0xa0), (20, 0xb0)]);
    assert_eq!(address(tables.suspensions[0].executor), 0xb0);
}

#[test]
fn a_resume_that_nobody_waits_for_is_an_orphan() {
    let (tasks, _) = feed(&[
        call(SwiftCall::Enter, 0, 10, about(1, 0)),
        call(SwiftCall::ContinuationInit, 0, 12, about(1, 0)),
        call(SwiftCall::ContinuationAwait, 0, 14, Words::Nothing),
        call(SwiftCall::Exit, 0, 16, about(1, 0)),
        call(SwiftCall::Resume, 1, 20, about(1, 0)),
        call(SwiftCall::Resume, 1, 22, about(1, 0)),
        call(SwiftCall::Resume, 1, 24, about(9, 0)),
        call(SwiftCall::Enter, 1, 30, about(1, 0)),
        call(SwiftCall::Complete, 1, 40, Words::Nothing),
    ]);
    assert_eq!(tasks.orphans, [(ThreadIndex(1), EventSeq(22)), (ThreadIndex(1), EventSeq(24))]);
    let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
    let wait = tables.suspensions[0];
    assert_eq!((wait.kind(), wait.key, wait.resume_seq), (WaitKind::Continuation, 0x77, Some(EventSeq(20))));
    assert_eq!((tables.tasks[0].running_ns, tables.tasks[0].suspended_ns), (16, 14));
}

#[test]
fn cancellation_notes_what_was_waited_for_and_only_the_first_counts() {
    let (tasks, _) = feed(&[
        call(SwiftCall::Enter, 0, 10, about(1, 0)),
        call(SwiftCall::ContinuationInit, 0, 12, about(1, 0)),
        call(SwiftCall::ContinuationAwait, 0, 14, Words::Nothing),
        call(SwiftCall::Exit, 0, 16, about(1, 0)),
        call(SwiftCall::Cancel, 1, 20, about(1, 0)),
        call(SwiftCall::Cancel, 1, 22, about(1, 0)),
        call(SwiftCall::Enter, 1, 30, about(2, 0)),
        call(SwiftCall::Complete, 1, 31, Words::Nothing),
        call(SwiftCall::Cancel, 0, 32, about(2, IS_COMPLETE)),
    ]);
    let made = tasks.finish(&OPTIONS, &mut TextTable::default()).0.tasks;
    assert_eq!(made[0].outcome(), Outcome::new(Status::Canceled, Reason::Canceled));
    assert_eq!((made[0].cancel_time, made[0].canceled_continuation), (Some(TraceNanos(20)), 0x77));
    assert_eq!((made[1].outcome(), made[1].cancel_time), (Outcome::default(), None));
}

#[test]
fn a_task_seen_on_two_threads_at_once_is_in_doubt() {
    let (tasks, _) = feed(&[call(SwiftCall::Enter, 0, 10, about(1, 0)), call(SwiftCall::Enter, 1, 20, about(1, 0))]);
    let tables = tasks.finish(&OPTIONS, &mut TextTable::default()).0;
    assert!(tables.tasks[0].outcome().is_uncertain);
    let runs: Vec<(u64, u64)> = tables.runs.iter().map(|run| (run.start.0, run.end.0)).collect();
    assert_eq!(runs, [(10, 20), (20, 1000)]);
}
