//! What holds for every command.

use crate::run::{ada, text};

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
