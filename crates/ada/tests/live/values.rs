//! Values that are captured from when somebody asks for them, and left out before calls are.

use ada_format::atf::Switch;

use super::running::{Ended, Running};
use crate::run::{self, text};
use crate::trace::program::Program;

fn start(options: &[&str]) -> Running {
    Running::start_program(&Program::new("switched.c").flags(&["-g"]), options)
}

/// The calls of `tick` that have values, and its other calls.
fn calls(ended: &Ended) -> (u64, u64) {
    let query = "SELECT count(call), count(*) - count(call) FROM spans WHERE name = 'tick'";
    let output = run::ada(["query", ended.session.to_str().unwrap(), query, "--format", "csv"]);
    let line = text(&output.stdout).lines().nth(1).unwrap_or_else(|| panic!("{}", text(&output.stderr)));
    let (with, without) = line.split_once(',').unwrap();
    (with.parse().unwrap(), without.parse().unwrap())
}

fn value_switches(ended: &Ended) -> Vec<Switch> {
    ended.manifests()[0].value_switches.clone()
}

#[test]
fn values_are_captured_from_when_somebody_asks_until_nobody_does() {
    let mut running = start(&["--args-later", "tick"]);
    running.have_done("tick 5 1");
    assert_eq!(running.filter(&["--args", "tick"]), "1 of 1 functions are now recorded with values\n");
    running.have_done("tick 7 2");
    assert_eq!(running.filter(&["--no-args", "tick"]), "1 of 1 functions are now recorded without values\n");
    running.have_done("tick 3 1");
    running.filter(&["--count", "tick"]);
    running.have_done("tick 11 1");
    running.filter(&["--args", "tick"]);
    running.have_done("tick 2 1");
    // What is not ready is refused, with what to do.
    let refused = running.command(&["filter", &running.pid(), "--args", "call_carried"]).output().unwrap();
    assert!(text(&refused.stderr).contains("ada trace --args-later 'call_carried'"), "{}", text(&refused.stderr));
    assert_ne!(refused.status.code(), Some(0));
    let ended = running.end();
    ended.recorded().assert_balanced("tick", 5 + 2 * 7 + 3 + 2);
    assert_eq!(calls(&ended), (2 * 7 + 2, 5 + 3));
    assert_eq!(ended.switches("tick")[0][0].count, Some(11));
    let whys: Vec<(String, bool)> =
        value_switches(&ended).iter().map(|it| (it.why.clone(), it.to_ns.is_some())).collect();
    assert_eq!(whys, [("later".to_owned(), true), ("filter".to_owned(), true)]);
    let words = text(&ended.output.stderr);
    assert!(words.contains("values of 1 function were not captured all the time: tick"), "{words}");
}

#[test]
fn a_budget_leaves_out_values_before_it_counts_calls() {
    let options = ["--args", "tick", "--max-overhead", "10%", "--exact-counts", "--detail", "off"];
    let mut running = start(&options);
    running.have_done("tick 20000000 2");
    let ended = running.end();
    let values = value_switches(&ended);
    assert!(values.first().is_some_and(|it| it.why == "budget" && it.mode == "without_values"), "{values:?}");
    let counted = &ended.switches("tick")[0];
    assert!(counted.iter().all(|it| it.from_ns >= values[0].from_ns), "{counted:?} {values:?}");
    let words = text(&ended.output.stderr);
    assert!(words.contains("values of 1 function were not captured all the time: tick"), "{words}");
    let calls: u64 = counted.iter().filter_map(|it| it.count).sum();
    assert_eq!(calls + ended.recorded().counts("tick").calls, 40_000_000);
}
