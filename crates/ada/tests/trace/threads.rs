//! Threads: many at once, many in a row, and ways for them to end.

use std::collections::HashSet;

use ada_event::EventKind;
use ada_format::atf::Session;

use super::program::Program;
use super::recorded::{Counts, RecordedProcess};
use super::tracing::Tracing;

/// Calls of an own function, per thread that made any, sorted.
fn calls_per_thread(process: &RecordedProcess, name: &str) -> Vec<usize> {
    let own = process.own();
    let index = own.functions.iter().position(|row| row.name == name).expect("the program has the function");
    let is_call = |event: &&super::recorded::RecordedEvent| {
        event.kind == EventKind::CALL
            && event.function.module() == own.id
            && event.function.symbol_index() as usize == index
    };
    let mut calls: Vec<usize> = process.threads.iter().map(|thread| thread.iter().filter(is_call).count()).collect();
    calls.retain(|&calls| calls > 0);
    calls.sort_unstable();
    calls
}

#[test]
fn sixty_four_threads_at_once_have_a_lane_each() {
    let traced = Tracing::new(&Program::new("threads.c")).argument("64").check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.process().threads.len(), 65);
    let mut expected: Vec<usize> = (0..64).map(|number| 100 * (number % 10 + 1)).collect();
    expected.sort_unstable();
    assert_eq!(calls_per_thread(recorded.process(), "work"), expected);
    recorded.assert_balanced("work", expected.iter().sum::<usize>() as u64);
    recorded.assert_balanced("body", 64);
}

/// More than a process has states for from the start, and than there are pieces of the rings.
#[test]
fn six_hundred_threads_at_once_lose_no_call() {
    const COUNT: usize = 600;
    let traced = Tracing::new(&Program::new("threads.c")).argument(COUNT.to_string()).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.process().threads.len(), COUNT + 1);
    let mut expected: Vec<usize> = (0..COUNT).map(|number| 100 * (number % 10 + 1)).collect();
    expected.sort_unstable();
    assert_eq!(calls_per_thread(recorded.process(), "work"), expected);
    recorded.assert_balanced("body", COUNT as u64);
    recorded.assert_no_drops();
}

/// With four pieces for all: each waits for its own to be written, and none for another's.
#[test]
fn a_hundred_threads_that_share_very_little_memory_lose_no_call() {
    let tracing = Tracing::new(&Program::new("threads.c")).option(&["--ring-memory", "1M", "--detail", "all"]);
    let traced = tracing.argument("100").check();
    traced.recorded.assert_balanced("work", (0..100).map(|number| 100 * (number % 10 + 1)).sum());
    traced.recorded.assert_balanced("body", 100);
    traced.recorded.assert_no_drops();
}

#[test]
fn ten_thousand_short_threads_lose_no_call() {
    let traced = Tracing::new(&Program::new("short_threads.c")).check();
    let recorded = &traced.recorded;
    recorded.assert_balanced("body", 10_000);
    recorded.assert_balanced("work", 10_000);
    recorded.assert_balanced("leaf", 20_000);
    assert_eq!(calls_per_thread(recorded.process(), "body"), vec![1; 10_000]);
    let session = Session::open(recorded.path()).unwrap();
    let process = &session.processes()[0];
    // Most of them, where the machine has time for us.
    assert!(process.path.join("threads.atb").exists(), "threads that end soon share a file");
    assert!(process.path.join(format!("thread_{}", process.pid.unwrap())).exists());
}

#[test]
fn pthread_exit_unwinds_the_threads_frames() {
    let traced = Tracing::new(&Program::new("thread_exit.c")).check();
    let recorded = &traced.recorded;
    recorded.assert_balanced("cleanup", 10);
    recorded.assert_balanced("main", 1);
    assert_eq!(recorded.counts("descend"), Counts { calls: 50, returns: 0, unwound: 50 });
    assert_eq!(recorded.counts("body"), Counts { calls: 10, returns: 0, unwound: 10 });
}

#[test]
fn cancellation_unwinds_the_threads_frames() {
    let traced = Tracing::new(&Program::new("thread_cancel.c")).check();
    let recorded = &traced.recorded;
    recorded.assert_balanced("cleanup", 10);
    recorded.assert_balanced("main", 1);
    assert_eq!(recorded.counts("wait_for_ever"), Counts { calls: 30, returns: 0, unwound: 30 });
    assert_eq!(recorded.counts("body"), Counts { calls: 10, returns: 0, unwound: 10 });
}

#[test]
fn coroutines_run_and_no_call_is_missing() {
    for stacks in ["static", "mapped"] {
        let traced = Tracing::new(&Program::new("swapcontext.c")).argument(stacks).check();
        assert_eq!(traced.recorded.counts("work").calls, coroutine_calls(), "{stacks}");
        traced.recorded.assert_balanced("after", 1);
        traced.recorded.assert_balanced("main", 1);
    }
}

#[test]
fn coroutines_on_mapped_stacks_keep_their_frames() {
    check_coroutines("mapped");
}

#[test]
fn coroutines_on_static_stacks_keep_their_frames() {
    check_coroutines("static");
}

/// Nothing was unwound: each coroutine goes on where it was. The last call of the right one is never gone back to,
/// because the left one has ended by then.
fn check_coroutines(stacks: &str) {
    let traced = Tracing::new(&Program::new("swapcontext.c")).argument(stacks).check();
    let calls = coroutine_calls();
    assert_eq!(traced.recorded.counts("work"), Counts { calls, returns: calls - 1, unwound: 0 });
    traced.recorded.assert_balanced("run_left", 1);
    assert_eq!(traced.recorded.counts("run_right"), Counts { calls: 1, returns: 0, unwound: 0 });
    traced.recorded.assert_balanced("main", 1);
}

/// Coroutines that nobody says anything about: each has its own calls, at depths of its own.
#[test]
fn coroutines_with_a_switch_of_their_own_have_their_own_depths() {
    const ROUNDS: u64 = 10;
    for (count, stacks) in [(2_u64, "mapped"), (40, "mapped"), (2, "side"), (40, "side"), (40, "small")] {
        let tracing = Tracing::new(&Program::new("own_coroutines.c"));
        let traced = tracing.argument(count.to_string()).argument(ROUNDS.to_string()).argument(stacks).check();
        let process = traced.recorded.process();
        let expected = (0..count).flat_map(|number| (0..ROUNDS).map(move |round| 1 + (number + round) % 5)).sum();
        traced.recorded.assert_balanced("descend", expected);
        let bodies = process.events("body");
        assert_eq!(bodies.len() as u64, count, "{stacks}: none returns");
        assert!(bodies.iter().all(|event| event.depth == bodies[0].depth), "{stacks}");
        let own_stacks: HashSet<u64> = bodies.iter().map(|event| event.stack).collect();
        assert_eq!(own_stacks.len() as u64, count, "{stacks}: each has a stack of its own");
        let deepest = process.events("descend").iter().map(|event| event.depth).max();
        assert_eq!(deepest, Some(bodies[0].depth + 5), "{stacks}");
    }
}

fn coroutine_calls() -> u64 {
    (0..50).map(|round| round % 10 + 1 + round % 7 + 1).sum()
}

#[test]
fn exceptions_in_eight_threads_at_once() {
    let traced = Tracing::new(&Program::new("exception_threads.cpp")).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.counts("descend"), Counts { calls: 8000, returns: 0, unwound: 8000 });
    recorded.assert_balanced("attempt", 800);
    recorded.assert_balanced("body", 8);
}
