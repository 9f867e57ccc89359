//! Actors and executors by name: the program says which is where.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::story::{Story, word};
use crate::toolchain::Build;

/// What the tasks of the program use, in the order of their closures.
const USED: [&str; 7] = ["Bank#1", "Bank#2", "Vault", "Shelf", "Storage", "MainActor", "QueueExecutor"];

#[test]
fn actors_and_executors_have_names() {
    for build in [Build::Debug, Build::Release, Build::Static] {
        let story = Story::of("executors.swift", build);
        // `executor TYPE NUMBER ADDRESS`, where the number is 0 for the only one of its type.
        let told = story.told.lines().filter_map(|line| line.strip_prefix("executor "));
        let truth: HashMap<String, String> = told
            .map(|line| {
                let [name, number, address] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
                let name = if number == "0" { name.to_owned() } else { format!("{name}#{number}") };
                (address.to_owned(), name)
            })
            .collect();
        assert_eq!(truth.len(), 6, "{build:?} {}", story.told);
        let check = |place: &Value| {
            let name = word(place, "executor");
            match place["executor_address"].as_str() {
                Some(address) => assert_eq!(Some(name), truth.get(address).map(String::as_str), "{build:?} {place:#}"),
                None => assert!(matches!(name, "pool" | "MainActor"), "{build:?} {place:#}"),
            }
            name.to_owned()
        };
        let mut waited: BTreeSet<String> = BTreeSet::new();
        for task in story.own() {
            let waits = task["suspensions"].as_array().expect("a list").iter().filter(|it| it["kind"] == "executor");
            waited.extend(waits.filter(|it| !it["executor"].is_null()).map(check));
            let hops: BTreeSet<String> = task["hops"].as_array().expect("a list").iter().map(check).collect();
            let expected = match word(task, "name").strip_prefix("closure #").and_then(|rest| rest[..1].parse().ok()) {
                Some(number @ 1..=7) if task["kind"] == "group" => USED[number - 1_usize],
                _ => "MainActor",
            };
            assert!(hops.contains(expected) && hops.len() <= 2, "{build:?} {expected} {hops:?} {task:#}");
        }
        let table = story.text(&["tasks", "--limit", "0"]);
        assert!(
            ["executor MainActor", "executor QueueExecutor"].iter().all(|it| table.contains(it)),
            "{build:?} {table}"
        );
        // Nobody gets there without waiting.
        assert!(waited.contains("MainActor") && waited.contains("QueueExecutor"), "{build:?} {waited:?}");
    }
}
