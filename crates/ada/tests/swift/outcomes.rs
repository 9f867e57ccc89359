//! Whether tasks returned or threw, and what: the programs say it themselves.

use std::collections::BTreeMap;

use serde_json::{Value, json as made};

use crate::run::{self, text};
use crate::story::{Story, json, list, word};
use crate::toolchain::{Build, build, in_swift};

/// The task's maker, among the functions that its name has.
fn maker<'a>(task: &Value, makers: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut makers = makers;
    makers.find(|maker| word(task, "name").contains(&format!("thrown.{maker}(")))
}

/// As the program says it: `threw Failure second`, `returned`.
fn outcome(task: &Value) -> String {
    match word(task, "outcome") {
        "threw" => {
            assert!(!task["error"].is_null(), "{task:#}");
            let case = task["error_case"].as_str().unwrap_or("-");
            format!("threw {} {case}", word(task, "error"))
        }
        other => other.to_owned(),
    }
}

#[test]
fn tasks_that_throw_are_told_with_what_they_threw() {
    for build in [Build::Debug, Build::Release, Build::Static, Build::Stripped] {
        let story = Story::of("thrown.swift", build);
        let lines =
            story.printed.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| *name != "failures");
        let mut truth: Vec<(&str, String)> = lines.map(|(name, end)| (name, end.to_owned())).collect();
        assert_eq!(truth.len(), 24, "{build:?}");
        let mut found: Vec<(&str, String)> = Vec::new();
        if build == Build::Stripped {
            // Nothing has a name: what happened how often is known all the same.
            truth.iter_mut().for_each(|(name, _)| *name = "");
            found.extend(story.own().filter(|task| task["kind"] != "main").map(|task| ("", outcome(task))));
        } else {
            for task in story.own().filter(|task| task["kind"] != "main") {
                let maker = maker(task, truth.iter().map(|(name, _)| *name));
                found.push((maker.unwrap_or_else(|| panic!("{build:?} {task:#}")), outcome(task)));
            }
        }
        truth.sort();
        found.sort();
        assert_eq!(found, truth, "{build:?}");
        for task in story.own() {
            let is_of_runtime = task["error"] == "CancellationError";
            let module = if is_of_runtime { "Swift" } else { "thrown" };
            assert!(task["outcome"] != "threw" || task["error_module"] == module, "{build:?} {task:#}");
            // A cancelled task is cancelled, however it ended.
            assert!(!is_of_runtime || task["status"] == "canceled", "{build:?} {task:#}");
        }
        assert_eq!(story.own().filter(|task| task["status"] == "canceled").count(), 2, "{build:?}");
        // `main` ends the process: there is no more to know of it.
        assert_eq!(
            (&story.tasks[0]["outcome"], word(&story.tasks[0], "outcome_unknown")),
            (&Value::Null, "it ended the process")
        );
        check_ignored(&story, build);
    }
}

/// One task has thrown what nobody asked for.
fn check_ignored(story: &Story, build: Build) {
    let findings = story.findings();
    let ignored: Vec<&Value> = findings.iter().filter(|it| it["kind"] == "ignored_error").collect();
    let [ignored] = ignored[..] else { panic!("{build:?} {ignored:#?}") };
    assert!(
        word(ignored, "title").ends_with("ended by throwing Failure.third; nobody asked for its result"),
        "{ignored:#}"
    );
    let unread: Vec<&Value> =
        story.own().filter(|task| task["result_requests"] == 0 && task["outcome"] == "threw").collect();
    let unstructured = unread.iter().filter(|task| matches!(word(task, "kind"), "task" | "detached"));
    assert_eq!(unstructured.count(), 1, "{build:?}");
    let oddities = list(story.json("report", &[]), "anomalies");
    assert!(oddities.iter().any(|it| it["kind"] == "ignored_error" && it["count"] == 1), "{build:?} {oddities:#?}");
    // Where people look.
    let table = story.text(&["tasks", "--limit", "0"]);
    assert!(table.contains("threw Hidden.sight") && table.contains("returned"), "{build:?} {table}");
    let rows = story.query("SELECT count(*) AS n, count(error) AS named FROM spans WHERE outcome = 'threw'");
    assert_eq!(rows, made!([{ "n": 17, "named": 17 }]), "{build:?}");
}

/// A `main` that throws ends the process, and is told with its error.
#[test]
fn a_main_that_throws_is_told_with_its_error() {
    for how in [Build::Debug, Build::Release] {
        let program = build("main_throws.swift", how);
        let folder = tempfile::tempdir().unwrap();
        let mut traced = in_swift();
        traced.args(["ada", "trace", "--quiet", "--output"]).arg(folder.path()).arg("--").arg(&program);
        let traced = run::bounded(traced, b"");
        assert!(text(&traced.stderr).contains("Error raised at top level"), "{how:?} {}", text(&traced.stderr));
        let tasks = list(json(folder.path(), "tasks", &[]), "tasks");
        assert_eq!(outcome(&tasks[0]), "threw Failure late", "{how:?} {:#}", tasks[0]);
    }
}

/// Where events are missing, a task that returned is never said to have thrown, nor the other way round, and nobody is said not to
/// have asked.
#[test]
fn missing_events_change_no_outcome() {
    for options in [&["--ring", "8M"][..], &["--on-full", "drop", "--ring-memory", "1M"], &[]] {
        let program = build("mixed_ends.swift", Build::Release);
        let folder = tempfile::tempdir().unwrap();
        let mut traced = in_swift();
        traced
            .args(["ada", "trace", "--quiet"])
            .args(options)
            .arg("--output")
            .arg(folder.path())
            .arg("--")
            .arg(program);
        let traced = run::bounded(traced, b"");
        assert_eq!((traced.status.code(), text(&traced.stdout)), (Some(0), "5000\n"), "{}", text(&traced.stderr));
        let tasks = list(json(folder.path(), "tasks", &["--limit", "0"]), "tasks");
        let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for task in &tasks {
            let is_throwing = match word(task, "name") {
                name if name.contains("mixed_ends.throwing(") => true,
                name if name.contains("mixed_ends.returning(") => false,
                _ => continue,
            };
            *counts.entry((is_throwing, task["outcome"].as_str().unwrap_or("?"))).or_default() += 1;
            if task["outcome"] == "threw" {
                assert_eq!((word(task, "error"), word(task, "error_case")), ("Failure", "even"), "{task:#}");
            }
            assert!(task["outcome"].is_null() == task["outcome_unknown"].is_string(), "{task:#}");
        }
        let is_false =
            |&(is_throwing, outcome): &(bool, &str)| outcome == if is_throwing { "returned" } else { "threw" };
        assert!(!counts.keys().any(is_false), "{options:?} {counts:?}");
        if options.is_empty() {
            assert_eq!(counts, BTreeMap::from([((true, "threw"), 5000), ((false, "returned"), 5000)]));
        } else {
            assert!(counts.values().sum::<usize>() < 10_000 || counts.keys().any(|(_, it)| *it == "?"), "{counts:?}");
        }
        let mut ask = run::command();
        ask.args(["ask", "findings", "--format", "json"]).arg(folder.path());
        let answer: Value = serde_json::from_slice(&run::bounded(ask, b"").stdout).unwrap();
        assert!(list(answer, "findings").iter().all(|it| it["kind"] != "ignored_error"), "{options:?}");
    }
}
