//! Eight bugs, each in a program of its own: the cause is on the first screen of the report.

use std::path::Path;

use crate::program::Program;
use crate::traced_program::TracedProgram;

/// What fits on a terminal of 24 lines and 80 columns, in one line.
fn first_screen(traced: &TracedProgram) -> String {
    let report = traced.text("report", &[]);
    report.lines().take(24).map(str::trim).collect::<Vec<_>>().join(" ")
}

fn assert_shows(source: &str, traced: &TracedProgram, causes: &[&str]) {
    let screen = first_screen(traced);
    for cause in causes {
        assert!(screen.contains(cause), "{source}: {cause:?} is not in {screen}");
    }
}

fn assert_program_shows(source: &'static str, causes: &[&str]) {
    let flags: &[&str] = if source.ends_with(".c") { &["-pthread"] } else { &[] };
    assert_shows(source, &TracedProgram::trace(&Program::new(source).flags(flags)), causes);
}

#[test]
fn a_lock_that_is_held_while_the_log_is_written() {
    assert_program_shows("bug_log_lock.c", &["log_line waited", "for a lock"]);
}

#[test]
fn text_that_is_searched_for_its_end_again_and_again() {
    assert_program_shows("bug_quadratic.c", &["append_word takes longer the more often it was called", "strcat"]);
}

#[test]
fn a_callback_that_crashes() {
    assert_program_shows("bug_callback_crash.c", &["SIGSEGV in compare_names at address 0x0", "strcmp"]);
}

#[test]
fn a_thread_that_is_waited_for_with_the_lock_it_needs() {
    assert_program_shows("bug_join_deadlock.c", &["deadlock (certain)", "(stop_worker)", "(publish_result)", "join"]);
}

#[test]
fn names_that_nobody_frees() {
    assert_program_shows("bug_cache_leak.c", &["leak (likely): new_entry", "strdup"]);
}

#[test]
fn arguments_in_the_wrong_order() {
    assert_program_shows("bug_wrong_argument.c", &["lseek(", ", 0, 1024) = -1 EINVAL", "in read_record"]);
}

#[test]
fn a_panic_in_a_worker() {
    assert_program_shows("bug_panic.rs", &["panic (certain)", "bug_panic::cell"]);
}

/// An interpreter that looks in vain for its settings. What it did not open it did not keep.
#[test]
fn a_start_that_looks_for_files_in_vain() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/bug_slow_start.py");
    let arguments = ["-I", "-S", script.to_str().unwrap()];
    let traced = TracedProgram::trace_running_file("/usr/bin/python3".as_ref(), &arguments);
    assert_shows("bug_slow_start.py", &traced, &["with ENOENT: open", "\"/nowhere/"]);
    let findings = traced.json("report", &[])["findings"].clone();
    let is_false = |it: &&serde_json::Value| it["kind"] == "leak" && it["facts"]["what"] == "descriptors";
    assert_eq!(findings.as_array().unwrap().iter().find(is_false), None);
}
