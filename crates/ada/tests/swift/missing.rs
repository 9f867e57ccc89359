//! Tasks of which events are missing: what may have ended among them is never told as waiting.

use std::collections::BTreeMap;
use std::path::Path;

use ada_format::atf::Session;
use serde_json::Value;

use crate::run::{self, text};
use crate::story::{json, list, number, word};
use crate::toolchain::{Build, build, in_swift};

/// Traces a program whose tasks all end, and gives its tasks.
fn tasks(folder: &Path, options: &[&str]) -> Vec<Value> {
    let program = build("many_tasks.swift", Build::Release);
    let mut traced = in_swift();
    traced.args(["ada", "trace", "--quiet"]).args(options).arg("--output").arg(folder).arg("--").arg(program);
    let traced = run::bounded(traced, b"");
    assert_eq!((traced.status.code(), text(&traced.stdout)), (Some(0), "10000\n"), "{}", text(&traced.stderr));
    list(json(folder, "tasks", &["--all", "--limit", "0"]), "tasks")
}

/// All 20,000 of them have ended, whatever was recorded of it.
fn check(folder: &Path, tasks: &[Value]) {
    let mut endings: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for task in tasks {
        *endings.entry((word(task, "status"), word(task, "reason"))).or_default() += 1;
        let sum = number(task, "running_ns") + number(task, "suspended_ns");
        assert_eq!(sum, number(task, "duration_ns"), "{task:#}");
    }
    // On a machine that is busy with other things, `main` takes longer than what counts as long.
    let is_true = |ending: &(&str, &str)| {
        matches!(ending, ("completed", "" | "timeout") | ("unmatched", "dropped" | "attached_midway"))
    };
    assert!(endings.keys().all(is_true), "{endings:?}");
    assert!(endings.keys().any(|(_, reason)| !reason.is_empty()), "something is missing: {endings:?}");
    let mut ask = run::command();
    ask.args(["ask", "findings", "--format", "json"]).arg(folder);
    let answer: Value = serde_json::from_slice(&run::bounded(ask, b"").stdout).unwrap();
    let kinds: Vec<&str> = answer["findings"].as_array().unwrap().iter().map(|it| word(it, "kind")).collect();
    let is_false = |kind: &&str| matches!(*kind, "never_resumed" | "leaked_continuation" | "never_left");
    assert!(!kinds.iter().any(is_false), "{kinds:?}");
    let oddities = list(json(folder, "report", &[]), "anomalies");
    assert!(oddities.iter().all(|it| it["kind"] != "orphaned_resume"), "{oddities:?}");
}

#[test]
fn a_ring_makes_no_task_that_has_ended_wait() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks(folder.path(), &["--ring", "8M"]);
    check(folder.path(), &tasks);
    // Each event is kept, or said to be let go.
    let recorded = folder.path().read_dir().unwrap().next().unwrap().unwrap();
    let session = Session::open(recorded.path()).unwrap();
    let manifest = session.processes()[0].manifest.as_ref().unwrap();
    let kept: u64 = manifest.threads.iter().filter_map(|thread| thread.event_count).sum();
    let ring = manifest.ring.as_ref().unwrap();
    assert_eq!(manifest.lanes["index"].written, kept + ring.let_go_events);
}

#[test]
fn dropped_events_make_no_task_that_has_ended_wait() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks(folder.path(), &["--on-full", "drop", "--ring-memory", "1M"]);
    check(folder.path(), &tasks);
}

/// A thousand children of one name are one line.
#[test]
fn tasks_are_summed_up_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks(folder.path(), &[]);
    assert_eq!(tasks.len(), 20_001);
    let summary = list(json(folder.path(), "tasks", &["--summary"]), "names");
    let [children, main] = &summary[..] else { panic!("two names: {summary:#?}") };
    assert_eq!((&children["count"], &children["statuses"]["completed"]), (&20_000.into(), &20_000.into()));
    assert_eq!((&main["count"], &main["name"]), (&1.into(), &tasks[0]["name"]));
    let percentiles = ["duration_p50_ns", "duration_p95_ns", "duration_p99_ns", "duration_max_ns"];
    assert!(percentiles.map(|it| number(children, it)).is_sorted(), "{children:#}");
}
