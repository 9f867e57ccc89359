//! What holds for every command.

mod conformance;

use std::fs::File;

use crate::run::{ada, command, text};

/// A disk without room.
fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    let output = ada(["no-such-command"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).contains("no-such-command"));
}

#[test]
fn a_mistyped_command_gets_a_suggestion() {
    let output = ada(["trce", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    let words = text(&output.stderr);
    assert!(words.contains("'trce'") && words.contains("'trace'") && words.lines().count() == 1, "{words}");
}

#[test]
fn help_names_the_commands_and_the_exit_codes() {
    let output = ada(["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for word in ["demo", "atf", "heph", "completions", "Exit codes"] {
        assert!(text(&output.stdout).contains(word), "{word}");
    }
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = ada(["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("heph"), "{shell}");
    }
}

#[test]
fn completions_that_cannot_be_written_are_one_line_and_exit_code_4() {
    let output = command().args(["completions", "bash"]).stdout(full()).output().unwrap();
    assert_eq!((text(&output.stderr).lines().count(), output.status.code()), (1, Some(4)));
}

#[test]
fn a_stderr_that_takes_nothing_does_not_change_the_exit_code() {
    for (args, code) in [
        (["heph", "dump", "/no/such/file"], 3),
        (["heph", "dump", "/bin/sh"], 1),
        (["atf", "verify", "/no/such/folder"], 3),
    ] {
        assert_eq!(command().args(args).stderr(full()).output().unwrap().status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn the_doctor_traces_something() {
    let output = ada(["doctor"]);
    let words = text(&output.stdout);
    assert!(words.contains("ok   a trace        works;"), "{words}");
    for check in ["GS base", "clock", "ptrace", "attach", "container", "perf events", "address space"] {
        assert!(words.contains(check), "{check}");
    }
}

#[test]
fn hooks_believe_no_number_in_a_manifest() {
    let session = tempfile::tempdir().unwrap();
    let process = session.path().join("pid_1");
    std::fs::create_dir(&process).unwrap();
    let manifest = r#"{"threads":[],"time_start_ns":0,"time_end_ns":0,"modules":[{"module_id":1,"path":"/x",
        "coverage":{"found":1,"skipped":{"a":18446744073709551615,"b":2}}}]}"#;
    std::fs::write(process.join("manifest.json"), manifest).unwrap();
    let output = ada(["hooks", session.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("0.00%  /x"), "{}", text(&output.stdout));
}
