//! Differences that hooks make.

use super::{Bisecting, culprits, said};
use crate::run::{self, text};

fn names(found: &[(String, String)]) -> Vec<&str> {
    let mut names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn one_function_is_found_and_the_options_that_avoid_it_do() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect(&["--runs", "2"], &["alpha"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let found = culprits(&output, &bisecting.program);
    assert_eq!(names(&found), ["alpha"], "{}", said(&output));
    let printed = text(&output.stdout);
    assert!(printed.contains(r#"stdout, line 2: "alpha has changed" instead of nothing"#), "{printed}");
    assert!(printed.contains("\n    hooked, "), "why it is suspected: {printed}");
    assert!(printed.contains("\n  ada trace --exclude alpha -- "), "{printed}");
    let progress = text(&output.stderr);
    assert!(
        progress.contains("no hooks but ") && progress.contains("1 hook, alpha (1 hook remaining): differs (stdout)"),
        "{progress}"
    );

    let again = bisecting.bisect(&["--runs", "2", "--exclude", "alpha"], &["alpha"]);
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
    assert!(text(&again.stdout).starts_with("same: exit, stdout, stderr of 2 traced runs"), "{}", said(&again));
}

#[test]
fn two_functions_that_each_make_a_difference_are_both_found() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect(&["--runs", "2"], &["alpha", "beta"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let found = culprits(&output, &bisecting.program);
    assert_eq!(names(&found), ["alpha", "beta"], "{}", said(&output));
    assert!(found.iter().all(|(title, _)| title.starts_with("the hooks of one function")), "{}", said(&output));
    let printed = text(&output.stdout);
    assert!(printed.contains("exit code 7 instead of exit code 0"), "{printed}");
    assert!(printed.contains("with these left alone, traced runs are as untraced"), "{printed}");
}

#[test]
fn functions_that_make_a_difference_together_are_found_together() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect(&["--runs", "2"], &["pair"]);
    let found = culprits(&output, &bisecting.program);
    assert_eq!(names(&found), ["alpha", "beta"], "{}", said(&output));
    assert!(found.iter().all(|(title, _)| title.starts_with("the hooks of 2 functions together")), "{}", said(&output));
}

/// The program runs below a shell. Its hooks are there only if those of `execve` are, which are not to blame.
#[test]
fn a_function_of_a_child_is_found() {
    let bisecting = Bisecting::new();
    let mut command = bisecting.ada();
    command.args(["bisect", "--runs", "2", "--", "sh", "-c", "$0 alpha; true"]).arg(&bisecting.program);
    let output = run::bounded(command, b"");
    assert_eq!(names(&culprits(&output, &bisecting.program)), ["alpha"], "{}", said(&output));
    assert!(text(&output.stdout).contains("\n  ada trace --exclude alpha -- "), "{}", said(&output));
}

#[test]
fn a_program_that_hangs_only_when_traced_is_ended_and_understood() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect(&["--runs", "2", "--timeout", "10s"], &["hang"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(names(&culprits(&output, &bisecting.program)), ["alpha"], "{}", said(&output));
    assert!(text(&output.stdout).contains("no end within 10.0 s instead of exit code 0"), "{}", said(&output));
    // Nothing remains of the runs that were ended.
    let path = std::fs::canonicalize(&bisecting.program).unwrap();
    let is_left = |process: std::fs::DirEntry| {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        std::fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == path) && words.ends_with(b"\0hang\0")
    };
    assert!(!std::fs::read_dir("/proc").unwrap().flatten().any(is_left));
}

#[test]
fn what_differs_now_and_then_is_tried_more_often() {
    let bisecting = Bisecting::new();
    let count = bisecting.cache.path().join("count");
    std::fs::write(&count, "").unwrap();
    let output = bisecting.bisect(&["--runs", "4"], &["sometimes", count.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        text(&output.stdout).contains("traced runs differ now and then, 5 of 10: exit code 9"),
        "{}",
        said(&output)
    );
    assert_eq!(names(&culprits(&output, &bisecting.program)), ["alpha"], "{}", said(&output));
}

#[test]
fn every_run_gets_the_same_input() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect_with(&["--runs", "2"], &["alpha"], b"a line\n");
    assert_eq!(names(&culprits(&output, &bisecting.program)), ["alpha"], "{}", said(&output));
    // The input is the first line of the output, and the same in all runs.
    assert!(text(&output.stdout).contains("stdout, line 3: "), "{}", said(&output));
}

#[test]
fn a_search_without_enough_runs_says_so() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect(&["--runs", "2", "--max-runs", "8", "--quiet"], &["alpha"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(text(&output.stdout).contains("--max-runs"), "{}", said(&output));
    assert!(output.stderr.is_empty(), "{}", said(&output));
}
