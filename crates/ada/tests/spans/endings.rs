//! How calls end: by returning, jumping on, being unwound, with their thread or with their process.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::program::Program;
use crate::traced_program::{TracedProgram, all, outcome};

#[test]
fn tail_calls_end_where_they_jump_on() {
    let traced = TracedProgram::trace(&Program::new("tail_call.c").flags(&["-foptimize-sibling-calls"]));
    assert_eq!(traced.outcomes("first"), all("completed tail_call", 2));
    assert_eq!(traced.outcomes("middle"), all("completed tail_call", 2));
    assert_eq!(traced.outcomes("last"), all("completed", 2));
    assert_eq!(traced.outcomes("plain"), all("completed", 1));
    let ring = BTreeMap::from([("completed".to_owned(), 1), ("completed tail_call".to_owned(), 50_000)]);
    assert_eq!(traced.outcomes("ping"), ring);
    assert_eq!(traced.outcomes("pong"), all("completed tail_call", 50_000));
    let spans = traced.spans(&["--type", "frame", "--function", "middle"]);
    let last = traced.spans(&["--type", "frame", "--function", "last"]);
    let time = |span: &Value, name: &str| span[name].as_u64().unwrap();
    assert!(time(&spans[0], "end_ns") <= time(&last[0], "start_ns"), "one ends before the other begins");
    assert_eq!(spans[0]["evidence"].as_array().map(Vec::len), Some(2), "an event says so: {}", spans[0]);
    assert_eq!((&spans[0]["parent_span_id"], &spans[0]["depth"]), (&last[0]["parent_span_id"], &last[0]["depth"]));
}

#[test]
fn an_exception_ends_fifty_frames_and_is_their_context() {
    let traced = TracedProgram::trace(&Program::new("exception.cpp"));
    assert_eq!(traced.outcomes("plain"), all("unmatched exception", 100));
    assert_eq!(traced.outcomes("guarded"), all("unmatched exception", 100));
    for (name, count) in [("survivor", 4), ("outer", 4), ("after", 8), ("main", 1), ("Guard::~Guard", 100)] {
        assert_eq!(traced.outcomes(name), all("completed", count), "{name}");
    }
    let spans = traced.spans(&["--type", "frame", "--function", "plain"]);
    let contexts: Vec<&str> =
        spans.iter().map(|span| span["attributes"]["context"].as_str().expect("each has one")).collect();
    assert_eq!(contexts.iter().filter(|&&context| context == contexts[0]).count(), 50, "one throw for fifty frames");
    let throw = traced.json("show", &[contexts[0]]);
    assert_eq!((&throw["kind"], &throw["name"]), (&"call".into(), &"__cxa_throw".into()));
}

#[test]
fn a_longjmp_ends_ten_frames() {
    let traced = TracedProgram::trace(&Program::new("longjmp.c"));
    assert_eq!(traced.outcomes("descend"), all("unmatched unwind", 30));
    assert_eq!(traced.outcomes("attempt"), all("completed", 3));
    assert_eq!(traced.outcomes("after"), all("completed", 4));
}

#[test]
fn a_panic_is_an_exception() {
    let traced = TracedProgram::trace(&Program::new("panic.rs"));
    assert_eq!(traced.outcomes("*::descend"), all("unmatched exception", 123));
    assert_eq!(traced.outcomes("*::attempt"), all("completed", 6));
}

#[test]
fn exit_in_a_nested_call_leaves_what_is_open_to_the_process_end() {
    let traced = TracedProgram::trace(&Program::new("exit_inside.c"));
    assert_eq!(traced.outcomes("inner"), all("unmatched process_exit", 6));
    assert_eq!(traced.outcomes("main"), all("unmatched process_exit", 1));
    assert_eq!(traced.outcomes("at_exit"), all("completed", 1));
}

#[test]
fn a_crash_ends_what_is_open() {
    let traced = TracedProgram::trace(&Program::new("uncaught.cpp"));
    assert_eq!(traced.outcomes("main"), all("unmatched crash", 1));
    assert_eq!(traced.outcomes("thrower"), all("unmatched crash", 1));
    let report = traced.json("report", &[]);
    assert_eq!(report["run"]["process"]["end"], "killed by SIGABRT");
}

/// No handler can run on a stack that has overflowed.
#[test]
fn a_stack_overflow_has_a_line_and_a_thread() {
    let traced = TracedProgram::trace_running(&Program::new("crash.c"), &[], &["overflow", "thread"]);
    let run = traced.json("report", &[])["run"].clone();
    assert_eq!((&run["crash"]["signal"], &run["crash"]["uncertain"]), (&11.into(), &true.into()), "{run:#}");
    let thread = run["crash"]["thread"].as_str().unwrap();
    assert_eq!(traced.json("show", &[thread])["name"], "body");
    assert!(run["crash"]["open_calls"].as_u64() > Some(100));
}

/// Whoever ends a program by SIGTERM wants it to end.
#[test]
fn a_program_that_was_asked_to_end_has_not_crashed() {
    for signal in ["TERM", "INT", "HUP"] {
        let shell = std::path::Path::new("/bin/sh");
        let traced = TracedProgram::trace_running_file(shell, &["-c", &format!("kill -{signal} $$; sleep 5")]);
        let report = traced.json("report", &[]);
        assert_eq!(report["run"]["process"]["end"], format!("killed by SIG{signal}"));
        assert_eq!(report["run"]["crash"], Value::Null);
        assert_eq!(traced.spans(&["--reason", "crash"]).len(), 0);
        assert!(!traced.spans(&["--reason", "process_exit"]).is_empty());
    }
}

#[test]
fn functions_without_returns_are_spans_of_their_own_kind() {
    let traced = TracedProgram::trace(&Program::new("longjmp.c"));
    let spans = traced.spans(&["--type", "frame", "--status", "entry_only"]);
    assert!(spans.iter().any(|span| span["name"] == "_dl_runtime_resolve_xsavec" || span["name"] == "longjmp"));
    assert!(spans.iter().all(|span| span["duration_ns"] == 0 && outcome(span) == "entry_only"));
    let anomalies = traced.json("report", &[])["anomalies"].clone();
    let kinds: Vec<&str> = anomalies.as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert!(!kinds.contains(&"beginning_without_end"), "{kinds:?}");
}

#[test]
fn recursion_is_a_tree_with_counts() {
    let traced = TracedProgram::trace(&Program::new("mutual_recursion.c"));
    let tree = traced.json("tree", &["--function", "main", "--depth", "20"]);
    let names: Vec<(u64, &str, u64)> = tree["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["level"].as_u64().unwrap(), node["name"].as_str().unwrap(), node["count"].as_u64().unwrap()))
        .filter(|(_, name, _)| name.starts_with("is_") || *name == "main")
        .collect();
    let expected =
        [(0, "main", 1), (1, "is_even", 1), (2, "is_odd", 1), (3, "is_even", 1), (4, "is_odd", 1), (5, "is_even", 1)];
    assert_eq!(names, expected);
}
