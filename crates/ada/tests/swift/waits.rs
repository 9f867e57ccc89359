//! Waits of tasks, and of threads for dispatch queues, in the table of all waits.

use serde_json::Value;

use crate::story::{Story, word};
use crate::toolchain::Build;

/// The numbers in the last line that a program wrote to its error stream.
fn numbers(story: &Story) -> Vec<u64> {
    let is_numbers = |line: &&str| line.split_whitespace().all(|it| it.parse::<u64>().is_ok()) && !line.is_empty();
    let line = story.told.lines().rfind(is_numbers).unwrap_or_else(|| panic!("{}", story.told));
    line.split_whitespace().map(|it| it.parse().expect("a number")).collect()
}

fn rows(story: &Story, condition: &str) -> Vec<Value> {
    let sql = format!("SELECT * FROM waits WHERE {condition} ORDER BY start_ns");
    story.query(&sql).as_array().expect("a list").clone()
}

#[test]
fn waits_for_queues_groups_and_semaphores_have_their_names() {
    for build in [Build::Debug, Build::Release] {
        let story = Story::of("dispatch_waits.c", build);
        let [main, slow, group, semaphore] = numbers(&story)[..] else { panic!("{}", story.told) };
        let longest = |function: &str| {
            let mut found = rows(&story, &format!("function = '{function}' AND thread_id = {main}"));
            found.sort_by_key(|wait| wait["duration_ns"].as_u64());
            found.pop().unwrap_or_else(|| panic!("{build:?}: {function} waited"))
        };
        let queue = longest("wait_for_queue");
        assert_eq!((word(&queue, "kind"), word(&queue, "object")), ("queue", "org.example.slow"), "{build:?}: {queue}");
        assert_eq!(
            (&queue["holder_thread_id"], &queue["waker_thread_id"]),
            (&slow.into(), &slow.into()),
            "{build:?}: {queue}"
        );
        let for_group = longest("wait_for_group");
        assert_eq!(
            (word(&for_group, "kind"), &for_group["waker_thread_id"]),
            ("group", &group.into()),
            "{build:?}: {for_group}"
        );
        let told = longest("wait_for_semaphore");
        assert_eq!(
            (word(&told, "kind"), &told["waker_thread_id"]),
            ("semaphore", &semaphore.into()),
            "{build:?}: {told}"
        );
    }
}

#[test]
fn tasks_wait_for_continuations_time_and_each_other() {
    for build in [Build::Debug, Build::Release] {
        let story = Story::of("waits.swift", build);
        let [resumer] = numbers(&story)[..] else { panic!("{}", story.told) };
        let waits = rows(&story, "task_id IS NOT NULL");
        assert!(waits.iter().all(|wait| wait["thread_id"].is_null()), "{build:?}: {waits:#?}");
        let of_kind = |kind: &str| -> Vec<&Value> { waits.iter().filter(|wait| word(wait, "kind") == kind).collect() };
        let [resumed] = of_kind("continuation")[..] else { panic!("{build:?}: {waits:#?}") };
        assert_eq!(
            (&resumed["waker_thread_id"], word(resumed, "state")),
            (&resumer.into(), "ended"),
            "{build:?}: {resumed}"
        );
        let [slept] = of_kind("sleep")[..] else { panic!("{build:?}: {waits:#?}") };
        assert!(word(slept, "function").contains("rested"), "{build:?}: {slept}");
        // The first task waits for the other one, which ends that wait itself.
        let [for_task] = of_kind("task")[..] else { panic!("{build:?}: {waits:#?}") };
        assert_eq!(word(for_task, "object"), format!("task {}", resumed["task_id"]), "{build:?}: {for_task}");
        assert_eq!(for_task["waker_task_id"], resumed["task_id"], "{build:?}: {for_task}");
        assert_ne!(for_task["task_id"], resumed["task_id"], "{build:?}: {for_task}");
    }
}
