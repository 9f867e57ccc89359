//! A hundred thousand tasks and as many blocks.

use std::collections::{BTreeMap, HashSet};

use crate::story::{Story, word};
use crate::toolchain::Build;

#[test]
fn a_hundred_thousand_tasks_and_blocks_are_all_shown() {
    let story = Story::of("stress.swift", Build::Release);
    let mut kinds: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for task in &story.tasks {
        *kinds.entry((word(task, "kind"), word(task, "status"))).or_default() += 1;
    }
    let expected = [(("group", "completed"), 50_000), (("main", "completed"), 1), (("task", "completed"), 50_000)];
    assert_eq!(kinds, BTreeMap::from(expected));
    let ids: HashSet<u64> = story.tasks.iter().filter_map(|task| task["task_id"].as_u64()).collect();
    assert_eq!(ids.len(), 100_001);
    assert!(story.tasks.iter().all(|task| task["kind"] == "main" || task["parent_span_id"] == "task:1"));
    assert_eq!(story.blocks.len(), 100_000);
    assert!(story.blocks.iter().all(|block| {
        word(block, "status") == "completed"
            && block["parent_span_id"] == "task:1"
            && block["attributes"]["queue"] == "org.example.stress"
            && block["attributes"]["confidence"] == 1.0
    }));
}
