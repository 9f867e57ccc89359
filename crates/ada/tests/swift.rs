//! Swift's tasks and dispatched blocks, on the real runtimes: programs of `tests/swift/`, each with its story.
//!
//! The toolchain is what `scripts/swift-env` gives; where it cannot be had, these tests fail and say why.

#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[allow(unused_imports, reason = "shared with the other test target, which uses the rest")]
mod run;

#[path = "swift/dispatch.rs"]
mod dispatch;
#[path = "swift/executors.rs"]
mod executors;
#[path = "swift/labels.rs"]
mod labels;
#[path = "swift/missing.rs"]
mod missing;
#[path = "swift/outcomes.rs"]
mod outcomes;
#[path = "swift/story.rs"]
mod story;
#[path = "swift/stress.rs"]
mod stress;
#[path = "swift/tasks.rs"]
mod tasks;
#[path = "swift/toolchain.rs"]
mod toolchain;
#[path = "swift/waits.rs"]
mod waits;
