//! The first look at a session: the report, the lens, two runs side by side, and traces as tests.

#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "trace/program.rs"]
mod program;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[allow(unused_imports, reason = "shared with the other test target, which uses the rest")]
mod run;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "spans/traced_program.rs"]
mod traced_program;

#[path = "look/bugs.rs"]
mod bugs;
#[path = "look/check.rs"]
mod check;
#[path = "look/diff.rs"]
mod diff;
#[path = "look/lens.rs"]
mod lens;
#[path = "look/report.rs"]
mod report;
