//! The stories of tasks.

use std::collections::HashSet;

use serde_json::Value;

use crate::story::{Story, count, number, waits, word};
use crate::toolchain::Build;

const BOTH: [Build; 2] = [Build::Debug, Build::Release];

#[test]
fn awaits_one_after_the_other_are_one_task() {
    for build in BOTH {
        let story = Story::of("sequential.swift", build);
        assert_eq!(story.outline(), ["0 main completed"], "{build:?}");
        let kinds = waits(&story.tasks[0]);
        // A yield whose turn comes before the task has paused is none.
        assert!(count(&kinds, "yield") <= 5, "{build:?} {kinds:?}");
        assert_eq!(count(&kinds, "yield") + count(&kinds, "executor"), kinds.len(), "{build:?} {kinds:?}");
    }
}

#[test]
fn children_by_async_let_are_below_their_parent() {
    for build in BOTH {
        let story = Story::of("async_let.swift", build);
        let child = |number: u32| {
            format!(
                "1 async_let completed implicit closure #{number} @Sendable () async -> Swift.Int in static \
                 async_let.Program.main() async -> ()"
            )
        };
        assert_eq!(story.outline(), ["0 main completed".to_owned(), child(1), child(2), child(3)], "{build:?}");
        assert_encloses(&story.tasks[0], &story.tasks[1..]);
    }
}

#[test]
fn a_group_has_a_hundred_children() {
    for build in [Build::Debug, Build::Release, Build::Static] {
        let story = Story::of("group.swift", build);
        let outline = story.outline();
        assert_eq!((outline.len(), outline[0].as_str()), (101, "0 main completed"), "{build:?}");
        let child = "1 group completed closure #1 () async -> Swift.Int in closure #1 (inout \
                     Swift.TaskGroup<Swift.Int>) async -> Swift.Int in static group.Program.main() async -> ()";
        assert!(outline[1..].iter().all(|line| line == child), "{build:?} {outline:?}");
        assert_encloses(&story.tasks[0], &story.tasks[1..]);
    }
}

#[test]
fn tasks_of_tasks_are_below_each_other() {
    for build in [Build::Debug, Build::Release, Build::Static] {
        let story = Story::of("nested.swift", build);
        let closure = "closure #1 () async -> Swift.Int in ";
        let main = "static nested.Program.main() async -> ()";
        let outline = [
            "0 main completed".to_owned(),
            format!("1 task completed {closure}{main}"),
            format!("2 task completed {closure}{closure}{main}"),
            format!("3 task completed {closure}{closure}{closure}{main}"),
        ];
        assert_eq!(story.outline(), outline, "{build:?}");
        // Each of the three outer ones waits for the next.
        let own: Vec<&Value> = story.own().collect();
        for pair in own.windows(2) {
            let awaited = pair[0]["suspensions"].as_array().expect("a list");
            let awaited: Vec<&str> =
                awaited.iter().filter(|it| it["kind"] == "task").map(|it| word(it, "task_span_id")).collect();
            assert_eq!(awaited, [word(pair[1], "reference")], "{build:?}");
        }
    }
}

#[test]
fn cancellation_is_shown_with_what_was_waited_for() {
    for build in BOTH {
        let story = Story::of("cancel.swift", build);
        let closure = |number: u32| {
            format!("closure #{number} () async -> Swift.String in static cancel.Program.main() async -> ()")
        };
        let outline = [
            "0 main completed".to_owned(),
            format!("1 task canceled {}", closure(1)),
            format!("1 task canceled {}", closure(2)),
            format!("1 task completed {}", closure(3)),
        ];
        assert_eq!(story.outline(), outline, "{build:?}");
        let own: Vec<&Value> = story.own().collect();
        for canceled in &own[1..3] {
            assert_eq!(canceled["reason"], "canceled");
            assert_eq!(canceled["canceler_span_id"], own[0]["reference"]);
        }
        // The first never slept: it was cancelled before.
        assert_eq!(count(&waits(own[1]), "sleep"), 0, "{build:?}");
        assert_eq!(count(&waits(own[2]), "sleep"), 1, "{build:?}");
        let sleep = own[2]["suspensions"].as_array().expect("a list").iter().find(|it| it["kind"] == "sleep");
        assert_eq!(own[2]["canceled_continuation"], sleep.expect("it has one")["continuation"]);
        assert!(own[3]["cancel_ns"].is_null(), "{build:?}: it had ended");
        // What would have ended the long sleep is there to the end.
        let helpers: Vec<&str> =
            story.tasks.iter().filter(|task| task["kind"] == "helper").map(|task| word(task, "status")).collect();
        assert_eq!(count(&helpers, "pending"), 1, "{build:?} {helpers:?}");
    }
}

/// The runtime marks children of `async let` without a call that could be seen.
#[test]
fn children_are_cancelled_through_their_parents() {
    for build in BOTH {
        let story = Story::of("async_let_cancel.swift", build);
        let kinds: Vec<(&str, &str)> = story.own().map(|it| (word(it, "kind"), word(it, "status"))).collect();
        let expected = [
            ("main", "completed"),
            ("task", "canceled"),
            ("async_let", "canceled"),
            ("async_let", "canceled"),
            ("task", "canceled"),
            ("group", "canceled"),
        ];
        assert_eq!(kinds, expected, "{build:?}");
        let own: Vec<&Value> = story.own().collect();
        for (parent, child) in [(own[1], own[2]), (own[4], own[5])] {
            assert_eq!(child["parent_span_id"], parent["reference"], "{build:?}");
            assert_eq!(child["canceler_span_id"], own[0]["reference"], "{build:?}");
            let after = number(child, "cancel_ns").checked_sub(number(parent, "cancel_ns"));
            assert!(after.is_some_and(|after| after < number(parent, "duration_ns")), "{build:?} {child:#}");
        }
    }
}

#[test]
fn continuations_that_nobody_resumes_come_first() {
    for build in BOTH {
        let story = Story::of("leak.swift", build);
        let report = story.json("report", &[]);
        let first = &report["anomalies"][0];
        assert_eq!((&first["kind"], &first["count"]), (&"leaked_continuation".into(), &2.into()), "{build:?}");
        let findings = story.findings();
        let kinds: Vec<&str> = findings.iter().take(2).map(|it| word(it, "kind")).collect();
        assert_eq!(kinds, ["leaked_continuation"; 2], "{build:?}");
        // Each wait says where.
        for task in story.own().filter(|task| task["kind"] == "task") {
            let waits = task["suspensions"].as_array().expect("a list");
            let leaked = waits.last().expect("it waits");
            assert!(word(leaked, "awaiting").contains("waitForever"), "{build:?} {leaked:#}");
            if build == Build::Debug {
                assert!(word(leaked, "file").ends_with("leak.swift") && leaked["line"] == 6, "{leaked:#}");
            }
        }
    }
}

#[test]
fn continuations_know_who_resumed_them() {
    for build in BOTH {
        let story = Story::of("continuations.swift", build);
        assert_eq!(story.outline(), ["0 main completed"], "{build:?}");
        let suspensions = story.tasks[0]["suspensions"].as_array().expect("a list");
        let resumed: Vec<&Value> = suspensions.iter().filter(|it| it["kind"] == "continuation").collect();
        let resumers: Vec<&str> = resumed.iter().map(|it| word(it, "resumer_span_id")).collect();
        assert_eq!(resumers.len(), 4, "{build:?} {resumers:?}");
        assert_eq!(resumers[..2], [word(&story.blocks[0], "span_id"), word(&story.blocks[1], "span_id")], "{build:?}");
        assert!(resumers[2..].iter().all(|it| it.starts_with("thread:")), "{build:?} {resumers:?}");
        for wait in resumed {
            let (resume, ready) = (number(wait, "resume_ns"), number(wait, "ready_ns"));
            assert!(number(wait, "start_ns") <= resume && resume <= ready && ready <= number(wait, "end_ns"), "{wait}");
            assert!(word(wait, "continuation").starts_with("0x"), "{wait}");
        }
    }
}

#[test]
fn an_actor_is_an_executor_that_tasks_wait_for() {
    for build in BOTH {
        let story = Story::of("actor.swift", build);
        let outline = story.outline();
        let child = "1 group completed closure #1 () async -> () in closure #1 (inout Swift.TaskGroup<()>) async -> () \
                     in static actor.Program.main() async -> ()";
        assert_eq!(outline.len(), 11, "{build:?} {outline:?}");
        assert!(outline[1..].iter().all(|line| line == child), "{build:?} {outline:?}");
        for task in &story.tasks[1..] {
            let kinds = waits(task);
            assert_eq!(count(&kinds, "executor"), kinds.len(), "{build:?} {kinds:?}");
        }
    }
}

#[test]
fn a_stream_is_read_while_another_task_feeds_it() {
    for build in BOTH {
        let story = Story::of("stream.swift", build);
        let producer = "1 task completed closure #1 () async -> () in static stream.Program.main() async -> ()";
        assert_eq!(story.outline(), ["0 main completed", producer], "{build:?}");
        // A sleep that is over before the task has paused is no wait.
        let feeder = waits(&story.tasks[1]);
        assert!((1..=10).contains(&count(&feeder, "sleep")), "{build:?} {feeder:?}");
        let reader = waits(&story.tasks[0]);
        assert!((1..=11).contains(&count(&reader, "continuation")), "{build:?} {reader:?}");
        let helpers: Vec<&Value> = story.tasks.iter().filter(|task| task["kind"] == "helper").collect();
        assert_eq!(helpers.len(), 10, "{build:?}");
        assert!(helpers.iter().all(|task| task["parent_span_id"] == story.tasks[1]["reference"]), "{build:?}");
    }
}

#[test]
fn a_task_that_changes_executors_runs_on_several_threads() {
    for build in BOTH {
        let story = Story::of("migrate.swift", build);
        assert_eq!(story.outline(), ["0 main completed"], "{build:?}");
        let task = &story.tasks[0];
        assert_eq!(waits(task), ["executor"; 6], "{build:?}");
        // To the pool and back to the main thread, three times.
        let executors: Vec<&str> =
            task["suspensions"].as_array().expect("a list").iter().map(|it| word(it, "executor")).collect();
        let main = executors[1];
        assert_eq!(executors, ["pool", main, "pool", main, "pool", main], "{build:?}");
        assert_eq!(main, "MainActor", "{build:?}");
        let threads: HashSet<u64> =
            task["thread_ids"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
        assert!(threads.len() >= 2, "{build:?} {threads:?}");
    }
}

#[test]
fn a_detached_task_outlives_its_creator() {
    for build in BOTH {
        let story = Story::of("detached.swift", build);
        let closure = "closure #1 () async -> () in static detached.Program.main() async -> ()";
        let outline = [
            "0 main completed".to_owned(),
            format!("1 task completed {closure}"),
            format!("2 detached completed closure #1 () async -> Swift.Int in {closure}"),
        ];
        assert_eq!(story.outline(), outline, "{build:?}");
        let own: Vec<&Value> = story.own().collect();
        assert!(number(own[2], "end_ns") > number(own[1], "end_ns") + 20_000_000, "{build:?}");
        assert_eq!(waits(own[2]), ["sleep"], "{build:?}");
    }
}

#[test]
fn a_story_goes_from_task_to_block_to_thread_and_back() {
    for build in BOTH {
        let story = Story::of("bridge.swift", build);
        let task = &story.tasks[1];
        let [block] = &story.blocks[..] else { panic!("one block: {:?}", story.blocks) };
        assert_eq!(block["parent_span_id"], task["reference"], "{build:?}");
        assert_eq!(block["attributes"]["queue"], "org.example.bridge");
        let threads = story.json("spans", &["--runtime", "pthread", "--limit", "0"]);
        let threads = threads["spans"].as_array().expect("a list").clone();
        let made: Vec<&Value> = threads.iter().filter(|it| it["parent_span_id"] == block["span_id"]).collect();
        let [thread] = made[..] else { panic!("one thread of the block: {threads:?}") };
        let wait = task["suspensions"].as_array().expect("a list").iter().find(|it| it["kind"] == "continuation");
        assert_eq!(wait.expect("it waited")["resumer_span_id"], thread["span_id"], "{build:?}");
        // The same as a tree.
        let nodes = story.json("tree", &["--logical", "--limit", "0"]);
        let nodes = nodes["nodes"].as_array().expect("a list").clone();
        let level = |id: &Value| nodes.iter().find(|node| node["span_id"] == *id).map(|node| number(node, "level"));
        let levels =
            [&story.tasks[0]["reference"], &task["reference"], &block["span_id"], &thread["span_id"]].map(level);
        assert_eq!(levels, [Some(0), Some(1), Some(2), Some(3)], "{build:?}");
    }
}

/// Children that their parent waits for lie within it.
fn assert_encloses(parent: &Value, children: &[Value]) {
    for child in children {
        assert_eq!(child["parent_span_id"], parent["reference"]);
        assert!(number(parent, "start_ns") <= number(child, "create_ns"), "{child}");
        assert!(number(child, "create_ns") <= number(child, "start_ns"), "{child}");
        assert!(number(child, "end_ns") <= number(parent, "end_ns"), "{child}");
    }
}

#[test]
fn a_runtime_without_names_is_said_to_hide_its_tasks() {
    let limit = "Swift concurrency: the runtime is inside the program, without names: tasks and blocks, if it has any, are \
                 not recorded; trace a program that is not stripped";
    let story = Story::with_limit("nested.swift", Build::StaticStripped, Some(&limit.into()));
    assert_eq!(story.tasks, [] as [Value; 0]);
    // Whoever traces it is told at once, and whoever asks for tasks.
    let line = format!("ada: {limit}\n");
    assert!(story.stderr_of_tasks().contains(&line), "{}", story.stderr_of_tasks());
    let folder = tempfile::tempdir().unwrap();
    let mut traced = crate::toolchain::in_swift();
    let program = crate::toolchain::build("nested.swift", Build::StaticStripped);
    traced.args(["ada", "trace", "--output"]).arg(folder.path()).arg("--").arg(program);
    let traced = crate::run::bounded(traced, b"");
    assert!(crate::run::text(&traced.stderr).contains(&line), "{}", crate::run::text(&traced.stderr));
}
