//! Threads as logical spans.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::program::Program;
use crate::traced_program::{TracedProgram, all, outcome};

fn threads(traced: &TracedProgram) -> Vec<Value> {
    traced.spans(&["--runtime", "pthread"])
}

fn names(spans: &[Value]) -> Vec<&str> {
    spans.iter().map(|span| span["name"].as_str().expect("each has one")).collect()
}

#[test]
fn pthread_exit_ends_the_thread_and_its_frames() {
    let traced = TracedProgram::trace_with_registers(&Program::new("thread_exit.c"));
    let spans = threads(&traced);
    assert_eq!(spans.len(), 10);
    for span in &spans {
        let attributes = &span["attributes"];
        assert_eq!((span["name"].as_str(), outcome(span).as_str()), (Some("body"), "exited unwind"));
        assert_eq!((&attributes["end_by"], &attributes["exit_value"]), (&"pthread_exit".into(), &"0x7".into()));
        assert_eq!(attributes["mode"], "joinable");
        assert!(attributes["join_wait_ns"].as_u64().is_some() && attributes["spawn_latency_ns"].as_u64().is_some());
    }
    assert_eq!(traced.outcomes("body"), all("exited unwind", 10));
    assert_eq!(traced.outcomes("descend"), all("exited unwind", 50));
    assert_eq!(traced.outcomes("cleanup"), all("completed", 10));
}

#[test]
fn cancellation_ends_the_thread_and_its_frames() {
    let traced = TracedProgram::trace_with_registers(&Program::new("thread_cancel.c"));
    let spans = traced.spans(&["--runtime", "pthread", "--status", "cancelled"]);
    assert_eq!(spans.len(), 10);
    for span in &spans {
        assert_eq!(
            (span["attributes"]["end_by"].as_str(), outcome(span).as_str()),
            (Some("canceled"), "canceled canceled")
        );
        assert!(span["attributes"]["canceler_thread_id"].as_u64().is_some());
    }
    assert_eq!(traced.outcomes("wait_for_ever"), all("canceled canceled", 30));
    assert_eq!(traced.outcomes("body"), all("canceled canceled", 10));
}

#[test]
fn ten_thousand_threads_with_reused_ids_are_ten_thousand_spans() {
    let traced = TracedProgram::trace(&Program::new("short_threads.c"));
    let spans = threads(&traced);
    assert_eq!(spans.len(), 10_000);
    let ids: HashSet<&str> = spans.iter().filter_map(|span| span["span_id"].as_str()).collect();
    assert_eq!(ids.len(), 10_000);
    assert!(spans.iter().all(|span| span["name"] == "body" && outcome(span) == "completed"));
    let creators: HashSet<Option<u64>> =
        spans.iter().map(|span| span["attributes"]["creator_thread_id"].as_u64()).collect();
    assert_eq!(creators.len(), 1, "all were made by the first thread: {creators:?}");
    assert_eq!(traced.outcomes("body"), all("completed", 10_000));
}

#[test]
fn threads_that_create_threads_have_levels_and_parents() {
    let traced = TracedProgram::trace_with_registers(&Program::new("thread_tree.c"));
    let spans = threads(&traced);
    assert_eq!(names(&spans), ["level", "level", "level", "level", "level", "detached"]);
    for (number, span) in spans.iter().enumerate() {
        assert_eq!(span["attributes"]["level"].as_u64(), Some(number as u64 + 1));
        if number > 0 {
            assert_eq!(span["parent_span_id"], spans[number - 1]["span_id"]);
        }
    }
    let values: Vec<&str> = spans.iter().filter_map(|span| span["attributes"]["exit_value"].as_str()).collect();
    assert_eq!(values, ["0xf", "0xe", "0xc", "0x9", "0x5", "0x6"]);
    let modes: Vec<&str> = spans.iter().filter_map(|span| span["attributes"]["mode"].as_str()).collect();
    assert_eq!(modes, ["joinable", "joinable", "joinable", "joinable", "joinable", "detached"]);
    let listed = traced.json("threads", &[]);
    let levels: Vec<u64> =
        listed["threads"].as_array().unwrap().iter().filter_map(|thread| thread["level"].as_u64()).collect();
    assert_eq!(levels, [0, 1, 2, 3, 4, 5, 6]);
    assert!(listed["active"]["most"].as_u64() >= Some(6), "each waits for the next");
}

#[test]
fn a_pool_runs_jobs_of_the_thread_that_submitted_them() {
    let traced = TracedProgram::trace_with_registers(&Program::new("thread_pool.c"));
    let spans = threads(&traced);
    assert_eq!(names(&spans), ["worker"; 4]);
    let jobs = traced.spans(&["--runtime", "callback", "--function", "square"]);
    assert_eq!(jobs.len(), 100);
    let first = traced.json("threads", &["--limit", "1"])["threads"][0]["thread_id"].clone();
    let mut initiators = HashSet::new();
    for job in &jobs {
        let attributes = &job["attributes"];
        assert_eq!((&attributes["initiator"], &attributes["initiator_thread_id"]), (&"submit".into(), &first));
        assert_eq!(attributes["confidence"], 0.9);
        initiators.insert(attributes["initiator_span_id"].as_str());
    }
    assert_eq!(initiators.len(), 100, "each job has a submission of its own");
}

#[test]
fn threads_of_the_standard_libraries_are_named_after_what_they_run() {
    let cpp = TracedProgram::trace_with_registers(&Program::new("std_threads.cpp"));
    assert_eq!(names(&threads(&cpp)), ["plain_function(long)", "main::{lambda()#1}", "main::{lambda(long)#2}"]);
    let rust = TracedProgram::trace_with_registers(&Program::new("std_threads.rs"));
    let spans = threads(&rust);
    assert_eq!(names(&spans)[0], "std_threads::plain_function");
    assert!(names(&spans)[1..].iter().all(|name| name.starts_with("std_threads::")), "{:?}", names(&spans));
    let c11 = TracedProgram::trace_with_registers(&Program::new("c11_threads.c"));
    let spans = threads(&c11);
    assert_eq!(names(&spans), ["c11_body"; 2]);
    let ends: Vec<&str> = spans.iter().filter_map(|span| span["attributes"]["end_by"].as_str()).collect();
    assert_eq!(ends, ["return", "pthread_exit"]);
    for traced in [cpp, rust, c11] {
        assert!(threads(&traced).iter().all(|span| span["attributes"]["join_wait_ns"].as_u64().is_some()));
    }
}

#[test]
fn every_session_knows_threads_by_their_handles() {
    let traced = TracedProgram::trace(&Program::new("thread_exit.c"));
    let spans = threads(&traced);
    let outcomes: BTreeMap<String, usize> = spans.iter().fold(BTreeMap::new(), |mut counts, span| {
        *counts.entry(outcome(span)).or_default() += 1;
        counts
    });
    assert_eq!(outcomes, all("exited unwind", 10));
    for span in &spans {
        let attributes = &span["attributes"];
        assert_eq!((&attributes["confidence"], &attributes["exit_value"]), (&1.0.into(), &"0x7".into()));
        assert_eq!((&attributes["mode"], &attributes["handle"]), (&"joinable".into(), &span["correlation_key"]));
        assert!(attributes["join_wait_ns"].as_u64().is_some());
    }
}

#[test]
fn logical_spans_stand_for_their_frames_in_default_lists_and_each_links_to_the_other() {
    let traced = TracedProgram::trace_with_registers(&Program::new("thread_exit.c"));
    let listed = traced.spans(&["--function", "body"]);
    assert!(listed.len() == 10 && listed.iter().all(|span| span["type"] == "logical"));
    for logical in &listed {
        let frame = traced.json("show", &[logical["attributes"]["frame_span_id"].as_str().unwrap()]);
        assert_eq!(frame["attributes"]["logical_span_id"], logical["span_id"]);
        assert_eq!((&frame["start_ns"], &frame["end_ns"]), (&logical["start_ns"], &logical["end_ns"]));
    }
    assert_eq!(traced.spans(&["--function", "body", "--type", "frame"]).len(), 10);
}
