//! The stories of dispatched blocks, from Swift and from C.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::story::{Story, number, word};
use crate::toolchain::Build;

/// How often blocks were submitted how, to which queue, and with which end.
fn counts(story: &Story) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for block in &story.blocks {
        let attributes = &block["attributes"];
        let queue = word(attributes, "queue").trim_start_matches("org.example.");
        let line = format!("{} {queue} {}", word(attributes, "how"), word(block, "status"));
        *counts.entry(line).or_default() += 1;
    }
    counts
}

fn expected(lines: &[(&str, usize)]) -> BTreeMap<String, usize> {
    lines.iter().map(|&(line, count)| (line.to_owned(), count)).collect()
}

fn only<'a>(story: &'a Story, how: &str) -> Vec<&'a Value> {
    story.blocks.iter().filter(|block| block["attributes"]["how"] == how).collect()
}

/// What is true of every story of blocks.
fn check(story: &Story) {
    for block in &story.blocks {
        let attributes = &block["attributes"];
        if word(block, "status") == "pending" {
            assert_eq!((&block["duration_ns"], &attributes["queue_latency_ns"]), (&0.into(), &Value::Null), "{block}");
            continue;
        }
        let total = number(attributes, "queue_latency_ns") + number(block, "duration_ns");
        assert_eq!(total, number(attributes, "total_ns"), "{block}");
        assert!(number(attributes, "submit_ns") <= number(block, "start_ns"), "{block}");
    }
    // A serial queue runs one at a time, in their order.
    let serial = story.blocks.iter().filter(|block| block["attributes"]["queue"] == "org.example.serial");
    let ran: Vec<&Value> = serial.filter(|block| word(block, "status") == "completed").collect();
    for pair in ran.windows(2) {
        assert!(number(pair[0], "end_ns") <= number(pair[1], "start_ns"), "{} {}", pair[0], pair[1]);
    }
    // The iterations belong to their loop, and each runs once.
    let [apply] = only(story, "apply")[..] else { panic!("one loop") };
    let iterations = only(story, "iteration");
    assert!(iterations.iter().all(|it| it["parent_span_id"] == apply["span_id"]));
    assert_eq!((iterations.len(), number(&apply["attributes"], "iterations")), (8, 8));
    // A group that was never left leaves its block waiting.
    let notifies = only(story, "notify");
    let [ran, never] = notifies[..] else { panic!("two blocks for groups") };
    assert_eq!((word(ran, "status"), word(never, "status")), ("completed", "pending"));
    let members = only(story, "group");
    assert!(members.iter().all(|it| it["attributes"]["group"] == ran["attributes"]["group"]));
    assert!(members.iter().all(|it| number(it, "end_ns") <= number(ran, "start_ns")));
    let queues = story.json("queues", &[]);
    let states: HashMap<&str, &str> = queues["groups"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|group| (word(group, "address"), word(group, "state")))
        .collect();
    assert_eq!(states[word(&ran["attributes"], "group")], "empty");
    assert_eq!(states[word(&never["attributes"], "group")], "pending");
    let after = only(story, "after")[0];
    assert!(number(&after["attributes"], "queue_latency_ns") >= 19_000_000, "{after}");
}

#[test]
fn blocks_from_swift() {
    for build in [Build::Debug, Build::Release, Build::Static] {
        let story = Story::of("dispatch.swift", build);
        let lines = [
            ("after serial completed", 1),
            ("apply  completed", 1),
            ("async crowd completed", 4),
            ("async serial completed", 6),
            ("barrier_async crowd completed", 1),
            ("barrier_sync crowd completed", 2),
            ("group crowd completed", 4),
            ("iteration  completed", 8),
            ("notify serial completed", 1),
            ("notify serial pending", 1),
            ("sync serial completed", 2),
            ("sync top completed", 1),
        ];
        assert_eq!(counts(&story), expected(&lines), "{build:?}");
        check(&story);
        let name =
            |number: u32| format!("closure #{number} @Sendable () -> () in static dispatch.Program.main() -> ()");
        let named = |name: &str| story.blocks.iter().filter(|block| word(block, "name") == name).collect::<Vec<_>>();
        assert_eq!((named(&name(1)).len(), named(&name(4)).len(), named(&name(7)).len()), (5, 3, 4), "{build:?}");
        // The nested one was submitted by the other.
        let inner = named(&format!("closure #1 @Sendable () -> () in {}", name(11)));
        assert_eq!(inner[0]["parent_span_id"], named(&name(11))[0]["span_id"], "{build:?}");
        let top = story.blocks.iter().find(|block| block["attributes"]["queue"] == "org.example.top");
        assert_eq!(top.expect("there is one")["attributes"]["queue_target"], "org.example.serial", "{build:?}");
    }
}

#[test]
fn blocks_from_c() {
    for build in [Build::Debug, Build::Release, Build::Stripped] {
        let story = Story::of("dispatch.c", build);
        let lines = [
            ("after serial completed", 1),
            ("apply crowd completed", 1),
            ("async crowd completed", 4),
            ("async serial completed", 9),
            ("barrier_async crowd completed", 1),
            ("barrier_sync crowd completed", 2),
            ("group crowd completed", 4),
            ("iteration crowd completed", 8),
            ("notify serial completed", 1),
            ("notify serial pending", 1),
            ("sync serial completed", 3),
        ];
        assert_eq!(counts(&story), expected(&lines), "{build:?}");
        check(&story);
        let nested: Vec<&Value> =
            only(&story, "async").into_iter().filter(|it| word(it, "parent_span_id").starts_with("block:")).collect();
        let [nested] = nested[..] else { panic!("{build:?}: one is nested: {nested:?}") };
        assert_eq!(nested["attributes"]["queue"], "org.example.crowd", "{build:?}");
        // Without names, blocks of one function are distinguished by their releases; functions by their order alone.
        for block in &story.blocks {
            let by_order = build == Build::Stripped || word(block, "name") == "by_function";
            assert!(by_order || block["attributes"]["uncertain"].is_null(), "{build:?} {block}");
        }
    }
}

#[test]
fn timers_cancelled_blocks_and_qualities_of_service() {
    for build in [Build::Debug, Build::Release] {
        let story = Story::of("sources.swift", build);
        let lines = [
            ("apply  completed", 1),
            ("async busy canceled", 2),
            ("async busy completed", 1),
            ("iteration  completed", 4),
            ("source timers completed", 3),
            ("sync busy completed", 1),
        ];
        assert_eq!(counts(&story), expected(&lines), "{build:?}");
        let main = "in static sources.Program.main() -> ()";
        for source in only(&story, "source") {
            assert_eq!(word(source, "name"), format!("closure #1 () -> () {main}"), "{build:?}");
            assert_eq!(
                (&source["attributes"]["qos"], &source["attributes"]["queue_latency_ns"]),
                (&"utility".into(), &Value::Null)
            );
        }
        // A parallel loop is named after its body, not after what the overlay puts around it.
        for part in only(&story, "apply").into_iter().chain(only(&story, "iteration")) {
            assert!(word(part, "name").ends_with(main), "{build:?} {part:#}");
        }
        let queues = story.json("queues", &[]);
        let busy = queues["queues"].as_array().expect("a list").iter().find(|it| it["name"] == "org.example.busy");
        let busy = busy.expect("it was used");
        assert_eq!(
            (&busy["canceled"], &busy["pending"], &busy["qos"]),
            (&2.into(), &0.into(), &"user_initiated".into())
        );
    }
}
