//! Switching functions while the program runs: each call is recorded or counted, and none is both or neither.

use super::running::Running;
use crate::run::text;

#[test]
fn counts_are_exact_with_several_threads() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("tick 1000 4");
    assert_eq!(running.filter(&["--count", "tick"]), "1 of 1 functions are now counted\n");
    running.have_done("tick 100000 8");
    running.have_done("tick 7 3");
    running.filter(&["--on", "tick"]);
    running.have_done("tick 500 2");
    let ended = running.end();
    ended.recorded().assert_balanced("tick", 4 * 1000 + 2 * 500);
    let switches = &ended.switches("tick")[0];
    assert_eq!(switches.len(), 1, "{switches:?}");
    let switch = &switches[0];
    assert_eq!((switch.mode.as_str(), switch.why.as_str()), ("count", "filter"));
    assert_eq!((switch.count, switch.is_exact), (Some(8 * 100_000 + 3 * 7), true));
    assert!(switch.to_ns.is_some_and(|to| to > switch.from_ns));
}

#[test]
fn no_call_is_lost_or_doubled_while_switching() {
    const THREADS: u64 = 4;
    const CALLS: u64 = 3_000_000;
    let mut running = Running::start(&["--quiet", "--detail", "off"]);
    running.have_done("tick 1 1");
    running.send(&format!("tick {CALLS} {THREADS}"));
    for _ in 0..20 {
        running.filter(&["--count", "tick"]);
        running.filter(&["--on", "tick"]);
    }
    running.filter(&["--count", "tick"]);
    running.expect("done");
    let ended = running.end();
    let switches = &ended.switches("tick")[0];
    assert_eq!(switches.len(), 21);
    assert!(switches.iter().all(|switch| switch.is_exact));
    let counted: u64 = switches.iter().filter_map(|switch| switch.count).sum();
    let recorded = ended.recorded().counts("tick");
    assert_eq!(recorded.calls + counted, CALLS * THREADS + 1, "{recorded:?} and {counted} counted");
    assert_eq!(recorded.calls, recorded.returns);
}

#[test]
fn a_call_that_was_begun_before_the_switch_returns() {
    let mut running = Running::start(&["--quiet"]);
    running.send("hold");
    running.expect("held");
    running.filter(&["--count", "hold"]);
    running.send("go on");
    running.expect("done");
    running.send("hold");
    running.expect("held");
    running.filter(&["--on", "hold"]);
    running.send("go on");
    running.expect("done");
    let ended = running.end();
    ended.recorded().assert_balanced("hold", 1);
    assert_eq!(ended.switches("hold")[0][0].count, Some(1));
}

#[test]
fn what_is_off_is_not_counted_and_the_session_says_so() {
    let mut running = Running::start(&[]);
    running.have_done("tick 10 1");
    running.filter(&["--off", "tick"]);
    running.have_done("tick 90 1");
    let ended = running.end();
    ended.recorded().assert_balanced("tick", 10);
    let switch = &ended.switches("tick")[0][0];
    assert_eq!((switch.mode.as_str(), switch.count, switch.is_exact, switch.to_ns), ("off", None, false, None));
    let words = text(&ended.output.stderr);
    assert!(words.contains("1 function was not recorded all the time: tick;"), "{words}");
}

#[test]
fn a_whole_module_can_be_counted_and_one_function_of_it_recorded() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("tick 1 1");
    running.filter(&["--count", "switched", "--count", "libc.so*", "--on", "tick"]);
    running.have_done("tick 100 1");
    let ended = running.end();
    let recorded = ended.recorded();
    recorded.assert_balanced("tick", 101);
    recorded.assert_balanced("work", 1);
    assert_eq!(ended.switches("work")[0][0].count, Some(1));
}

#[test]
fn flags_reach_a_function_that_looks_at_them() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("carry 5");
    running.filter(&["--count", "carried"]);
    running.have_done("carry 1000");
    let ended = running.end();
    ended.recorded().assert_balanced("carried", 5);
    assert_eq!(ended.switches("carried")[0][0].count, Some(1000));
}

#[test]
fn parent_and_child_count_for_themselves() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("tick 1 1");
    running.filter(&["--count", "tick"]);
    running.have_done("fork 20000");
    running.have_done("tick 5 2");
    let ended = running.end();
    let mut counts: Vec<u64> = ended.switches("tick").iter().flatten().filter_map(|switch| switch.count).collect();
    counts.sort_unstable();
    assert_eq!(counts, [20_000, 20_010]);
}

#[test]
fn hooks_lists_what_was_switched() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("tick 1 1");
    running.filter(&["--count", "tick"]);
    running.have_done("tick 123 1");
    let ended = running.end();
    let session = ended.session.to_str().unwrap();
    let totals = crate::run::ada(["hooks", session]);
    assert!(text(&totals.stdout).contains("1 function was not recorded all the time"), "{}", text(&totals.stdout));
    let list = crate::run::ada(["hooks", session, "--switched"]);
    let line = text(&list.stdout).lines().find(|line| line.ends_with(" tick")).expect("tick is listed").to_owned();
    assert!(line.contains("count") && line.contains(" 123 ") && line.contains("filter"), "{line}");
}

#[test]
fn names_that_match_nothing_are_refused_in_one_line() {
    let mut running = Running::start(&["--quiet"]);
    running.have_done("tick 1 1");
    let pid = running.pid();
    let output = running.command(&["filter", &pid, "--off", "no_such_function"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    assert!(text(&output.stderr).contains("no_such_function"), "{}", text(&output.stderr));
    let nothing = running.command(&["filter", &pid]).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    running.end();
}
