//! What the user can choose.

use std::fs;

use ada_format::atf::Session;

use super::program::Program;
use super::recorded::Counts;
use super::tracing::Tracing;
use crate::run::{self, text};

fn recursion() -> Tracing {
    Tracing::new(&Program::new("recursion.c"))
}

#[test]
fn an_excluded_function_is_not_in_the_trace_and_the_reason_is() {
    let traced = recursion().option(&["--exclude", "fi?"]).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.counts("fib"), Counts::default());
    recorded.assert_balanced("chain", 201);
    let row = recorded.process().own().functions.iter().find(|row| row.name == "fib").unwrap();
    assert_eq!((row.verdict.as_str(), row.reason.as_str()), ("skipped", "excluded"));
}

#[test]
fn an_excluded_module_is_left_alone() {
    let traced = recursion().option(&["--exclude", "libc.so*", "--exclude", "ld-linux*"]).check();
    let process = traced.recorded.process();
    traced.recorded.assert_balanced("fib", 1973);
    assert_eq!(process.counts_of(|module, _| module.id != process.own().id), Counts::default());
}

#[test]
fn nothing_is_recorded_below_the_greatest_depth() {
    for limit in [1_u32, 2, 10] {
        let traced = recursion().option(&["--max-depth", &limit.to_string()]).check();
        let deepest = traced.recorded.process().threads.iter().flatten().map(|event| event.depth).max();
        assert!(deepest < Some(limit), "{deepest:?} with --max-depth {limit}");
    }
}

#[test]
fn the_greatest_depth_keeps_all_above_it() {
    let traced = recursion().option(&["--max-depth", "30"]).check();
    let recorded = &traced.recorded;
    recorded.assert_balanced("main", 1);
    recorded.assert_balanced("fib", 1973);
    let chain = recorded.counts("chain");
    assert!(chain.calls > 20 && chain.calls < 30 && chain.returns == chain.calls, "{chain:?}");
}

#[test]
fn quiet_says_nothing_and_otherwise_the_end_says_where_the_session_is() {
    let tracing = recursion();
    let quiet = run::bounded(tracing.command(), b"");
    assert_eq!((text(&quiet.stdout), text(&quiet.stderr)), ("200 610\n", ""));
    let mut loud = run::command();
    let program = Program::new("recursion.c").build();
    loud.args(["trace", "--output"]).arg(tracing.sessions()).arg("--").arg(program);
    let loud = run::bounded(loud, b"");
    assert_eq!(text(&loud.stdout), "200 610\n");
    assert!(text(&loud.stderr).lines().all(|line| line.starts_with("ada: ")), "{}", text(&loud.stderr));
    assert!(text(&loud.stderr).contains(tracing.sessions().to_str().unwrap()));
    assert_eq!(fs::read_dir(tracing.sessions()).unwrap().count(), 2);
}

#[test]
fn sessions_go_to_a_folder_of_the_working_directory_by_default() {
    let here = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "-q", "--"]).arg(Program::new("recursion.c").build()).current_dir(here.path());
    assert_eq!(run::bounded(command, b"").status.code(), Some(0));
    assert_eq!(fs::read_dir(here.path().join("ada_traces")).unwrap().count(), 1);
}

#[test]
fn rings_that_are_too_small_do_no_harm() {
    Tracing::new(&Program::new("short_threads.c")).option(&["--ring-memory", "1M"]).check_output();
}

#[test]
fn rings_that_are_too_small_drop_and_do_no_harm() {
    let options = ["--ring-memory", "1M", "--on-full", "drop"];
    Tracing::new(&Program::new("short_threads.c")).option(&options).check_output();
}

#[test]
fn what_a_small_ring_drops_is_counted() {
    const EVENTS: u64 = 2 * 3 * 2_000_000;
    /// Of starting and ending the program.
    const OTHERS: u64 = 5_000;
    let options = ["--ring-memory", "4M", "--on-full", "drop"];
    let traced = Tracing::new(&Program::new("busy_threads.c")).option(&options).check_output();
    let events: u64 = traced.recorded.process().threads.iter().map(|thread| thread.len() as u64).sum();
    let manifest = Session::open(traced.recorded.path()).unwrap().processes()[0].manifest.clone().unwrap();
    let lost: u64 = manifest.drops.iter().filter(|drop| drop.lane == "index").map(|drop| drop.count).sum();
    assert!((EVENTS..EVENTS + OTHERS).contains(&(events + lost)), "{events} events, {lost} lost");
}

#[test]
fn rings_that_are_too_small_wait_and_lose_nothing() {
    let traced = Tracing::new(&Program::new("short_threads.c")).option(&["--ring-memory", "1M"]).check();
    traced.recorded.assert_balanced("body", 10_000);
    traced.recorded.assert_balanced("leaf", 20_000);
}

#[test]
fn bad_values_are_refused_in_words() {
    for words in [
        ["--max-depth", "0"],
        ["--max-depth", "deep"],
        ["--ring-memory", "1"],
        ["--ring-memory", "9G"],
        ["--startup-timeout", "soon"],
        ["--on-full", "panic"],
    ] {
        let output = run::ada(["trace"].iter().chain(&words).chain(&["--", "true"]));
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(words[0]), "{}", text(&output.stderr));
    }
}

#[test]
fn hooks_lists_the_verdicts() {
    let tracing = recursion().option(&["--exclude", "fib"]);
    assert_eq!(run::bounded(tracing.command(), b"").status.code(), Some(0));
    let session = tracing.session();
    let session = session.to_str().unwrap();
    let totals = run::ada(["hooks", session]);
    assert_eq!(totals.status.code(), Some(0));
    for words in ["found", "/recursion", "libc.so.6", "ld-linux"] {
        assert!(text(&totals.stdout).contains(words), "{words}");
    }
    let skipped = run::ada(["hooks", session, "--module", "recursion", "--skipped"]);
    let line = text(&skipped.stdout).lines().find(|line| line.ends_with(" fib")).expect("fib is listed").to_owned();
    assert!(line.contains("skipped (excluded)"), "{line}");
    assert!(!text(&skipped.stdout).contains(" chain"));
}

#[test]
fn hooks_are_listed_for_programs_too() {
    let tracing = recursion().option(&["--exclude", "fib"]);
    assert_eq!(run::bounded(tracing.command(), b"").status.code(), Some(0));
    let session = tracing.session();
    let ask = |options: &[&str]| {
        let output = run::ada(["hooks", session.to_str().unwrap()].iter().chain(options));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let json = |options: &[&str]| -> serde_json::Value { serde_json::from_str(&ask(options)).unwrap() };
    let totals = json(&["--format", "json"]);
    let program = totals["modules"].as_array().unwrap().iter().find(|it| it["reasons"]["excluded"] == 1).unwrap();
    let skipped = json(&["--module", "recursion", "--skipped", "--format", "json"]);
    let skipped = skipped["functions"].as_array().unwrap();
    assert_eq!(
        program["skipped"].as_u64(),
        Some(skipped.iter().filter(|it| it["verdict"] == "skipped").count() as u64)
    );
    let fib = skipped.iter().find(|it| it["name"] == "fib").expect("fib is listed");
    assert_eq!((&fib["reason"], &fib["module"]), (&"excluded".into(), &"recursion".into()));
    let csv = ask(&["--module", "recursion", "--skipped", "--format", "csv"]);
    assert_eq!(csv.lines().count(), skipped.len() + 1);
    assert_eq!(json(&["--switched", "--format", "json"])["switches"], serde_json::json!([]));
    let unknown = run::ada(["hooks", session.to_str().unwrap(), "--module", "no_such_module"]);
    assert_eq!((unknown.status.code(), text(&unknown.stderr).lines().count()), (Some(3), 1));
}
