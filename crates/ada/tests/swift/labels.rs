//! Labels of queues in full.

use std::collections::BTreeSet;

use crate::story::{Story, list, word};
use crate::toolchain::Build;

/// What is recorded of a label.
const MOST: usize = 1024;

#[test]
fn labels_are_recorded_whole_or_said_to_be_cut() {
    let story = Story::of("labels.swift", Build::Release);
    let truth: Vec<&str> = story.printed.lines().filter(|line| line.starts_with("org.example.")).collect();
    let lengths: Vec<usize> = truth.iter().map(|label| label.len()).collect();
    assert_eq!(lengths, [20, 47, 48, 49, 100, 185, 192, 600, 606, 1023, 1024, 1500]);
    let shown = |label: &str| match label.get(..MOST) {
        Some(cut) if label.len() > MOST => format!("{cut}…"),
        _ => label.to_owned(),
    };
    let expected: BTreeSet<(String, bool)> = truth.iter().map(|label| (shown(label), label.len() > MOST)).collect();
    let queues = list(story.json("queues", &[]), "queues");
    let own = queues.iter().filter(|queue| word(queue, "name").starts_with("org.example."));
    let found: BTreeSet<(String, bool)> =
        own.map(|it| (word(it, "name").to_owned(), it["label_cut"] == true)).collect();
    assert_eq!(found, expected);
    // Each has run one block, which names its queue.
    let of_blocks: BTreeSet<String> =
        story.blocks.iter().map(|block| word(&block["attributes"], "queue").to_owned()).collect();
    assert_eq!(of_blocks, expected.into_iter().map(|(name, _)| name).collect());
}
