//! Runs that are the same, and those of which nothing can be said.

use super::{Bisecting, said};
use crate::run::{self, text};

#[test]
fn a_program_that_does_the_same_is_no_finding() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect(&["--runs", "2"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(text(&output.stdout), "same: exit, stdout, stderr of 2 traced runs are as untraced\n");
}

#[test]
fn untraced_runs_that_differ_are_said_to() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect(&["--runs", "2", "--compare", "stdout"], &["random"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let [line] = text(&output.stdout).lines().collect::<Vec<_>>()[..] else { panic!("{}", said(&output)) };
    assert!(line.starts_with("untraced runs differ from each other already (stdout, line 2: "), "{line}");
    assert!(line.ends_with("there is nothing to compare"), "{line}");
    assert!(!text(&output.stderr).contains("traced run 1,"), "nothing was traced: {}", said(&output));

    // What is steady can be compared, and is, unless somebody asks for more.
    let output = bisecting.bisect(&["--runs", "2"], &["random"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(
        text(&output.stdout).contains("only exit, stderr can be compared (--compare exit,stderr)"),
        "{}",
        said(&output)
    );
    assert!(text(&output.stdout).contains("same: exit, stderr of 2 traced runs"), "{}", said(&output));
    let output = bisecting.bisect(&["--runs", "2", "--compare", "exit,stderr"], &["random"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = bisecting.bisect(&["--runs", "2"], &["random", "beta"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(text(&output.stdout).contains("--exclude beta"), "{}", said(&output));
}

#[test]
fn what_is_not_compared_makes_no_difference() {
    let bisecting = Bisecting::new();
    let output = bisecting.bisect(&["--runs", "2", "--compare", "exit"], &["alpha"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

/// Whoever looks for ada's memory finds it, hooks or not.
#[test]
fn a_difference_that_no_hook_makes_is_said_to_be_none() {
    let bisecting = Bisecting::new();
    let mut command = bisecting.ada();
    command.args(["bisect", "--runs", "2", "--", "grep", "-q", "memfd:ada", "/proc/self/maps"]);
    let output = run::bounded(command, b"");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(text(&output.stdout).contains("no hook makes the difference"), "{}", said(&output));
}

/// It counts its runs in a file, and fails each third time.
#[test]
fn what_comes_and_goes_by_itself_is_not_blamed_on_a_hook() {
    let bisecting = Bisecting::new();
    let count = bisecting.cache.path().join("count");
    std::fs::write(&count, "").unwrap();
    // The first four runs are untraced, and the same.
    let script = r#"echo >>"$0"; n=$(wc -l <"$0"); [ $n -le 4 ] || [ $((n % 3)) -ne 0 ]"#;
    let mut command = bisecting.ada();
    command.args(["bisect", "--runs", "4", "--max-runs", "60", "--", "sh", "-c", script]).arg(&count);
    let output = run::bounded(command, b"");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let printed = text(&output.stdout);
    assert!(printed.contains("traced runs differ now and then, "), "{printed}");
    assert!(printed.contains("not repeatable: untraced runs differ from each other as well"), "{printed}");
}

#[test]
fn commands_that_cannot_be_run_are_one_line_and_the_codes_of_a_trace() {
    let bisecting = Bisecting::new();
    for (program, code) in [("/no/such/program", 127), ("/etc/passwd", 126)] {
        let mut command = bisecting.ada();
        command.args(["bisect", "--quiet", "--", program]);
        let output = run::bounded(command, b"");
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert_eq!(text(&output.stderr).lines().count(), 1, "{}", said(&output));
    }
    // A trace's own refusal is passed on.
    let output = bisecting.bisect(&["--quiet", "--trigger", "signal", "--detail", "off"], &[]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), "ada: --trigger needs --detail windows\n"));
    for wrong in [&["--runs", "1"][..], &["--compare", "colour"], &["--timeout", "soon"], &["--output", "x"]] {
        let output = bisecting.bisect(wrong, &[]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert_eq!(text(&output.stderr).lines().count(), 1, "{}", said(&output));
    }
}

#[test]
fn a_program_that_does_not_end_by_itself_is_not_compared() {
    let bisecting = Bisecting::new();
    let mut command = bisecting.ada();
    command.args(["bisect", "--quiet", "--timeout", "200ms", "--", "sleep", "1000"]);
    let output = run::bounded(command, b"");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(text(&output.stdout).contains("no end within 0.2 s"), "{}", said(&output));
}

/// The processes that scripts have noted in a file by their ids, as far as they still sleep.
fn survivors(ids: &std::path::Path) -> Vec<String> {
    let is_asleep = |id: &&str| {
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        words == b"sleep\x001234\0"
    };
    let ids = std::fs::read_to_string(ids).unwrap();
    assert!(!ids.is_empty());
    ids.lines().filter(is_asleep).map(str::to_owned).collect()
}

#[test]
fn processes_that_a_run_leaves_behind_are_ended() {
    let bisecting = Bisecting::new();
    let ids = bisecting.cache.path().join("ids");
    let mut command = bisecting.ada();
    let script = r#"sleep 1234 >/dev/null 2>&1 & echo $! >>"$0""#;
    command.args(["bisect", "--runs", "2", "--", "sh", "-c", script]).arg(&ids);
    let output = run::bounded(command, b"");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(&ids).unwrap().lines().count(), 4);
    assert!(survivors(&ids).is_empty());
}

#[test]
fn a_search_that_is_interrupted_leaves_nothing_behind() {
    let bisecting = Bisecting::new();
    let (ids, scratch) = (bisecting.cache.path().join("ids"), bisecting.cache.path().join("scratch"));
    std::fs::create_dir(&scratch).unwrap();
    let mut command = bisecting.ada();
    let script = r#"sleep 1234 & echo $! >"$0.new"; mv "$0.new" "$0"; wait"#;
    command.args(["bisect", "--", "sh", "-c", script]).arg(&ids).env("TMPDIR", &scratch);
    let started = run::Started::new(command, b"");
    while !ids.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let id = started.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = started.finish();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(130), "ada: interrupted\n"));
    assert!(survivors(&ids).is_empty());
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}
