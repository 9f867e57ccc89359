//! Waits for what another thread runs once, and threads that yield until something has come.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::Program;
use crate::traced_program::TracedProgram;
use crate::waits::{number, rows, trace};

/// Waits of kind `once` in calls of a function: who waited, for whom, and what for.
fn waits_in(session: &TracedProgram, function: &str) -> Vec<(u64, u64, String)> {
    let filter = format!("kind = 'once' AND state = 'ended' AND function LIKE '{function}%'");
    let found = rows(session, &format!("SELECT * FROM waits WHERE {filter} ORDER BY start_ns"));
    let of = |wait: &Value| {
        let [waiter, holder, waker] = ["thread_id", "holder_thread_id", "waker_thread_id"].map(|it| wait[it].as_u64());
        assert_eq!((holder, &wait["uncertain"]), (waker, &"".into()), "{wait:#}");
        (waiter.unwrap(), holder.unwrap_or_else(|| panic!("{wait:#}")), wait["object"].as_str().unwrap().to_owned())
    };
    found.iter().map(of).collect()
}

/// Holds waits against who came, and who did it: nearly all that came before it was done have waited, and nobody else.
fn check(found: &[(u64, u64, String)], truth: &BTreeSet<(u64, u64, String)>) {
    let named: BTreeSet<(u64, u64, String)> = found.iter().cloned().collect();
    assert_eq!(named.len(), found.len(), "{found:?}");
    assert!(named.is_subset(truth), "{:?}", named.difference(truth));
    assert!(named.len() * 10 >= truth.len() * 8 && truth.len() >= 8, "{found:?} of {truth:?}");
}

#[test]
fn who_runs_something_once_is_waited_for_by_the_others() {
    let (session, printed) = trace(&Program::new("wait_once.cpp").flags(&["-std=c++20", "-pthread"]), &["8"]);
    for (way, function) in [("pthread", "ask_pthread"), ("call_once", "ask_call_once"), ("variable", "")] {
        let mut found = waits_in(&session, if function.is_empty() { "%ask_variable" } else { function });
        if way == "variable" {
            // What the compiler has for them has no name in the program.
            found.iter_mut().zip(0..).for_each(|(wait, _): (_, u32)| wait.2.clear());
            found.sort();
            found.dedup();
        }
        let lines = printed.iter().filter(|line| line[0] == way);
        let of_line = |line: &Vec<String>| {
            let object = if way == "variable" { String::new() } else { line[1].clone() };
            let [did, others @ ..] = &line[2..] else { panic!("{line:?}") };
            others.iter().map(|other| (number(other), number(did), object.clone())).collect::<Vec<_>>()
        };
        check(&found, &lines.flat_map(of_line).collect());
    }
    let held =
        rows(&session, "SELECT DISTINCT hold_function FROM waits WHERE kind = 'once' AND function LIKE 'ask_pthread%'");
    assert_eq!(held, [serde_json::json!({ "hold_function": "ask_pthread(int)" })]);
}

#[test]
fn a_cell_of_rust_is_filled_by_whom_the_others_wait_for() {
    let (session, printed) = trace(&Program::new("wait_once.rs"), &["16"]);
    let found = waits_in(&session, "%ask");
    // Each cell has an address of its own.
    let objects: BTreeSet<&str> = found.iter().map(|wait| wait.2.as_str()).collect();
    assert!(objects.len() <= 16 && objects.len() >= 12, "{found:?}");
    let mut found: Vec<(u64, u64, String)> = found.iter().map(|wait| (wait.0, wait.1, String::new())).collect();
    found.sort();
    found.dedup();
    let of_line = |line: &Vec<String>| {
        line[1..].iter().map(|other| (number(other), number(&line[0]), String::new())).collect::<Vec<_>>()
    };
    check(&found, &printed.iter().flat_map(of_line).collect());
}

/// It waits for itself.
#[test]
fn asking_again_for_what_one_runs_once_is_a_deadlock() {
    let (session, printed) = trace(&Program::new("wait_once.cpp").flags(&["-std=c++20", "-pthread"]), &["itself"]);
    let findings = session.json("ask", &["findings", "--limit", "50"]);
    let deadlock = findings["findings"].as_array().unwrap().iter().find(|it| it["kind"] == "deadlock");
    let wait = &deadlock.unwrap_or_else(|| panic!("{findings:#}"))["facts"]["waits"][0];
    assert_eq!((&wait["kind"], &wait["object"]), (&"once".into(), &printed[0][1].as_str().into()), "{wait:#}");
    assert_eq!((&wait["thread_id"], &wait["holder_thread_id"]), (&number(&printed[0][0]).into(), &wait["thread_id"]));
}

/// What they look for nobody knows, but that they do.
#[test]
fn who_yields_until_something_has_come_waits() {
    let (session, printed) = trace(&Program::new("wait_yield.c").flags(&["-pthread"]), &[]);
    let [direct, by_other, polite, busy] = [0, 1, 2, 3].map(|at| number(&printed[0][at]));
    let of =
        |thread: u64| rows(&session, &format!("SELECT * FROM waits WHERE kind = 'yield' AND thread_id = {thread}"));
    for (thread, function) in [(direct, "await_flag"), (by_other, "await_through_other")] {
        let found = of(thread);
        let longest =
            found.iter().max_by_key(|wait| wait["duration_ns"].as_u64()).unwrap_or_else(|| panic!("{function}"));
        assert!(longest["duration_ns"].as_u64() >= Some(5_000_000), "{found:#?}");
        assert!(longest["object"].as_str().unwrap().ends_with(" yields"), "{longest:#}");
        assert_eq!((&longest["holder_thread_id"], &longest["waker_thread_id"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(of(direct)[0]["function"], "await_flag");
    // Who works in between, or calls something, may do more than wait.
    assert_eq!((of(polite), of(busy)), (Vec::new(), Vec::new()));
}
