//! What holds for every command.

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
