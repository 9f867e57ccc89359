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
    let help = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["demo", "atf", "heph", "completions", "Exit codes", "124", "130 for Ctrl-C"] {
        assert!(help.contains(word), "{word}");
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

/// What packages install beside the executable.
#[test]
fn every_command_has_a_manual_page_and_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let output = ada(["manual", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let help = ada(["--help"]);
    let commands = text(&help.stdout).lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.contains(&"trace") && commands.contains(&"atf"), "{commands:?}");
    let completion = ada(["completions", "bash"]);
    for command in commands {
        let page = std::fs::read_to_string(folder.path().join(format!("ada-{command}.1"))).expect(command);
        assert!(page.contains(".SH SYNOPSIS") && page.contains(&format!("ada\\-{command}")), "{command}: {page}");
        assert!(text(&completion.stdout).contains(&format!(" {command} ")), "{command}");
    }
    assert!(std::fs::read_to_string(folder.path().join("ada.1")).unwrap().contains("Exit codes"));
    assert!(!folder.path().join("ada-workload.1").exists(), "hidden commands have none");
}

#[test]
fn the_version_says_what_was_built() {
    let output = ada(["--version"]);
    let words = text(&output.stdout);
    assert!(words.starts_with(concat!("ada ", env!("CARGO_PKG_VERSION"), " (")), "{words}");
}

#[test]
fn the_doctor_traces_something() {
    let output = ada(["doctor"]);
    let words = text(&output.stdout);
    assert!(words.contains("ok   a trace        works;"), "{words}");
    assert!(words.contains("ok   an attach      works"), "{words}");
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
