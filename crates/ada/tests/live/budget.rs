//! `--max-overhead`: the hottest functions are counted, and nothing is lost by it.

use super::running::Running;
use crate::run::text;

#[test]
fn the_hottest_function_is_counted_and_no_call_is_lost() {
    const CALLS: u64 = 40_000_000;
    let mut running = Running::start(&["--max-overhead", "10%", "--exact-counts", "--detail", "off"]);
    running.have_done(&format!("tick {CALLS} 2"));
    let ended = running.end();
    let switches = &ended.switches("tick")[0];
    assert!(switches.iter().any(|switch| switch.mode == "count" && switch.why == "budget"), "{switches:?}");
    let counted: u64 = switches.iter().filter_map(|switch| switch.count).sum();
    let recorded = ended.recorded().counts("tick");
    assert_eq!(recorded.calls + counted, 2 * CALLS);
    assert_eq!(recorded.calls, recorded.returns);
    let manifest = &ended.manifests()[0];
    assert_eq!(manifest.max_overhead, Some(0.1));
    assert!(manifest.over_budget_ns.is_some_and(|over| over > 0), "{:?}", manifest.over_budget_ns);
    let words = text(&ended.output.stderr);
    assert!(words.contains("not recorded all the time: tick"), "{words}");
}

#[test]
fn a_function_that_is_too_hot_to_be_counted_loses_its_hook_and_the_session_says_so() {
    // Seconds of work, so that a governor on a busy machine comes to look at it.
    const CALLS: u64 = 200_000_000;
    let mut running = Running::start(&["--max-overhead", "1%", "--detail", "off"]);
    running.have_done(&format!("tick {CALLS} 10"));
    let answer = running.filter(&["--on", "tick"]);
    let ended = running.end();
    let switches = &ended.switches("tick")[0];
    let modes: Vec<&str> = switches.iter().map(|switch| &*switch.mode).collect();
    assert!(modes.contains(&"count") && modes.last() == Some(&"unhooked"), "{switches:?}");
    let last = switches.last().unwrap();
    assert_eq!((last.to_ns, last.count, &*last.why), (None, None, "budget"));
    assert_eq!(answer, "0 of 1 functions are now recorded\n");
    // What was begun before goes on as it was begun.
    let recorded = ended.recorded().counts("tick");
    assert_eq!(recorded.calls, recorded.returns);
    let counted: u64 = switches.iter().filter_map(|switch| switch.count).sum();
    assert!(recorded.calls + counted < 10 * CALLS, "{} and {counted}", recorded.calls);
    let words = text(&ended.output.stderr);
    assert!(words.contains("hooks were removed") && words.contains("tick"), "{words}");
}

#[test]
fn without_a_budget_nothing_is_switched_and_the_summary_says_what_one_would_have_done() {
    let mut running = Running::start(&["--detail", "off"]);
    running.have_done("tick 2000000 1");
    let ended = running.end();
    ended.recorded().assert_balanced("tick", 2_000_000);
    let manifest = &ended.manifests()[0];
    assert_eq!((manifest.switches.len(), manifest.max_overhead, manifest.over_budget_ns), (0, None, None));
    let words = text(&ended.output.stderr);
    assert!(words.contains("--max-overhead 10% would have counted tick"), "{words}");
}

#[test]
fn the_session_says_what_a_hook_costs() {
    for detail in ["off", "windows", "all"] {
        let ended = Running::start(&["--quiet", "--detail", detail]).end();
        let cost = ended.manifests()[0].hook_cost_ns.clone().expect("it was measured");
        assert!(cost.pair > 0.0 && cost.inside > 0.0 && cost.inside < cost.pair && cost.count < cost.pair, "{cost:?}");
    }
}

#[test]
fn shares_that_are_none_are_refused() {
    for share in ["0", "0%", "lots"] {
        let output = crate::run::ada(["trace", "--max-overhead", share, "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{share}");
        assert!(text(&output.stderr).contains("--max-overhead"), "{}", text(&output.stderr));
    }
}
